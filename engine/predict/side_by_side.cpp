#include "predict/side_by_side.h"

#include <ATen/ops/argmax.h>
#include <ATen/ops/argsort.h>
#include <ATen/ops/item.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/std.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/files.h"
#include "core/words.h"
#include "journal/artifact.h"

namespace trainlab {

namespace {

constexpr std::int64_t most_samples = 64;

std::string base64(std::string_view bytes) {
  constexpr std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t word = 0;
    const std::size_t count = std::min<std::size_t>(bytes.size() - i, 3);
    for (std::size_t k = 0; k < 3; ++k) word = word << 8 | (k < count ? static_cast<std::uint8_t>(bytes[i + k]) : 0U);
    for (std::size_t k = 0; k < 4; ++k) text += k <= count ? digits[word >> (18 - 6 * k) & 63] : '=';
  }
  return text;
}

std::string escaped(const std::string& text) {
  std::string safe;
  for (const char c : text) {
    switch (c) {
      case '<': safe += "&lt;"; break;
      case '>': safe += "&gt;"; break;
      case '&': safe += "&amp;"; break;
      default: safe += c;
    }
  }
  return safe;
}

// A value of a prediction: the class and its probability, or numbers.
struct Cell {
  std::string text;
  bool is_right = true;
};

class Table {
 public:
  Table(const FitPlan& plan, const Part& part) : part_(part), head_(plan.head) {}

  bool is_classification(const at::Tensor& predictions) const {
    return head_.classes > 0 && predictions.dim() == 2 && predictions.size(1) == head_.classes && head_.target.empty();
  }

  Cell cell(const at::Tensor& predictions, std::int64_t sample, const at::Tensor& target) const {
    const at::Tensor one = predictions[sample];
    if (is_classification(predictions)) {
      const auto best = one.argmax().item<std::int64_t>();
      return {fmt::format("{} {:.0f} %", name(best), 100 * one[best].item<double>()),
              best == target.item<std::int64_t>()};
    }
    return {numbers(one), true};
  }
  std::string target(const at::Tensor& value) const {
    return head_.classes > 0 && value.dim() == 0 ? name(value.item<std::int64_t>()) : numbers(value);
  }
  Batch sample(std::int64_t i) const {
    const std::array<std::int64_t, 1> row{i};
    return gather(part_, row);
  }
  at::Tensor target_of(const Batch& batch) const { return batch.columns[head_.target_column][0]; }

 private:
  std::string name(std::int64_t label) const {
    const auto at = static_cast<std::size_t>(label);
    return at < head_.class_names.size() ? head_.class_names[at] : std::to_string(label);
  }
  static std::string numbers(const at::Tensor& values) {
    std::string text;
    const at::Tensor flat = values.reshape({-1});
    for (std::int64_t i = 0; i < std::min<std::int64_t>(flat.numel(), 8); ++i)
      text += (i ? " " : "") + fmt::format("{:.4g}", flat[i].item<double>());
    return text + (flat.numel() > 8 ? " …" : "");
  }

  const Part& part_;
  const Head& head_;
};

// A picture of the sample as an element of the page; empty where it is no image.
std::string picture(const at::Tensor& x) {
  if (x.dim() < 2 || x.dim() > 3 || (x.dim() == 3 && x.size(0) != 1 && x.size(0) != 3)) return "";
  at::Tensor image = x.to(at::kFloat);
  const double low = image.min().item<double>(), high = image.max().item<double>();
  // Normalised images are shown in their own range.
  if (low < 0 || high > 1) image = image.sub(low).div(std::max(high - low, 1e-12));
  return "<img src=\"data:image/png;base64," + base64(artifact_bytes(image, "sample.png")) + "\" alt=\"\">";
}

constexpr const char* page_head =
    "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
    "content=\"width=device-width, initial-scale=1\"><title>Predictions side by side</title><style>"
    ":root{color-scheme:light dark}body{font:14px/1.4 system-ui,sans-serif;margin:1.5rem}"
    "table{border-collapse:collapse}th,td{padding:.25rem .6rem;border-bottom:1px solid #8884;text-align:left;"
    "white-space:nowrap}img{width:56px;height:56px;object-fit:contain;image-rendering:pixelated;display:block}"
    ".wrong{color:#c62828;font-weight:600}@media(prefers-color-scheme:dark){.wrong{color:#ff8a80}}"
    "div{overflow-x:auto}</style></head><body><h1>Predictions side by side</h1>"
    "<p>The samples on which the members differ most. What is wrong is red.</p><div><table>";

}  // namespace

void write_side_by_side(const FitPlan& plan, const Part& part, const std::vector<std::string>& names,
                        const std::vector<at::Tensor>& members, const at::Tensor& ensemble,
                        const std::filesystem::path& stage) {
  if (ensemble.dim() > 2 || plan.head.target_column == plan.head.columns.size()) return;
  const Table table(plan, part);
  at::Tensor spread = at::stack(members).to(at::kDouble).std(at::IntArrayRef{0}, /*unbiased=*/false);
  if (spread.dim() > 1) spread = spread.sum(at::IntArrayRef{1});
  const at::Tensor order = at::argsort(spread, /*stable=*/true, /*dim=*/0, /*descending=*/true).contiguous();
  const std::size_t x = plan.inputs.front();

  std::string csv = "sample,target,ensemble", page = page_head;
  page += "<tr><th></th><th>target</th><th>ensemble</th>";
  for (const std::string& name : names) {
    csv += "," + csv_field(name);
    page += "<th>" + name + "</th>";
  }
  csv += "\n";
  page += "</tr>";
  for (std::int64_t k = 0; k < std::min(order.numel(), most_samples); ++k) {
    const std::int64_t i = order[k].item<std::int64_t>();
    const Batch batch = table.sample(i);
    const at::Tensor target = table.target_of(batch);
    csv += std::to_string(i) + "," + csv_field(table.target(target));
    page += "<tr><td>" + picture(batch.columns[x][0]) + "</td><td>" + escaped(table.target(target)) + "</td>";
    const auto add = [&](const at::Tensor& predictions) {
      const Cell cell = table.cell(predictions, i, target);
      csv += "," + csv_field(cell.text);
      page += std::string(cell.is_right ? "<td>" : "<td class=\"wrong\">") + escaped(cell.text) + "</td>";
    };
    add(ensemble);
    for (const at::Tensor& one : members) add(one);
    csv += "\n";
    page += "</tr>";
  }
  write_artifact(stage, "predictions.csv", csv);
  write_artifact(stage, "predictions.html", page + "</table></div></body></html>\n");
}

}  // namespace trainlab

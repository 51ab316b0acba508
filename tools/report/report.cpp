#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "class_report.h"
#include "columns.h"
#include "core/error.h"
#include "core/words.h"
#include "report/rows.h"
#include "report/texts.h"
#include "run/folder.h"
#include "run/manifest.h"
#include "run/shell_word.h"
#include "stages.h"
#include "study_report.h"

namespace trainlab::report {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t most_rows = 20;
constexpr std::size_t most_metrics = 8;  // columns of the table; the curves show all

std::string manifest_text(const fs::path& run, const Manifest& manifest) {
  std::string text = shown_line(run) + ": " + manifest.recipe + ", begun " + manifest.started + "\n";
  const int threads = manifest.training_threads();
  text += "  seed " + to_json(manifest.setting("seed")) + ", " + manifest.setting("device").string() + ", " +
          counted(threads, "thread") + ", trainlab " + manifest.trainlab + ", LibTorch " + manifest.libtorch + "\n";
  for (const auto& [name, value] : manifest.parameters) {
    text += "  --" + name + " " + (value.is_string() ? value.string() : to_json(value)) + "\n";
  }
  for (const Value& set : manifest.setting("set").list()) text += "  --set " + set.string() + "\n";
  if (manifest.extension) {
    text += "  stage " + manifest.extension->stage + " extended to";
    const char* before = " ";
    for (const NewTotal& total : manifest.extension->totals) text += std::exchange(before, ", ") + total.text();
    text += "\n";
  }
  for (const std::string& line : manifest.continued) text += "  not byte-exact: " + line + "\n";
  return text;
}

// The rows to show: all, or evenly spaced ones with the first, the best and the last, and for a metric that none of
// these has, the last row with it.
std::set<std::size_t> chosen(const Rows& rows, const Value& best_step, std::span<const std::string> metrics) {
  std::set<std::size_t> indices;
  const std::size_t count = rows.rows.size();
  const std::size_t shown = std::min(count, most_rows);
  for (std::size_t i = 0; i < shown; ++i) indices.insert(shown == 1 ? 0 : i * (count - 1) / (shown - 1));
  for (std::size_t i = 0; i < count; ++i) {
    if (!best_step.is_nil() && rows.rows[i]["step"] == best_step) indices.insert(i);
  }
  for (const std::string& metric : metrics) {
    const auto has = [&](std::size_t i) { return !rows.rows[i][metric].is_nil(); };
    if (std::ranges::any_of(indices, has)) continue;
    for (std::size_t i = count; i-- > 0;) {
      if (!has(i)) continue;
      indices.insert(i);
      break;
    }
  }
  return indices;
}

std::string table_text(const Rows& rows, const Value& best_step) {
  std::vector<std::string> names = {"epoch", "step"};
  const std::size_t metrics = std::min(rows.metrics.size(), most_metrics);
  names.insert(names.end(), rows.metrics.begin(), rows.metrics.begin() + static_cast<std::ptrdiff_t>(metrics));
  // A loop by hand has no rate that the engine knows.
  if (std::ranges::any_of(rows.rows, [](const Value& row) { return !row["lr"].is_nil(); })) names.emplace_back("lr");
  std::vector<std::vector<std::string>> cells = {{""}};
  cells[0].insert(cells[0].end(), names.begin(), names.end());
  for (const std::size_t index : chosen(rows, best_step, std::span(rows.metrics).first(metrics))) {
    const Value& row = rows.rows[index];
    std::vector<std::string> line = {!best_step.is_nil() && row["step"] == best_step ? "* " : "  "};
    for (const std::string& name : names) line.push_back(row[name].is_nil() ? "" : short_number(number_in(row, name)));
    cells.push_back(std::move(line));
  }
  std::string text = columns(cells, std::vector<bool>(names.size() + 1, true));
  std::string left_out;
  if (const std::size_t shown = cells.size() - 1; shown < rows.rows.size())
    left_out = std::to_string(shown) + " of " + std::to_string(rows.rows.size()) + " rows";
  if (metrics < rows.metrics.size()) {
    left_out += (left_out.empty() ? "" : ", ") + std::to_string(metrics) + " of " +
                std::to_string(rows.metrics.size()) + " metrics";
  }
  if (!left_out.empty()) text += "  (" + left_out + "; all of them: trainlab report RUN --csv)\n";
  return text;
}

std::string curves_text(const Rows& rows) {
  std::vector<std::vector<std::string>> lines;
  for (const std::string& name : rows.metrics) {
    // A task logs some of its metrics in few rows.
    std::vector<double> values;
    for (const Value& row : rows.rows) {
      if (const double value = number_in(row, name); !std::isnan(value)) values.push_back(value);
    }
    if (values.empty()) continue;
    lines.push_back({"  " + name, short_number(values.front()), sparkline(values, 40), short_number(values.back())});
  }
  return columns(lines, {false, true, false, true});
}

// At most two lines about a fit that the engine has watched: the question that its figures leave open, with the command
// that answers it, and its floor where that is unknown.
std::string unknown_text(const Value& summary) {
  if (summary["kind"] != Value("fit") || !summary["health"].is_list() || !is_finished(summary)) return "";
  std::string text;
  const auto is_of_rate = [](const Value& verdict) {
    return verdict["kind"] == Value("rate_too_high") || verdict["kind"] == Value("rate_too_low");
  };
  const bool has_own_step = summary["own_step"] == Value(true);  // whose rate trainlab find cannot try
  if (!has_own_step && std::ranges::none_of(summary["health"].list(), is_of_rate)) {
    text +=
        "  rate   one run cannot tell whether another rate within a factor 4 is better; to ask: trainlab find lr "
        "RECIPE\n";
  }
  if (!summary["floor"].is_map() && summary["constant_loss"].is_number()) {
    text += "  floor  unknown: equal samples with different labels would show it, and they are too few or none" +
            constant_text(summary) + "\n";
  }
  return text;
}

std::string fit_text(const StageView& stage) {
  const bool has_ended = !stage.summary.is_nil() && !stage.is_running;
  std::string text =
      has_ended
          ? summary_text(stage.summary) + unknown_text(stage.summary)
          : stage.name + " (" + stage.kind +
                "): " + (stage.is_running ? "running" : "unfinished: it was killed before it could write a summary") +
                "\n";
  const Rows rows = read_rows(stage.folder);
  const Value best_step = stage.summary["best"]["step"];
  if (!rows.rows.empty()) text += "\n" + table_text(rows, best_step) + "\n" + curves_text(rows);
  return text + class_reports_text(stage.summary["reports"]);
}

// The last row of a fit or task that has not ended, in the form of a summary.
Value value_so_far(const StageView& stage) {
  Value value = Value::Map{
      {"name", stage.name}, {"kind", stage.kind}, {"status", stage.status()}, {"out", stage.folder.string()}};
  const Rows rows = read_rows(stage.folder);
  if (rows.rows.empty()) return value;
  const Value& last = rows.rows.back();
  value.set("steps", last["step"]);
  for (const char* name : {"samples", "seconds"}) value.set(name, last[name]);
  Value::Map metrics;
  for (const std::string& name : rows.metrics) metrics.emplace(name, last[name]);
  value.set("metrics", std::move(metrics));
  return value;
}

}  // namespace

std::string report_text(const fs::path& given) {
  if (is_study_file(given)) return study_text(read_study_file(given, /*all=*/false));
  const fs::path run = find_run(given);
  std::string text = manifest_text(run, read_manifest(run));
  const std::vector<StageView> stages = stages_of(given);
  if (stages.empty()) return text + "\nNo stage has begun.\n";
  for (const StageView& stage : stages) {
    text += "\n" + (stage.is_study() ? study_text(read_study_report(stage, /*all=*/false)) : fit_text(stage));
  }
  if (!holder(run) && !is_finished(read_summary(run)))
    text += "\nTo continue: trainlab resume " + shell_word(shown_path(run)) + "\n";
  return text;
}

Value report_value(const fs::path& given) {
  if (is_study_file(given)) return study_value(read_study_file(given, /*all=*/true));
  StageView stage = stage_of(given);
  if (stage.is_study()) return study_value(read_study_report(std::move(stage), /*all=*/true));
  return stage.summary.is_nil() || stage.is_running ? value_so_far(stage) : stage.summary;
}

}  // namespace trainlab::report

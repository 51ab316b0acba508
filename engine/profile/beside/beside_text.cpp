// Two stages side by side, as text and as data.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "core/number_or_nil.h"
#include "profile/beside.h"
#include "taken_cores.h"
#include "time_text.h"

namespace trainlab {

namespace {

constexpr std::size_t most_rows = 8;
constexpr double negligible = 0.0005;  // share of a step; a part that is smaller on both sides has no row

std::string name_of(const StagesBeside::Side& side) {
  return side.recipe + (side.note.empty() ? "" : " (" + side.note + ")");
}

// "+0.310 (+0.300 to +0.330)"
std::string difference_text(const MedianInterval& seconds) {
  return fmt::format("{:+.3f} ({:+.3f} to {:+.3f})", 1e3 * seconds.median, 1e3 * seconds.low, 1e3 * seconds.high);
}

double size_of(const PartBeside& part) {
  return std::abs(part.difference ? part.difference->median : part.a.value_or(part.b.value_or(0)));
}

std::string milliseconds(const std::optional<double>& seconds) {
  return seconds ? fmt::format("{:.3f}", 1e3 * *seconds) : "-";
}

std::string rows_text(const char* head, const std::vector<PartBeside>& parts) {
  std::size_t width = 16;
  for (const PartBeside& one : parts) width = std::max(width, one.name.size());
  std::string text = fmt::format("\n{:<{}} {:>10} {:>10}   {}\n", head, width, "A ms", "B ms", "B - A ms");
  for (const PartBeside& one : parts) {
    text += fmt::format("{:<{}} {:>10} {:>10}   {}\n", one.name, width, milliseconds(one.a), milliseconds(one.b),
                        one.difference ? difference_text(*one.difference)
                        : one.a        ? "only in A"
                                       : "only in B");
  }
  return text;
}

// "B takes 437 µs more"
std::string change_text(double seconds) {
  return fmt::format("B takes {} {}", time_text(std::abs(seconds)), seconds > 0 ? "more" : "less");
}

// Names the part and the layer that explain most of the verdict. Empty where neither stage is faster for certain.
std::string where_text(const StagesBeside& stages) {
  const std::string verdict = stages.verdict();
  if (verdict != "slower" && verdict != "faster") return "";
  const bool is_slower = verdict == "slower", is_scaled = stages.differ_in_samples();
  const double whole = stages.a.step.median * (stages.judged().median - 1);
  const std::string samples = is_scaled ? " for as many samples as a step of A has" : "";
  std::string text;
  if (const PartBeside* part = largest_difference(stages.parts, is_slower)) {
    text += fmt::format("  The largest difference lies in {}: {}{}; a whole step, {} {}.\n", part->name,
                        change_text(part->judged()->median), samples, time_text(std::abs(whole)),
                        whole > 0 ? "more" : "less");
  }
  if (const PartBeside* layer = largest_difference(stages.layers, is_slower)) {
    text += fmt::format("  Among the layers and other rows of both, {} differs most: {}{}.\n", layer->name,
                        change_text(layer->judged()->median), samples);
  }
  return text;
}

std::string side_text(const char* letter, const StagesBeside::Side& side) {
  return fmt::format("{:<16} {} {} of {}: a step of {} ({} to {})\n", letter, side.kind, side.stage, name_of(side),
                     time_text(side.step.median), time_text(side.step.low), time_text(side.step.high));
}

Value to_value(const StagesBeside::Side& side) {
  return Value::Map{{"recipe", side.recipe},
                    {"note", side.note.empty() ? Value() : Value(side.note)},
                    {"stage", side.stage},
                    {"stage_kind", side.kind},
                    {"step_seconds", side.step.to_value()},
                    {"samples", side.samples > 0 ? Value(side.samples) : Value()}};
}

Value to_value(const std::vector<PartBeside>& parts, const char* name) {
  Value::List list;
  list.reserve(parts.size());
  for (const PartBeside& one : parts) {
    list.push_back(Value::Map{{name, one.name},
                              {"a", number_or_nil(one.a)},
                              {"b", number_or_nil(one.b)},
                              {"difference", one.difference ? one.difference->to_value() : Value()}});
  }
  return list;
}

}  // namespace

std::string StagesBeside::verdict() const {
  constexpr double close = 0.02;
  const MedianInterval times = judged();
  if (times.low >= 1 - close && times.high <= 1 + close) return "equal";
  if (times.low > 1) return "slower";
  return times.high < 1 ? "faster" : "unclear";
}

const PartBeside* largest_difference(const std::vector<PartBeside>& parts, bool is_slower) {
  const PartBeside* largest = nullptr;
  for (const PartBeside& one : parts) {
    if (!one.judged() || (is_slower ? one.judged()->low <= 0 : one.judged()->high >= 0)) continue;
    if (!largest || std::abs(one.judged()->median) > std::abs(largest->judged()->median)) largest = &one;
  }
  return largest;
}

std::string beside_text(const StagesBeside& stages) {
  const MedianInterval& ratio = stages.ratio;
  std::string text = fmt::format("{}: a step of B takes {:.3f} ({:.3f} to {:.3f}) times as long as one of A",
                                 stages.verdict(), ratio.median, ratio.low, ratio.high);
  if (stages.differ_in_samples()) {
    const MedianInterval sample = stages.judged();
    text += fmt::format(" and has {} times as many samples; a sample takes {:.3f} ({:.3f} to {:.3f}) times as long",
                        figure_text(stages.b.samples / stages.a.samples, 3), sample.median, sample.low, sample.high);
  }
  text += "\n" + where_text(stages) + "\n" + side_text("A", stages.a) + side_text("B", stages.b);
  if (const std::optional<MedianInterval> speed = stages.speed()) {
    text += fmt::format("{:<16} {:.3f} ({:.3f} to {:.3f}) times as many with B; A {:.0f}, B {:.0f}\n", "samples/s",
                        speed->median, speed->low, speed->high, stages.a.samples / stages.a.step.median,
                        stages.b.samples / stages.b.step.median);
  }
  if (const std::string taken = taken_cores(stages.cores); !taken.empty())
    text += fmt::format("{:<16} other work had {} meanwhile: both stages alone are faster\n", "cores", taken);
  text += fmt::format("{:<16} {} pairs of short runs; 95 % intervals\n", "measured", stages.pairs);

  std::vector<PartBeside> parts = stages.parts;
  const double least = negligible * std::min(stages.a.step.median, stages.b.step.median);
  std::erase_if(parts, [&](const PartBeside& one) { return one.a.value_or(0) < least && one.b.value_or(0) < least; });
  text += rows_text("part of a step", parts);
  if (!stages.layers.empty()) {
    std::vector<PartBeside> layers = stages.layers;
    std::ranges::stable_sort(layers, std::greater<>(), size_of);
    if (layers.size() > most_rows) layers.resize(most_rows);
    text += rows_text("layer", layers);
    if (stages.layers.size() > most_rows) {
      text += fmt::format("{} of {} rows, those that differ most: --json has all of them\n", most_rows,
                          stages.layers.size());
    }
  }
  if (!stages.missing.empty()) text += "\n";
  for (const std::string& one : stages.missing) text += "not measured: " + one + "\n";
  return text;
}

Value beside_value(const StagesBeside& stages) {
  const std::optional<MedianInterval> speed = stages.speed();
  return Value::Map{{"kind", "profiles"},
                    {"status", "done"},
                    {"verdict", stages.verdict()},
                    {"ratio", stages.ratio.to_value()},
                    {"speed_ratio", speed ? speed->to_value() : Value()},
                    {"a", to_value(stages.a)},
                    {"b", to_value(stages.b)},
                    {"pairs", static_cast<std::int64_t>(stages.pairs)},
                    {"parts", to_value(stages.parts, "name")},
                    {"layers", to_value(stages.layers, "path")},
                    {"cores", stages.cores},
                    {"missing", Value::List(stages.missing.begin(), stages.missing.end())}};
}

}  // namespace trainlab

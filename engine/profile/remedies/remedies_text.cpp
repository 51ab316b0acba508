// Remedies as text and as data.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/number_or_nil.h"
#include "core/words.h"
#include "profile/remedies.h"
#include "tensor/free_memory.h"
#include "time_text.h"

namespace trainlab {

namespace {

std::string ratio_text(const MedianInterval& ratio, const std::string& more = "") {
  return fmt::format("{:.2f} ({:.2f} to {:.2f}{})", ratio.median, ratio.low, ratio.high, more);
}

// ", 4.2 MiB less memory": how a change moves the peak of memory. Empty where memory_text would show 0.0 MiB.
std::string bytes_text(std::optional<std::int64_t> saved) {
  if (!saved || std::abs(*saved) < (1 << 20) / 20) return "";
  return ", " + memory_text(std::abs(static_cast<double>(*saved))) + (*saved > 0 ? " less" : " more") + " memory";
}

std::string_view quality_word(compare::Quality quality) {
  switch (quality) {
    case compare::Quality::better: return "better";
    case compare::Quality::worse: return "worse";
    case compare::Quality::not_worse:
    case compare::Quality::unclear: break;
  }
  return "unclear";
}

bool has_interval(const compare::Interval& difference) {
  return std::isfinite(difference.low) && std::isfinite(difference.high);
}

std::string quality_text(const RemedyQuality& quality) {
  if (!quality.reason.empty()) return "not judged: " + quality.reason;
  const compare::Judgement& judged = quality.judgement;
  std::string text = has_interval(judged.difference)
                         ? fmt::format("{} {:.4g} instead of {:.4g}: {:+.3g} ({:+.3g} to {:+.3g}), {}", quality.metric,
                                       quality.with, quality.without, judged.difference.mean, judged.difference.low,
                                       judged.difference.high, quality_word(judged.quality))
                         : "unclear, because too few trainings delivered a value of " + quality.metric;
  text += fmt::format("; {} pairs, {} each", judged.pairs, time_text(quality.seconds));
  if (judged.a.failed + judged.b.failed > 0)
    text += fmt::format("; {} failed with the change, {} without", judged.b.failed, judged.a.failed);
  return text;
}

Value quality_value(const RemedyQuality& quality) {
  const compare::Judgement& judged = quality.judgement;
  const bool is_judged = quality.reason.empty();
  return Value::Map{
      {"metric", quality.metric},
      {"goal", quality.minimize ? "min" : "max"},
      {"seconds", quality.seconds},
      {"pairs", judged.pairs},
      {"without", is_judged ? finite_or_nil(quality.without) : Value()},
      {"with", is_judged ? finite_or_nil(quality.with) : Value()},
      {"difference", is_judged && has_interval(judged.difference) ? Value(Value::Map{{"mean", judged.difference.mean},
                                                                                     {"low", judged.difference.low},
                                                                                     {"high", judged.difference.high}})
                                                                  : Value()},
      {"verdict", is_judged ? Value(std::string(quality_word(judged.quality))) : Value()},
      {"failed", Value::Map{{"without", judged.a.failed}, {"with", judged.b.failed}}},
      {"reason", is_judged ? Value() : Value(quality.reason)}};
}

// The words of a line: the first few, because a large model has a change for each layer.
std::string some_words_of(const std::vector<std::string>& set) {
  constexpr std::size_t shown = 3;
  if (set.size() <= shown) return words_of(set);
  return words_of({set.begin(), set.begin() + shown}) + fmt::format(" and {} more, see --json", set.size() - shown);
}

}  // namespace

std::string words_of(const std::vector<std::string>& set, const std::string& between) {
  return joined(set, between, [](const std::string& one) { return one.starts_with("--") ? one : "--set " + one; });
}

std::string remedies_text(const TriedRemedies& remedies) {
  if (remedies.all.empty()) return "";
  std::string text = "\nremedies (speed with to speed without, 95 % interval)\n";
  std::size_t names = 34, words = 30;  // widths of the columns, wider where a text is longer
  for (const Remedy& one : remedies.all) {
    names = std::max(names, one.name.size());
    words = std::max(words, some_words_of(one.set).size());
  }
  for (const Remedy& one : remedies.all) {
    text += fmt::format("  {:<{}} {:<{}} ", one.name, names, some_words_of(one.set), words);
    if (one.has_ratio()) {
      const std::string few = one.has_interval() ? "" : fmt::format(" in {} pairs", one.pairs);
      text += fmt::format("{}, {}{}", ratio_text(one.ratio, few), one.result, bytes_text(one.bytes));
      text += one.ended_by.empty() ? "\n" : "; no more pairs: " + one.ended_by + "\n";
    } else if (one.is_tried()) {
      text += one.result + "\n";
    } else {
      text += "not tried: " + one.reason + "\n";
    }
    if (one.quality) text += "    quality: " + quality_text(*one.quality) + "\n";
  }
  const JoinedRemedies& together = remedies.joined;
  if (together.set.empty() || together.ratio.median == 0) return text;
  // The threads are those of the whole run. Whether further stages follow is known when the recipe has run.
  const bool has_threads =
      std::ranges::any_of(together.set, [](const std::string& one) { return threads_of(one).has_value(); });
  return text + "  to apply: " + words_of(together.set) + " " + ratio_text(together.ratio) +
         (has_threads ? "; later stages would have these threads, too" : "") + "\n";
}

Value remedies_value(const TriedRemedies& remedies) {
  Value::List list;
  for (const Remedy& one : remedies.all) {
    list.push_back(Value::Map{{"name", one.name},
                              {"set", Value::List(one.set.begin(), one.set.end())},
                              {"tried", one.is_tried()},
                              {"ratio", one.has_ratio() ? one.ratio.to_value() : Value()},
                              {"pairs", one.has_ratio() ? Value(one.pairs) : Value()},
                              {"bytes", one.bytes ? Value(*one.bytes) : Value()},
                              {"result", one.is_tried() ? Value(one.result) : Value()},
                              {"quality", one.quality ? quality_value(*one.quality) : Value()},
                              {"reason", one.is_tried() ? Value() : Value(one.reason)},
                              {"ended_by", one.ended_by.empty() ? Value() : Value(one.ended_by)}});
  }
  const JoinedRemedies& joined = remedies.joined;
  Value applied;
  if (!joined.set.empty()) {
    applied = Value::Map{{"set", Value::List(joined.set.begin(), joined.set.end())},
                         {"ratio", joined.ratio.median > 0 ? joined.ratio.to_value() : Value()}};
  }
  return Value::Map{{"remedies", std::move(list)}, {"applied", std::move(applied)}};
}

}  // namespace trainlab

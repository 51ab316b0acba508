// What trainings have shown besides their results, in words: where their time went, their health, and what they wasted.
#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "core/words.h"
#include "report/texts.h"

namespace trainlab::report {

std::string shares_text(const Value& speed) {
  static const std::map<std::string_view, const char*> words = {
      {"training", "training"},     {"input", "waiting for data"}, {"transform", "data:transform"},
      {"evaluation", "evaluation"}, {"checkpoint", "checkpoints"}, {"other", "other work"}};
  Value shares = speed["shares"];
  // The recipe's own transforms are a part of the input in which nothing is waited for.
  if (const Value& transform = speed["transform"]; transform.is_number() && shares["input"].is_number()) {
    shares.set("input", shares["input"].number() - transform.number());
    shares.set("transform", transform);
  }
  std::vector<std::pair<int, const char*>> shown;
  for (const auto& [name, word] : words) {
    const Value& share = shares[name];
    if (!share.is_number()) continue;
    const int percent = static_cast<int>(std::lround(100 * share.number()));
    if (percent > 0) shown.emplace_back(percent, word);
  }
  std::ranges::stable_sort(shown, std::ranges::greater{}, [](const auto& one) { return one.first; });
  std::string text;
  for (const auto& [percent, word] : shown) text += (text.empty() ? "" : ", ") + std::to_string(percent) + " % " + word;
  return text;
}

std::string speed_notes_text(const Value& speed) {
  std::string text;
  if (!speed["notes"].is_list()) return text;
  for (const Value& note : speed["notes"].list()) text += "  note: " + text_of(note) + "\n";
  return text;
}

namespace {

// " in 3 of 64 trials (4, 17 and 22); in trial 4".
std::string sick_trials_text(const Value& verdict) {
  std::vector<std::string> numbers;
  for (const Value& trial : verdict["trials"].list()) numbers.push_back(text_of(trial));
  const std::string first = numbers.front();
  const bool are_all = verdict["count"] == Value(std::ssize(numbers));
  if (!are_all) numbers.emplace_back("others");
  return " in " + text_of(verdict["count"]) + " of " + text_of(verdict["ended"]) + " trials (" +
         listed(numbers, "and") + "); in trial " + first;
}

}  // namespace

std::string health_text(const Value& health) {
  std::string text;
  if (!health.is_list()) return text;
  for (const Value& verdict : health.list()) {
    text += "  health " + text_of(verdict["kind"]) + (verdict["trials"].is_list() ? sick_trials_text(verdict) : "") +
            " (" + text_of(verdict["confidence"]) + " confidence, after " + text_of(verdict["step"]) +
            " steps): " + text_of(verdict["evidence"]) + "\n         remedy: " + text_of(verdict["remedy"]) + "\n";
  }
  return text;
}

std::string efficiency_text(const Value& efficiency) {
  std::string text;
  if (!efficiency.is_map()) return text;
  if (efficiency["judged"].is_integer()) {
    const auto add = [&](const char* flag, const char* name) {
      if (efficiency[flag].integer() == 0) return;
      text += std::string("  ") + name + ": " + text_of(efficiency[flag]) + " of " + text_of(efficiency["judged"]) +
              " trials\n";
    };
    add("compute_inefficient", "compute-inefficient");
    add("data_inefficient", "data-inefficient");
    return text;
  }
  for (const Value& flag : efficiency["flags"].list()) {
    if (flag == Value("compute_inefficient")) {
      text += "  compute-inefficient: what is kept was reached with " +
              short_number(efficiency["compute_share"].number()) + " of the FLOPs\n";
    } else {
      text += "  data-inefficient: " + short_number(efficiency["passes"].number()) +
              " passes over the same data, and train.loss is " + short_number(efficiency["loss_ratio"].number()) +
              " of val.loss; new data would be worth more\n";
    }
  }
  return text;
}

}  // namespace trainlab::report

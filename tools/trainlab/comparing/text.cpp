#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "cli/ending.h"
#include "comparing/question.h"
#include "comparing/training_runs.h"
#include "core/error.h"
#include "core/number_or_nil.h"
#include "core/statistics.h"
#include "core/words.h"
#include "report/texts.h"
#include "run/budget.h"

namespace trainlab::cli {

namespace {

using compare::Interval, compare::Pair, compare::Quality, compare::Speed;
using report::fine_duration_text, report::short_number, report::shown_path;

std::string digits(double x, int count) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.*g", count, x);
  return text.data();
}

// How many times faster or slower: a bound where an end is not known, because trainings count with less than they took.
std::string times_text(double mean, double low, double high) {
  const bool has_low = low > 0, has_high = !std::isinf(high);
  if (has_low && has_high) return digits(mean, 3) + " (" + digits(low, 3) + "–" + digits(high, 3) + ") times";
  if (has_low) return "at least " + digits(low, 3) + " times";
  if (has_high) return "at most " + digits(high, 3) + " times";
  return "about " + digits(mean, 3) + " times";
}

std::string signed_text(double x) { return (x < 0 ? "−" : "+") + digits(std::abs(x), 2); }

std::string difference_text(const Interval& difference) {
  if (std::isnan(difference.mean)) return "unknown";
  std::string text = signed_text(difference.mean);
  if (!std::isinf(difference.low))
    text += " (" + signed_text(difference.low) + " to " + signed_text(difference.high) + ")";
  return text;
}

std::string speed_text(const compare::Judgement& judged) {
  const Interval& ratio = judged.ratio;
  switch (judged.speed) {
    case Speed::faster: return "B is " + times_text(ratio.mean, ratio.low, ratio.high) + " faster";
    case Speed::slower: return "B is " + times_text(1 / ratio.mean, 1 / ratio.high, 1 / ratio.low) + " slower";
    case Speed::equal: return "B is as fast as A (within 2 %)";
    case Speed::unclear: break;
  }
  return "cannot tell which is faster";
}

// How B's whole trainings differ from A's, as "2.1 times the time and 2 times the FLOPs"; empty where they do not.
std::string budgets_text(const compare::Budgets& budgets) {
  std::vector<std::string> parts;
  if (compare::is_unequal(budgets.seconds)) parts.push_back(digits(budgets.seconds, 2) + " times the time");
  if (compare::is_unequal(budgets.flops)) parts.push_back(digits(budgets.flops, 2) + " times the FLOPs");
  return joined(parts, " and ");
}

std::string quality_text(const compare::Judgement& judged, const Question& question) {
  const bool is_good = judged.speed == Speed::faster || judged.speed == Speed::equal;
  switch (judged.quality) {
    case Quality::better: return (judged.speed == Speed::slower ? " but" : " and") + std::string(" better");
    case Quality::not_worse: return " and not worse (by more than " + number_text(*question.margin) + ")";
    case Quality::worse: return (is_good ? " but" : " and") + std::string(" worse");
    case Quality::unclear: break;
  }
  return question.margin ? ", and cannot tell whether it is worse" : "";
}

constexpr int most_seeds = 1000;

// The seeds beside the trained ones that take the comparison to a look that detects the present estimates with a
// probability of 80 %; nullopt for one pair, which gives no estimate.
std::optional<int> more_seeds(const compare::Judgement& judged, const compare::Looks& looks) {
  if (judged.is_clear) return 0;
  if (judged.pairs < 2) return std::nullopt;
  return looks.pairs_needed(judged.effect, judged.pairs, most_seeds) - judged.pairs;
}

std::string more_text(const compare::Judgement& judged, const compare::Looks& looks) {
  if (judged.pairs > 1 && !looks.is_look(judged.pairs)) {
    return " from " + std::to_string(judged.pairs) + " seeds: the next look is after " +
           std::to_string(looks.next(judged.pairs));
  }
  const std::optional<int> more = more_seeds(judged, looks);
  if (!more) return " from one seed";
  if (*more == 0) return "";
  if (*more + judged.pairs >= most_seeds) return "; would need more than " + std::to_string(most_seeds) + " seeds";
  return "; would need about " + counted(*more, "more seed");
}

}  // namespace

std::string headline(const compare::Judgement& judged, const Question& question, const compare::Looks& looks) {
  const std::string quality = quality_text(judged, question);
  if (judged.speed == Speed::unclear && judged.quality == Quality::unclear)
    return "cannot tell" + more_text(judged, looks);
  std::string text = speed_text(judged);
  if (judged.speed == Speed::unclear) {
    constexpr std::size_t joint = 4;  // " and"
    text += "; B is" + quality.substr(joint);
  } else {
    text += quality;
  }
  const std::string budgets = budgets_text(judged.budgets);
  if (judged.quality != Quality::unclear && !budgets.empty()) text += ", with " + budgets;
  return text + more_text(judged, looks) + ", p " + digits(judged.p, 2);
}

namespace {

// Notes on trainings that count with a bound of the window, not with their own time.
std::string window_text(const compare::Judgement& judged, const compare::Target& target) {
  const compare::Window& window = judged.window;
  const auto both = [](int a, int b) { return std::to_string(a) + " of A and " + std::to_string(b) + " of B"; };
  const auto trainings = [](int a, int b) {
    return "  " + counted(a, "training") + " of A and " + std::to_string(b) + " of B ";
  };
  const compare::Tally &a = judged.a, &b = judged.b;
  std::string text;
  if (window.begin) {
    text += trainings(a.first, b.first) + "had reached " + target_text(target) +
            " at their first validation: they count with " + fine_duration_text(*window.begin);
    if (a.sooner + b.sooner > 0) text += ", and so do " + both(a.sooner, b.sooner) + " that reached it sooner";
    text += "\n";
  }
  if (window.end) {
    text += trainings(judged.pairs - a.arrived, judged.pairs - b.arrived) + "never reached " + target_text(target) +
            ": they count with " + fine_duration_text(*window.end);
    if (a.later + b.later > 0) text += ", and so do " + both(a.later, b.later) + " that reached it later";
    text += "\n";
  }
  return text;
}

double seconds_of(const std::vector<Pair>& pairs) {
  double seconds = 0;
  for (const Pair& pair : pairs) seconds += pair.a.seconds + pair.b.seconds;
  return seconds;
}

// The median time to the target of the trainings that have reached it. At their first validation they may have reached
// it earlier.
std::string usual_time(const std::vector<Pair>& pairs, const compare::Training Pair::*side) {
  std::vector<double> times;
  bool is_bound = false;
  for (const Pair& pair : pairs) {
    if ((pair.*side).arrival) times.push_back(*(pair.*side).arrival);
    is_bound |= (pair.*side).is_first;
  }
  if (times.empty()) return "never";
  return (is_bound ? "at most " : "") + fine_duration_text(median(std::move(times)));
}

// A note for trainings that were interrupted: a new process starts slowly, and computes again what was not saved.
std::string resumed_text(const std::vector<Pair>& pairs) {
  const auto a = std::ranges::count_if(pairs, [](const Pair& pair) { return pair.a.was_resumed; });
  const auto b = std::ranges::count_if(pairs, [](const Pair& pair) { return pair.b.was_resumed; });
  if (a + b == 0) return "";
  return "  " + counted(static_cast<int>(a), "training") + " of A and " + std::to_string(b) +
         " of B were interrupted and resumed: their times are less reliable\n";
}

// A note for trainings that validate differently often: of the one that validates more often some validations do not
// count.
std::string validations_text(const std::vector<Pair>& pairs) {
  for (const Pair& pair : pairs) {
    const double a = pair.a.apart, b = pair.b.apart;
    if (!compare::is_much_farther(a, b) && !compare::is_much_farther(b, a)) continue;
    return "  A validates each " + short_number(a) + " samples, B each " + short_number(b) + ": of " +
           (a < b ? "A" : "B") + " the validations count that are as far apart as those of " + (a < b ? "B" : "A") +
           ", also for the best value at the end; give both the same `validate`\n";
  }
  return "";
}

// Nobody knows in which order runs were trained that existed before the comparison.
bool has_drift(const Comparison& comparison, const compare::Judgement& judged) {
  return !comparison.folder.empty() && std::isfinite(judged.drift);
}

// How the comparison was made: its look, the size of the effect, the order of the trainings and the machine's drift.
std::string design_text(const Comparison& comparison, const compare::Judgement& judged) {
  const compare::Looks& looks = comparison.looks;
  std::string text = "  look   ";
  text += looks.count() == 0 ? "at any time"
                             : std::to_string(looks.until(judged.pairs)) + " of " + std::to_string(looks.count());
  if (std::isfinite(judged.speed_effect))
    text += ", effect " + signed_text(judged.speed_effect) + " standard deviations";
  if (!comparison.folder.empty()) text += ", order AB BA";
  if (has_drift(comparison, judged)) text += ", drift of the machine " + signed_text(100 * judged.drift) + " %";
  return text + "\n";
}

// A note on samples that are the same in all pairs: another choice of them might have given another verdict.
std::string samples_text(const Comparison& comparison) {
  if (!comparison.shared_samples) return "";
  return "  data   all pairs are judged on the same " + counted(*comparison.shared_samples, "sample") + "\n";
}

std::string equal_time_text(const compare::Judgement& judged, const std::optional<double>& margin) {
  std::string text =
      "  equal  " + difference_text(judged.at_equal_time) + " in equal time, that of the shorter training";
  switch (judged.quality_at_equal_time) {
    case Quality::better: text += ": B is better"; break;
    case Quality::not_worse: text += ": B is not worse (by more than " + number_text(*margin) + ")"; break;
    case Quality::worse: text += ": B is worse"; break;
    case Quality::unclear: text += ": cannot tell"; break;
  }
  if (judged.pairs_at_equal_time < judged.pairs) {
    text += " (from " + std::to_string(judged.pairs_at_equal_time) + " of " + counted(judged.pairs, "pair") +
            ": in the others one has no value by then)";
  }
  if (const std::string budgets = budgets_text(judged.budgets); !budgets.empty()) {
    text +=
        "\n  B's trainings have " + budgets + " of A's: what they deliver at the end does not compare equal budgets";
  }
  return text + "\n";
}

std::string_view word(Speed speed) {
  constexpr std::array<std::string_view, 4> words{"faster", "slower", "equal", "unclear"};
  return words[static_cast<std::size_t>(speed)];
}

std::string_view word(Status status) {
  constexpr std::array<std::string_view, 5> words{"done", "stopped", "interrupted", "running", "unfinished"};
  return words[static_cast<std::size_t>(status)];
}

std::string_view word(Quality quality) {
  constexpr std::array<std::string_view, 4> words{"better", "not_worse", "worse", "unclear"};
  return words[static_cast<std::size_t>(quality)];
}

// Why the target of a comparison that has not ended is useless, so that no pair is trained any more; nullopt where that
// is not so.
std::optional<std::string> why_useless(const Comparison& comparison, const Question& question) {
  if (comparison.status != Status::unfinished || !ends_if_useless(comparison.pairs.size(), comparison.looks))
    return std::nullopt;
  const std::optional<Error> useless = useless_target(comparison.pairs, question.target);
  return useless ? std::optional(useless->message()) : std::nullopt;
}

std::string state_text(Status status) {
  if (status == Status::running) return "  state  running: these are the pairs so far\n";
  if (status == Status::unfinished) return "  state  unfinished: the command that made it, again, goes on\n";
  return "";
}

}  // namespace

std::string comparison_text(const Comparison& comparison, const Question& question) {
  const std::vector<Pair>& pairs = comparison.pairs;
  const std::optional<std::string> useless = why_useless(comparison, question);
  const std::string state = useless ? "" : state_text(comparison.status);
  if (pairs.empty()) return "no pair has ended\n" + state;
  const compare::Judgement judged = compare::judge(pairs, question.target, question.margin, comparison.looks);
  std::string text = (useless ? "no verdict: " + *useless : headline(judged, question, comparison.looks)) + "\n";
  text += "  A      " + comparison.a + "\n  B      " + comparison.b + "\n";
  text += "  time   to " + target_text(question.target) + ", median: A " + usual_time(pairs, &Pair::a) + ", B " +
          usual_time(pairs, &Pair::b) + "\n";
  text += window_text(judged, question.target);
  text += "  end    " + question.target.metric + ", B − A: " + difference_text(judged.difference) + "\n";
  text += equal_time_text(judged, question.margin);
  if (judged.a.failed + judged.b.failed > 0) {
    text += "  failed " + std::to_string(judged.a.failed) + " trainings of A, " + std::to_string(judged.b.failed) +
            " of B, by a loss that is not finite (p " + digits(judged.failures_p, 2) + ")\n";
  }
  if (judged.without_value > 0) {
    text += "  " + counted(judged.without_value, "pair") + " without a value left out of the difference\n";
  }
  text += design_text(comparison, judged);
  text += samples_text(comparison);
  text += resumed_text(pairs);
  text += validations_text(pairs);
  text += "  took   " + counted(judged.pairs, "seed") + ", " + fine_duration_text(seconds_of(pairs)) + " of training\n";
  if (!comparison.folder.empty()) text += "  in     " + shown_path(comparison.folder) + "\n";
  return text + state;
}

Value comparison_value(const Comparison& comparison, const Question& question) {
  const compare::Judgement judged =
      compare::judge(comparison.pairs, question.target, question.margin, comparison.looks);
  const auto interval = [](const Interval& given, const char* mean) {
    return Value::Map{{mean, given.mean}, {"low", given.low}, {"high", given.high}};
  };
  Value speed = interval(judged.ratio, "ratio");
  if (judged.ratio.low == 0) speed.set("low", Value());  // not known
  speed.set("is_bounded", judged.is_bounded);
  const auto of_both = [&](int compare::Tally::*count) {
    return Value::Map{{"a", judged.a.*count}, {"b", judged.b.*count}};
  };
  speed.set("arrived", of_both(&compare::Tally::arrived));
  speed.set("begin", number_or_nil(judged.window.begin));
  speed.set("first", of_both(&compare::Tally::first));
  speed.set("sooner", of_both(&compare::Tally::sooner));
  speed.set("end", number_or_nil(judged.window.end));
  speed.set("later", of_both(&compare::Tally::later));
  Value failed = of_both(&compare::Tally::failed);
  failed.set("p", judged.failures_p);
  const auto of_quality = [&](const Interval& difference, Quality verdict) {
    Value value = interval(difference, "difference");
    value.set("verdict", word(verdict));
    value.set("not_worse", verdict == Quality::better || verdict == Quality::not_worse);
    return value;
  };
  Value quality = of_quality(judged.difference, judged.quality);
  quality.set("margin", question.margin ? Value(*question.margin) : Value());
  Value at_equal_time = of_quality(judged.at_equal_time, judged.quality_at_equal_time);
  at_equal_time.set("pairs", judged.pairs_at_equal_time);
  quality.set("at_equal_time", std::move(at_equal_time));
  const compare::Budgets& budgets = judged.budgets;
  quality.set("budgets",
              Value::Map{{"seconds", finite_or_nil(budgets.seconds)}, {"flops", finite_or_nil(budgets.flops)}});
  const std::optional<std::string> useless = why_useless(comparison, question);
  const std::optional<int> more = useless ? std::nullopt : more_seeds(judged, comparison.looks);
  return Value::Map{
      {"kind", "comparison"},
      {"status", word(useless ? Status::stopped : comparison.status)},
      {"reason", useless                                ? Value(*useless)
                 : comparison.status == Status::stopped ? Value(budget_is_used)
                                                        : Value()},
      {"verdict", word(judged.speed)},
      {"speed", std::move(speed)},
      {"quality", std::move(quality)},
      {"failed", std::move(failed)},
      {"target", Value::Map{{"metric", question.target.metric}, {"value", question.target.value}}},
      {"seeds", judged.pairs},
      {"more_seeds", more ? Value(*more) : Value()},
      {"seconds", seconds_of(comparison.pairs)},
      {"p", judged.p},
      {"effect", finite_or_nil(judged.speed_effect)},
      {"drift", has_drift(comparison, judged) ? Value(judged.drift) : Value()},
      {"look", comparison.looks.until(judged.pairs)},
      {"looks", comparison.looks.count()},
      {"shared_samples", comparison.shared_samples ? Value(*comparison.shared_samples) : Value()},
      {"out", comparison.folder.empty() ? Value() : Value(comparison.folder.string())},
  };
}

namespace {

Value page_value(const Comparison& comparison, const Question& question) {
  Value value = comparison_value(comparison, question);
  const auto side = [](const compare::Training& training) {
    return Value::Map{{"arrival", number_or_nil(training.arrival)}, {"value", number_or_nil(training.value)}};
  };
  Value::List pairs;
  for (const Pair& pair : comparison.pairs)
    pairs.push_back(Value::Map{{"seed", pair.seed}, {"a", side(pair.a)}, {"b", side(pair.b)}});
  value.set("pairs", std::move(pairs));
  value.set("text", comparison_text(comparison, question));
  value.set("a", comparison.a);
  value.set("b", comparison.b);
  return value;
}

}  // namespace

std::string page_of_comparison(const Comparison& comparison, const Question& question) {
  if (comparison.pairs.empty()) throw run_error("not written, because no pair has ended");
  return report::comparison_page(page_value(comparison, question));
}

int tell(const Arguments& given, const Comparison& comparison, const Question& question) {
  // A whole comparison's page is not replaced by that of a part of one.
  const auto failure = comparison.status == Status::interrupted
                           ? std::nullopt
                           : page_failure(given, [&] { return page_of_comparison(comparison, question); });
  print(given.has("json") ? to_json(comparison_value(comparison, question), 2) + "\n"
                          : comparison_text(comparison, question));
  return end_with(failure);
}

}  // namespace trainlab::cli

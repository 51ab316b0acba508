// A sweep, for a terminal.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <numeric>
#include <set>
#include <string_view>

#include "columns.h"
#include "core/words.h"
#include "paste.h"
#include "report/texts.h"
#include "study_report.h"

namespace trainlab::report {

namespace {

constexpr std::size_t most_parameters = 8;  // columns of the leaderboard
constexpr std::size_t most_importances = 12;
constexpr std::int64_t fewest_for_importance = 10;

std::string line(const std::string& label, const std::string& text) {
  std::string padded = label;
  padded.resize(7, ' ');
  return "  " + padded + text + "\n";
}

// As many places as the deviation has significant ones, two.
std::string with_deviation(double value, double deviation) {
  if (!(deviation > 1e-12 * std::abs(value)) || !std::isfinite(value)) return short_number(value);
  const int places = std::clamp(1 - static_cast<int>(std::floor(std::log10(deviation))), 0, 12);
  std::array<char, 800> text{};
  std::snprintf(text.data(), text.size(), "%.*f ± %.*f", places, value, places, deviation);
  return text.data();
}

std::string label_of(const Value& value) {
  if (value.is_nil()) return "";
  if (value.is_string()) return value.string();
  return value.is_number() ? short_number(value.number()) : value.brief();
}

std::string name_of(const Value& value) { return value.is_string() ? value.string() : "unknown"; }

std::string on_one_line(const std::string& printed) {
  std::string text;
  for (const char c : printed) {
    const bool is_space = c == '\n' || c == ' ';
    if (!is_space || !text.ends_with(' ')) text += is_space ? ' ' : c;
  }
  return text;
}

std::string goal_text(const StudyReport& study) {
  std::string text = joined(study.objectives, ", ", [](const Objective& one) {
    return one.metric + (one.maximize ? " (higher is better)" : " (lower is better)");
  });
  const Value& seeds = study.description["seeds"];
  if (seeds.is_number() && seeds.number() > 1) {
    text += ", " + name_of(study.description["aggregate"]) + " of " + short_number(seeds.number()) + " seeds";
  }
  return text;
}

std::string counts_text(const StudyReport& study) {
  std::string text = std::to_string(study.trials.size());
  const char* separator = ": ";
  for (const TrialState state :
       {TrialState::complete, TrialState::pruned, TrialState::failed, TrialState::running, TrialState::waiting}) {
    const std::int64_t count = study.count(state);
    if (count == 0) continue;
    text += separator + std::to_string(count) + " " + std::string(trial_state_name(state));
    separator = ", ";
  }
  return text;
}

std::string took_text(const StudyReport& study) {
  std::string text;
  const Value& seconds = study.stage.summary["seconds"];
  if (seconds.is_number()) text = duration_text(seconds.number());
  if (study.seconds) {
    const std::string shares = shares_text(study.stage.summary["speed"]);
    text += (text.empty() ? "" : ", ") + duration_text(*study.seconds) + " of training" +
            (shares.empty() ? "" : " (" + shares + ")");
  }
  return text;
}

std::string order_text(const StudyReport& study) {
  std::string what;
  const Value& by_order = study.description["by_order"];
  if (!by_order.is_list()) return "";
  // One process alone has one order.
  std::set<std::string_view> workers;
  for (const StoredTrial& trial : study.trials) workers.insert(trial.owner);
  workers.erase("");
  if (workers.size() < 2) return "";
  for (const Value& one : by_order.list()) what += (what.empty() ? "" : " and ") + one.string();
  if (what.empty()) return "";
  return line(
      "", "which trials are " + what + " depends on the order in which results came; not so with deterministic = true");
}

std::string numbered(const StoredTrial& trial) { return ", trial " + std::to_string(trial.number); }

// The value that holds for the winner: that of fresh seeds, or the one that was observed, with what luck may have
// added.
std::string best_text(const StudyReport& study) {
  const Value& best = study.stage.summary["best"];
  if (study.is_confirmed()) {
    const double interval = best["interval"].is_number() ? best["interval"].number() : std::nan("");
    return line("best", with_deviation(best["value"].number(), interval) + " on fresh seeds (95 % interval)" +
                            numbered(study.winner())) +
           line("", "the search has seen " + observed_text(best) +
                        (best["validations"].is_nil() ? ", which is the luck of a winner, too" : ""));
  }
  const double value = value_of(study.leader(0));
  std::string text = line("best", with_deviation(value, study.seed_deviations.front()) + numbered(study.leader(0)));
  const std::optional<double> optimism = study.optimism();
  if (!optimism) return text;
  std::string luck = "as the best of " + std::to_string(study.compared()) + " up to " + short_number(*optimism) +
                     " standard deviations of a seed too good";
  if (std::isnan(study.seed_deviation)) {
    luck += study.description["confirm"].is_nil() ? ": confirm = { top = 8, seeds = 5 } measures"
            : is_finished(study.stage.summary)    ? ": no training on a fresh seed has told"
                                                  : ": the trainings on fresh seeds will tell";
  } else {
    const double worse = value + (study.objectives.front().maximize ? -1 : 1) * *optimism * study.seed_deviation;
    luck += ": on fresh seeds expect " + short_number(value) + " to " + short_number(worse);
  }
  return text + line("", luck);
}

// The best trials on fresh seeds.
std::string confirmed_text(const StudyReport& study) {
  const Value& all = study.stage.summary["confirmed"];
  if (!all.is_list() || all.list().empty()) return "";
  std::vector<std::vector<std::string>> cells = {
      {"  trial", study.objectives.front().metric, "in the search", "seeds"}};
  for (const Value& one : all.list()) {
    const double interval = one["interval"].is_number() ? one["interval"].number() : std::nan("");
    const double failed = one["failed"].is_number() ? one["failed"].number() : 0;
    cells.push_back({"  " + short_number(one["trial"].number()),
                     one["value"].is_number() ? with_deviation(one["value"].number(), interval) : "none",
                     observed_text(one),
                     std::to_string(one["seed_values"].list().size()) +
                         (failed > 0 ? ", " + short_number(failed) + " failed" : "")});
  }
  const bool has_lengths = !all.list().front()["validations"].is_nil();
  return std::string("\nconfirmed on fresh seeds (± is the 95 % interval), ") +
         (has_lengths ? "the best first\n" : "in the order of all trainings together\n") +
         columns(cells, {true, true, true, false});
}

// The parameters that have a column: all, or the most important ones, in the space's order.
std::vector<std::size_t> columns_of(const StudyReport& study) {
  std::vector<std::size_t> places(study.space.size());
  std::iota(places.begin(), places.end(), std::size_t{0});
  if (places.size() <= most_parameters) return places;
  const std::vector<double>& shares = study.importance.front().shares;
  std::stable_sort(places.begin(), places.end(), [&](std::size_t a, std::size_t b) { return shares[a] > shares[b]; });
  places.resize(most_parameters);
  std::sort(places.begin(), places.end());
  return places;
}

std::string leaders_text(const StudyReport& study) {
  const std::vector<std::size_t> parameters = columns_of(study);
  std::vector<std::vector<std::string>> cells = {{"  rank", "trial"}};
  std::vector<bool> right = {true, true};
  if (study.has_front()) cells[0][0] = "      ";
  for (const Objective& one : study.objectives) {
    cells[0].push_back(one.metric);
    right.push_back(true);
  }
  for (const std::size_t i : parameters) {
    cells[0].push_back(study.space[i].name);
    right.push_back(study.space[i].kind != SpaceParameter::Kind::choice);
  }
  cells[0].emplace_back("ran");
  right.push_back(false);
  for (std::size_t rank = 0; rank < study.shown(); ++rank) {
    const StoredTrial& trial = study.leader(rank);
    std::vector<std::string> row = {study.has_front() ? "" : std::to_string(rank + 1), std::to_string(trial.number)};
    row.push_back(with_deviation(trial.values.front(), study.seed_deviations[rank]));
    for (std::size_t k = 1; k < trial.values.size(); ++k) row.push_back(short_number(trial.values[k]));
    for (const std::size_t i : parameters) row.push_back(label_of(study.space.param(i, trial.point[i])));
    const Value& duplicate = trial.info["duplicate_of"];
    row.push_back(duplicate.is_number()           ? "as trial " + short_number(duplicate.number())
                  : trial.info["ran"].is_string() ? trial.info["ran"].string()
                                                  : "");
    cells.push_back(std::move(row));
  }
  std::string text = "\n";
  if (study.has_front()) text += "Pareto front: no trial is better than these in all objectives\n";
  text += columns(cells, right);
  const std::size_t more = study.best.size() - study.shown();
  if (more > 0) text += "  and " + std::to_string(more) + " more: --csv\n";
  if (parameters.size() < study.space.size()) {
    text +=
        "  " + std::to_string(study.space.size() - parameters.size()) + " parameters that matter less are left out\n";
  }
  return text;
}

std::string paste_text(const StudyReport& study) {
  if (study.space.size() == 0) return "";
  const StoredTrial& best = study.winner();
  const Value::Map params = study.space.params(best.point);
  std::string table = lua_table(params), indented;
  for (const char c : table) indented += c == '\n' ? "\n  " : std::string(1, c);
  std::string text = "\ntrial " + std::to_string(best.number) + ", to paste\n  params = " + indented + "\n";
  if (const std::string words = space_flags(params, study.stage); !words.empty()) text += "  " + words + "\n";
  return text;
}

std::string percent(double share) { return std::to_string(std::lround(share * 100)) + " %"; }

std::string importance_text(const StudyReport& study) {
  std::string text;
  bool is_estimated = false;
  for (std::size_t k = 0; k < study.importance.size(); ++k) {
    const Importance& importance = study.importance[k];
    if (study.space.size() < 2) return text;
    text += "\nimportance for " + study.objectives[k].metric;
    const std::int64_t pruned = study.count(TrialState::pruned);
    if (importance.trials < fewest_for_importance || importance.best == importance.trials) {
      text += ": unknown, " + std::to_string(importance.trials) + " trials are too few to tell\n";
      continue;
    }
    is_estimated = true;
    text += " (estimate, PED-ANOVA: the best " + std::to_string(importance.best) + " of " +
            std::to_string(importance.trials) + " trials" + (pruned > 0 ? ", pruned ones count as worse" : "") + ")\n";
    std::vector<std::size_t> order(study.space.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return importance.shares[a] > importance.shares[b]; });
    std::vector<std::vector<std::string>> cells;
    double rest = 1;
    for (const std::size_t i : order) {
      if (cells.size() == most_importances) break;
      const double share = importance.shares[i];
      std::string bar;
      for (long n = std::lround(share * 40); n > 0; --n) bar += "█";
      cells.push_back({"  " + study.space[i].name, percent(share), bar});
      rest -= share;
    }
    if (order.size() > cells.size()) {
      cells.push_back({"  " + std::to_string(order.size() - cells.size()) + " others", percent(rest), ""});
    }
    text += columns(cells, {false, true, false});
  }
  // The forest of fANOVA takes longer than all of this text.
  if (is_estimated) text += "  among the best trials; over the whole space (fANOVA): --html or --json\n";
  return text;
}

std::string seeds_text(const StudyReport& study) {
  if (std::isnan(study.seed_deviation)) return "";
  std::string text = "\nseeds: one of them differs by " + short_number(study.seed_deviation) +
                     " from its trial's mean (standard deviation, median of the trials above)\n";
  // The interval from fresh seeds stands further above, beside the winner.
  if (study.has_front() || study.is_confirmed()) return text;
  const Spread best = spread(study.winner_values());
  if (best.count < 2) return text;
  const double low = best.mean - best.interval, high = best.mean + best.interval;
  text += "  trial " + std::to_string(study.leader(0).number) + ": mean " + short_number(best.mean) +
          ", 95 % interval " + short_number(low) + " … " + short_number(high) + " from " + std::to_string(best.count) +
          " seeds (Student's t)\n";
  const double next = study.best.size() > 1 ? value_of(study.leader(1)) : std::nan("");
  if (next >= low && next <= high) {
    text += "  trial " + std::to_string(study.leader(1).number) + " with " + short_number(next) +
            " lies within it: more seeds would tell them apart\n";
  }
  if (study.compared() < 2) return text;
  return text + "  these seeds have made trial " + std::to_string(study.leader(0).number) + " the best of " +
         std::to_string(study.compared()) + " configurations: fresh ones will probably have a worse mean\n";
}

std::string curves_text(const StudyReport& study) {
  if (study.curves.empty()) return "";
  std::vector<std::vector<std::string>> cells;
  for (const Curve& curve : study.curves) {
    cells.push_back({"  trial " + std::to_string(curve.trial), short_number(curve.values.front()),
                     sparkline(curve.values, 40), short_number(curve.values.back())});
  }
  const char* by = study.stage.kind == "study" ? " by step\n" : " by validation\n";
  return "\n" + study.objectives.front().metric + by + columns(cells, {false, true, false, true});
}

std::string failures_text(const StudyReport& study) {
  if (study.failed.empty()) return "";
  std::vector<std::vector<std::string>> cells;
  for (const std::size_t place : study.failed) {
    const StoredTrial& trial = study.trials[place];
    cells.push_back({"  trial " + std::to_string(trial.number), name_of(trial.info["reason"])});
  }
  const auto more = study.count(TrialState::failed) - static_cast<std::int64_t>(cells.size());
  std::string text = "\nfailed\n" + columns(cells, {false, false});
  return more > 0 ? text + "  and " + std::to_string(more) + " more: --csv\n" : text;
}

}  // namespace

std::string study_text(const StudyReport& study) {
  const Value& summary = study.stage.summary;
  const std::string status = study.stage.status();
  std::string text = study.stage.name + " (" + study.stage.kind + ")" + (status.empty() ? "" : ": " + status);
  if (!study.stage.is_running && summary["reason"].is_string() && !summary["reason"].string().empty()) {
    text += ": " + summary["reason"].string();
  }
  text += "\n" + warnings_text(summary["warnings"]);
  if (study.description.is_nil()) {
    // An ensemble of a sweep's trials has none of its own.
    const std::string members = ensemble_text(study);
    return text + (members.empty() ? "  no trial has begun\n" : members);
  }
  text += line("goal", goal_text(study));
  if (!study.best.empty() && !study.has_front()) text += best_text(study);
  text += line("trials", counts_text(study)) + failure_text(summary, study.stage.folder);
  if (study.stage.kind != "ensemble") {
    std::string search = on_one_line(name_of(study.description["sampler"]));
    if (study.description["scheduler"].is_string())
      search += ", " + on_one_line(study.description["scheduler"].string());
    if (study.description["pruner"].is_string()) search += ", " + on_one_line(study.description["pruner"].string());
    text += line("search", search) + order_text(study);
  }
  if (const std::string took = took_text(study); !took.empty()) text += line("took", took);
  text += health_text(summary["health"]) + efficiency_text(summary["efficiency"]);
  text += speed_notes_text(summary["speed"]);
  text += line("in", shown_line(study.stage.folder));
  if (study.stage.kind == "ensemble") text += ensemble_text(study);
  if (!study.best.empty()) {
    text += confirmed_text(study) + leaders_text(study) + paste_text(study) + importance_text(study) +
            seeds_text(study) + curves_text(study);
  }
  return text + failures_text(study);
}

}  // namespace trainlab::report

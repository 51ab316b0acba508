#include "run/budget.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "core/clock.h"
#include "core/duration.h"
#include "core/error.h"
#include "core/files.h"
#include "core/time_in_seconds.h"
#include "run/folder.h"
#include "run/shell_word.h"

namespace trainlab {

namespace {

constexpr double reserved_share = 0.03;
// The end of a process: summaries are written and helpers are ended. On a machine that is busy this takes longer, and
// so did the start of the process.
constexpr double least_reserve = 0.4, reserved_starts = 0.4;

std::optional<Duration> given(const Value& options, const char* name) {
  if (options[name].is_nil()) return std::nullopt;
  return parse_duration(options[name].string());
}

std::string text_of(double seconds) {
  constexpr double digits = 100;
  return to_text(Duration{std::round(digits * seconds) / digits, Unit::seconds});
}

std::string money_text(const PaidTime& paid) { return number_text(paid.amount) + " " + paid.currency; }

struct Stored {
  double used = 0, from = 0, until = 0;
  Moment written = {};
  std::string stage = {}, holder = {};
};

std::optional<Stored> read_stored(const std::filesystem::path& file) {
  const Value value = read_json(file);
  if (value.is_nil()) return std::nullopt;
  const auto number = [&](const char* name) {
    if (!value.is_map() || !value[name].is_number() || value[name].number() < 0) {
      throw damaged_file(file, std::string("it has no ") + name);
    }
    return value[name].number();
  };
  Stored stored{.used = number("used"), .from = number("from"), .until = number("until")};
  stored.written.wall = number("wall");
  if (value["boot"].is_string())  // not of an earlier version
    stored.written = {.wall = stored.written.wall, .steady = number("steady"), .boot = value["boot"].string()};
  if (!value["stage"].is_string()) throw damaged_file(file, "it has no stage");
  stored.stage = value["stage"].string();
  if (value["holder"].is_string()) stored.holder = value["holder"].string();  // not of an earlier version
  return stored;
}

}  // namespace

std::filesystem::path budget_path(const std::filesystem::path& run) { return run / "budget.json"; }

BudgetTerms budget_terms(const Value& options, std::optional<double> within, const std::optional<PaidTime>& paid,
                         double start) {
  if (within && *within <= 0) throw usage_error("--within: expected more than 0 s, found " + text_of(*within));
  BudgetTerms terms{.seconds = within.value_or(0)};
  if (const std::optional<Duration> time = given(options, "time")) {
    try {
      const double seconds = time_in_seconds(*time);
      if (!within) terms.seconds = seconds;
    } catch (Error& error) {
      throw error.in("time");
    }
  }
  if (options["flops"].is_number()) terms.flops = options["flops"].number();
  if (paid) {
    terms.paid = paid;
    terms.seconds = terms.bounds_time() ? std::min(terms.seconds, paid->seconds) : paid->seconds;
  }
  if (!terms.bounds_time()) {
    if (!options["reserve"].is_nil() && terms.flops > 0)
      throw recipe_error("expected a time or money of which this is a part, found neither").in("reserve");
    if (options.is_nil() || terms.flops > 0) return terms;
    throw recipe_error("expected a time, money or flops, found none of them")
        .hint("lab.budget { time = \"18 h\" }, or --within \"18 h\"");
  }
  terms.reserve = std::max({reserved_share * terms.seconds, least_reserve, reserved_starts * start});
  if (const std::optional<Duration> reserve = given(options, "reserve")) {
    if (reserve->unit != Unit::seconds && reserve->unit != Unit::percent) {
      throw recipe_error("expected a time or a percentage, found \"" + to_text(*reserve) + "\"").in("reserve");
    }
    terms.reserve = reserve->unit == Unit::percent ? reserve->amount / 100 * terms.seconds : reserve->amount;
  }
  if (terms.usable() <= 0) {
    const std::string what =
        "expected a budget of more than its reserve of " + text_of(terms.reserve) + ", found " + text_of(terms.seconds);
    if (!within) throw recipe_error(what).hint("more time or money, or a smaller reserve");
    throw usage_error(what).hint("a longer --within, or a smaller reserve in lab.budget");
  }
  return terms;
}

double end_of_stage(const BudgetTerms& terms, double used, double share) {
  return used + share * std::max(terms.usable() - used, 0.0);
}

Budget::Budget(BudgetTerms terms, std::filesystem::path file, double begun, std::function<double()> clock,
               std::string holder)
    : terms_(std::move(terms)),
      file_(std::move(file)),
      clock_(std::move(clock)),
      holder_(std::move(holder)),
      begun_(begun) {
  const std::optional<Stored> stored = file_.empty() ? std::nullopt : read_stored(file_);
  if (!stored) return;
  before_ = stored->used;
  stage_ = stored->stage;
  from_ = stored->from;
}

void Budget::refuse_by_flops(const std::string& what, double flops) const {
  throw usage_error("the run has used " + number_text(flops) + " FLOPs of its budget of " + number_text(terms_.flops) +
                    ": nothing is left for " + what)
      .hint("more flops in lab.budget");
}

void Budget::check_left(const std::string& what, double flops) const {
  const std::filesystem::path folder = file_.parent_path();
  if (terms_.flops > 0 && flops >= terms_.flops) refuse_by_flops(what, flops);
  const double now = used();
  if (!terms_.bounds_time() || now < terms_.usable()) return;
  const bool is_by_money = terms_.paid && terms_.seconds == terms_.paid->seconds;
  const std::string paid = is_by_money ? ", which " + money_text(*terms_.paid) + " pays for" : "";
  const std::string longer = is_by_money ? "more money in lab.budget" : "a longer --within";
  throw usage_error("the run has used " + text_of(now) + " of its budget of " + text_of(terms_.seconds) + paid +
                    ", of which " + text_of(terms_.reserve) + " are reserve: nothing is left for " + what)
      .hint(folder.empty() || is_by_money ? longer
                                          : "a longer budget: trainlab resume " + shell_word(folder) +
                                                " --within TIME; `trainlab extend` takes --within too");
}

void Budget::begin_stage(const std::string& name, double share, bool extends) {
  if (name != stage_ || extends) check_left("stage " + name);
  {
    const std::lock_guard lock(*mutex_);
    if (name != stage_) {
      stage_ = name;
      from_ = used();
    }
    until_ = terms_.bounds_time() ? end_of_stage(terms_, from_, share) : from_;
  }
  save();
}

void Budget::save() {
  const std::lock_guard lock(*mutex_);
  const Moment now = present_moment();
  const Value value = Value::Map{{"used", used()},   {"stage", stage_},      {"from", from_},    {"until", until_},
                                 {"wall", now.wall}, {"steady", now.steady}, {"boot", now.boot}, {"holder", holder_}};
  write_atomic(file_, to_json(value) + "\n");
}

Value Budget::summary(double flops) const {
  Value::Map summary{{"used", used()}};
  if (terms_.bounds_time()) {
    summary["seconds"] = terms_.seconds;
    summary["reserve"] = terms_.reserve;
  }
  if (terms_.flops > 0) summary["flops"] = Value::Map{{"limit", terms_.flops}, {"used", flops}};
  if (terms_.paid) {
    summary["money"] = Value::Map{{"limit", terms_.paid->amount},
                                  {"used", terms_.paid->cost_of_seconds(used())},
                                  {"seconds", terms_.paid->seconds},
                                  {"currency", terms_.paid->currency},
                                  {"as_of", terms_.paid->as_of}};
  }
  return summary;
}

void BudgetPause::check_more(double within) const {
  if (within > seconds) return;
  throw usage_error("--within: expected more than the " + text_of(seconds) + " of the run, found " + text_of(within))
      .hint("the time used so far counts");
}

std::string BudgetPause::text(const std::filesystem::path& run) const {
  return "the budget of " + text_of(seconds) + " is used; to go on with stage " + stage +
         " in a larger one: trainlab resume " + shell_word(run) + " --within TIME";
}

std::optional<BudgetPause> budget_pause(const std::filesystem::path& run) {
  const Value summary = read_summary(run);
  const bool is_by_budget = summary["status"] == Value("stopped") && summary["reason"] == Value(budget_is_used);
  const Value &seconds = summary["budget"]["seconds"], &name = summary["name"];
  if (!is_by_budget || summary["kind"] == Value("task") || !seconds.is_number() || !name.is_string())
    return std::nullopt;
  // More time than the money of the recipe pays for is no budget of this run.
  if (const Value& paid = summary["budget"]["money"]["seconds"]; paid.is_number() && paid.number() <= seconds.number())
    return std::nullopt;
  const std::vector<StageRecord> stages = read_stages(run);
  if (stages.empty() || stages.back().name != name.string()) return std::nullopt;
  return BudgetPause{.stage = name.string(), .seconds = seconds.number()};
}

std::optional<StageTime> time_of_stage(const std::string& stage, const std::filesystem::path& file, const Moment& now,
                                       const std::string& holder) {
  const std::optional<Stored> stored = read_stored(file);
  if (!stored || stored->stage != stage || stored->holder != holder) return std::nullopt;
  return StageTime{.left = stored->until - stored->used - std::max(seconds_between(stored->written, now), 0.0),
                   .in_all = stored->until - stored->from};
}

}  // namespace trainlab

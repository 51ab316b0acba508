// `trainlab compare A.lua B.lua`: pairs of runs with the same seed, one run after the other so that neither disturbs
// the other's times, and in alternating order so that a machine that slows down favours neither.
//
// The comparison's folder holds the runs a-001, b-001, a-002, … and comparison.json, which has the question and the
// pairs that have ended. A comparison that was interrupted goes on with the same command.
#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>

#include "cli/ending.h"
#include "cli/requests.h"
#include "comparing/question.h"
#include "comparing/target.h"
#include "comparing/training_runs.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/files.h"
#include "core/number_or_nil.h"
#include "report/texts.h"
#include "run/folder.h"
#include "trainings/facts.h"
#include "trainings/seeded_runs.h"

namespace trainlab::cli {

namespace fs = std::filesystem;
using report::duration_text, report::fine_duration_text, report::shown_path;

namespace {

struct Side {
  std::string name;  // "a"
  fs::path recipe;
  std::vector<GivenParameter> parameters;

  std::string shown() const {
    std::string text = shown_path(recipe);
    for (const GivenParameter& one : parameters) text += " " + one.name + "=" + one.text;
    return text;
  }
};

Side side_of(const Arguments& given, const std::string& name, const std::string& recipe) {
  Side side{.name = name, .recipe = recipe, .parameters = {}};
  if (!given.has(name)) return side;
  for (const Value& text : given.flags[name].list()) {
    const std::size_t equals = text.string().find('=');
    side.parameters.push_back(
        {text.string().substr(0, equals), text.string().substr(equals + 1), "--" + name + " " + text.string()});
  }
  return side;
}

Request request_for(const Arguments& given, const Side& side) {
  Arguments plain = given;
  plain.words = {side.recipe.string()};
  plain.parameters = side.parameters;
  for (const Flag& flag : given.command->flags) plain.flags.map().erase(flag.name);
  return request_for_recipe(plain);
}

// The facts in which two comparisons must agree to be the same comparison. The recipe's own modules are compared when a
// run has ended.
Value asked_value(const Arguments& given, const Question& question, const Side& a, const Side& b) {
  return Value::Map{{"a", asked_of(absolute_path(a.recipe), a.parameters)},
                    {"b", asked_of(absolute_path(b.recipe), b.parameters)},
                    {"target", target_text(question.target)},
                    {"not_worse", question.margin ? Value(*question.margin) : Value()},
                    {"seeds", question.seeds ? Value(*question.seeds) : Value("auto")},
                    {"device", given.flags["device"]},
                    {"threads", given.flags["threads"]}};
}

Value to_value(const compare::Pair& pair) {
  return Value::Map{{"seed", pair.seed},
                    {"a", pair.a.to_value()},
                    {"b", pair.b.to_value()},
                    {"a_at_equal_time", number_or_nil(pair.a_at_equal_time)},
                    {"b_at_equal_time", number_or_nil(pair.b_at_equal_time)}};
}

compare::Pair pair_from(const Value& value) {
  return {.seed = value["seed"].integer(),
          .a = compare::Training::from_value(value["a"]),
          .b = compare::Training::from_value(value["b"]),
          .a_at_equal_time = number_or_none(value["a_at_equal_time"]),
          .b_at_equal_time = number_or_none(value["b_at_equal_time"])};
}

// Record: the file comparison.json of a folder.
class Record {
 public:
  Record(fs::path folder, Value asked) : folder_(std::move(folder)), asked_(std::move(asked)) {}

  // Reads the file. Returns false where the folder holds no comparison. Raises Error{usage} for a different comparison.
  bool read() {
    const Value stored = read_json(path());
    if (stored.is_nil()) return false;
    try {
      if (stored["format"].integer() != 1) throw usage_error(path().string() + " is of another version of trainlab");
      for (const auto& [name, now] : asked_.map()) {
        const Value& before = stored["asked"][name];
        if (before == now) continue;
        throw usage_error("the comparison in " + folder_.string() + " is another one: " + name + " was " +
                          text(before) + ", is " + text(now))
            .hint("choose another --out");
      }
      for (const Value& pair : stored["pairs"].list()) pairs.push_back(pair_from(pair));
      has_ended = stored["has_ended"].boolean();
    } catch (const std::logic_error&) {
      throw damaged_file(path(), "it is no comparison");
    }
    return true;
  }

  // Writes the whole file anew, atomically, since there are only a few pairs.
  void write() const {
    Value::List list;
    for (const compare::Pair& pair : pairs) list.push_back(to_value(pair));
    const Value value =
        Value::Map{{"format", 1}, {"asked", asked_}, {"pairs", std::move(list)}, {"has_ended", has_ended}};
    write_atomic(path(), to_json(value, 1) + "\n");
  }

  const fs::path& folder() const { return folder_; }

  std::vector<compare::Pair> pairs;
  bool has_ended = false;  // if so, the same command begins a new comparison

 private:
  fs::path path() const { return folder_ / "comparison.json"; }
  static std::string text(const Value& value) {
    return value.is_nil() ? "not given" : value.is_string() ? value.string() : to_json(value);
  }

  fs::path folder_;
  Value asked_;
};

// The record of the comparison in --out; else of the last comparison of this name, if its question is the same and it
// has not ended; else of a new comparison.
Record opened(const Arguments& given, const Value& asked, const std::string& name) {
  if (given.has("out")) {
    Record record(absolute_path(given.flags["out"].string()), asked);
    if (record.read()) return record;
    check_outside_runs(record.folder());
    std::error_code ignored;
    if (fs::exists(record.folder(), ignored) && !fs::is_empty(record.folder(), ignored)) {
      throw usage_error("the folder " + record.folder().string() + " is not empty and holds no comparison")
          .hint("choose another --out");
    }
    make_directories(record.folder());
    record.write();
    return record;
  }
  const fs::path parent = fs::current_path() / "runs" / "compare" / name;
  const std::vector<fs::path> before = numbered(parent);
  if (!before.empty()) {
    Record last(before.back(), asked);
    try {
      if (last.read() && !last.has_ended) return last;
    } catch (const Error&) {
      // The last comparison of these names is a different comparison.
    }
  }
  Record record(made_folder(parent), asked);
  record.write();
  return record;
}

class Trainer {
 public:
  // `begun`: when the command began, by steady_seconds().
  Trainer(const Arguments& given, const Question& question, const Side& a, const Side& b, Record& record, double begun)
      : given_(given), question_(question), sides_{&a, &b}, record_(record) {
    if (question.within) until_ = begun + *question.within;
  }

  // Trains pairs until the question is answered, or the time is used up. A training that is under way then is stopped
  // after a checkpoint, so that the same command goes on with it. Returns false when a signal or an error has ended a
  // training; `outcome` then has the reason.
  bool train() {
    const compare::Looks looks = question_.looks();
    // A pair takes at least as long as the trainings of the longest pair so far, whichever command trained them.
    double longest = 0;
    for (const compare::Pair& pair : record_.pairs) longest = std::max(longest, pair.a.seconds + pair.b.seconds);
    while (!record_.has_ended) {
      const double now = steady_seconds();
      if (until_ && now + longest > *until_) {
        tell_no_pair(longest);
        return true;
      }
      if (!train_pair(static_cast<std::int64_t>(record_.pairs.size()) + 1)) {
        if (!outcome.is_out_of_time || outcome.code != 128 + SIGTERM) return false;
        tell_no_time();
        return true;
      }
      const compare::Pair& pair = record_.pairs.back();
      longest = std::max({longest, steady_seconds() - now, pair.a.seconds + pair.b.seconds});
      const int count = static_cast<int>(record_.pairs.size());
      tell_pair();
      // A target that tells nothing is no result of a test, so that it may be seen between two looks. It is seen before
      // the pair is recorded: the same command reads the pair again, and says the same.
      constexpr int enough = 3;
      const bool is_look = looks.is_look(count);
      if (count == enough || is_look) check_target(record_.pairs, question_.target);
      if (is_look) {
        record_.has_ended =
            compare::judge(record_.pairs, question_.target, question_.margin, looks).is_clear || count >= looks.most();
      }
      record_.write();
    }
    return true;
  }

  Outcome outcome;

 private:
  fs::path folder_of(const Side& side, std::int64_t seed) const {
    std::array<char, 32> name{};
    std::snprintf(name.data(), name.size(), "%s-%03d", side.name.c_str(), static_cast<int>(seed));
    return record_.folder() / name.data();
  }

  void tell_no_time() const { say(given_, "the time of --within is used up; the same command goes on"); }

  // `longest`: the seconds of the longest pair so far; 0 where none has ended.
  void tell_no_pair(double longest) const {
    if (has_trained_) return tell_no_time();
    const std::string why = longest > 0 ? "one takes about " + fine_duration_text(longest)
                                        : std::string("the time of --within was over when the recipes were checked");
    say(given_, "no pair begins, because " + why + ": the same command with a longer --within goes on");
  }

  bool train_pair(std::int64_t seed) {
    has_trained_ = true;
    const bool a_first = seed % 2 == 1;
    if (!train_side(*sides_[a_first ? 0 : 1], seed) || !train_side(*sides_[a_first ? 1 : 0], seed)) return false;
    record_.pairs.push_back(
        read_pair(seed, folder_of(*sides_[0], seed), folder_of(*sides_[1], seed), question_.target));
    return true;
  }

  bool train_side(const Side& side, std::int64_t seed) {
    const fs::path folder = folder_of(side, seed);
    if (std::optional<Outcome> without_result = train_with_seed(request_for(given_, side), folder, seed, until_)) {
      outcome = *std::move(without_result);
      return false;
    }
    check_same_sources(side.recipe, folder_of(side, 1), folder);
    return true;
  }

  void tell_pair() const {
    const compare::Pair& pair = record_.pairs.back();
    const auto time = [](const compare::Training& one) {
      return one.has_failed ? "failed" : one.arrival ? duration_text(*one.arrival) : std::string("never");
    };
    say(given_, "seed " + std::to_string(pair.seed) + " of at most " + std::to_string(question_.looks().most()) +
                    ": to " + target_text(question_.target) + " A " + time(pair.a) + ", B " + time(pair.b));
  }

  const Arguments& given_;
  const Question& question_;
  std::array<const Side*, 2> sides_;
  Record& record_;
  std::optional<double> until_;  // by steady_seconds()
  bool has_trained_ = false;     // whether this command has begun a pair
};

}  // namespace

int compare_recipes(const Arguments& given, Question question) {
  const double begun = steady_seconds();
  const Side a = side_of(given, "a", given.words.front());
  const Side b = side_of(given, "b", given.words.back());
  const Answer of_a = ask_about(request_for(given, a), question.target.metric);
  if (of_a.facts.is_nil()) return tell(of_a.outcome, given.has("json"), "comparison");
  const Answer of_b = ask_about(request_for(given, b), question.target.metric);
  if (of_b.facts.is_nil()) return tell(of_b.outcome, given.has("json"), "comparison");
  settle_target(given, question, of_a.facts, of_b.facts);

  const std::string stem = a.recipe.stem().string();
  const std::string name = a.recipe == b.recipe ? stem : stem + "-" + b.recipe.stem().string();
  Record record = opened(given, asked_value(given, question, a, b), name);
  if (!record.has_ended && !record.pairs.empty()) {
    say(given, "continues the comparison in " + shown_path(record.folder()) + ", which has " +
                   std::to_string(record.pairs.size()) + " pairs");
  }
  Trainer trainer(given, question, a, b, record, begun);
  const bool is_whole = trainer.train();
  const bool is_interrupted = trainer.outcome.code == 130 || trainer.outcome.code == 143;
  if (!is_whole && !is_interrupted) return tell(trainer.outcome, given.has("json"), "comparison");

  const Comparison comparison{.pairs = record.pairs,
                              .looks = question.looks(),
                              .folder = record.folder(),
                              .a = a.shown(),
                              .b = b.shown(),
                              .status = record.has_ended ? Status::done
                                        : is_whole       ? Status::stopped
                                                         : Status::interrupted};
  const int code = is_whole || given.has("json") ? tell(given, comparison, question) : 0;
  if (is_whole) return code;
  say(given, "to continue: the same command again");
  return trainer.outcome.code;
}

}  // namespace trainlab::cli

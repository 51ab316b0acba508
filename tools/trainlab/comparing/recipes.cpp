// `trainlab compare A.lua B.lua`: pairs of runs with the same seed, one run after the other so that neither disturbs
// the other's times, and in alternating order so that a machine that slows down favours neither.
//
// The comparison's folder holds the runs and the record of the comparison (comparing/record.h). A comparison that was
// interrupted goes on with the same command.
#include <algorithm>
#include <array>
#include <utility>

#include "cli/ending.h"
#include "cli/requests.h"
#include "comparing/question.h"
#include "comparing/record.h"
#include "comparing/target.h"
#include "comparing/training_runs.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/files.h"
#include "core/words.h"
#include "report/texts.h"
#include "run/folder.h"
#include "run/manifest.h"
#include "run/shell_word.h"
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
// run has ended. `data`: of both sides.
Value asked_value(const Arguments& given, const Question& question, const Side& a, const Side& b, Value data) {
  return Value::Map{{"a", asked_of(absolute_path(a.recipe), a.parameters)},
                    {"b", asked_of(absolute_path(b.recipe), b.parameters)},
                    {"target", target_text(question.target)},
                    {"not_worse", question.margin ? Value(*question.margin) : Value()},
                    {"seeds", question.seeds ? Value(*question.seeds) : Value("auto")},
                    {"device", given.flags["device"]},
                    {"threads", given.flags["threads"]},
                    {"memory", given.flags["memory"]},
                    {"data", std::move(data)}};
}

// The record in a folder of the user's choice; nullopt where there is none and a new comparison may begin there.
std::optional<ComparisonRecord> found_in(const fs::path& folder, const Value& asked) {
  if (const Value stored = stored_comparison(folder); !stored.is_nil()) {
    std::optional<std::string> difference = difference_from(stored, asked);
    if (!difference) difference = change_of_data(stored, asked);
    if (difference) {
      throw usage_error("the comparison in " + folder.string() + " is another one: " + *difference)
          .hint("choose another --out");
    }
    return record_from(folder, stored);
  }
  check_outside_runs(folder);
  std::error_code ignored;
  if (fs::exists(folder, ignored) && !fs::is_empty(folder, ignored)) {
    throw usage_error("the folder " + folder.string() + " is not empty and holds no comparison")
        .hint("choose another --out");
  }
  return std::nullopt;
}

fs::path out_of(const Arguments& given) { return absolute_path(given.flags["out"].string()); }
// The comparisons of this name, without --out.
fs::path parent_of(const std::string& name) { return fs::current_path() / "runs" / "compare" / name; }

// The record of the comparison with which the command goes on: that in --out, else the last one of this name that was
// asked the same, if it has not ended; nullopt where a new comparison begins.
std::optional<ComparisonRecord> found(const Arguments& given, const std::string& name, const Value& asked) {
  if (given.has("out")) return found_in(out_of(given), asked);
  Value stored;
  const std::optional<EarlierCommand> before =
      same_command(given, parent_of(name), [&](const fs::path& folder) -> std::optional<EarlierCommand> {
        stored = stored_comparison(folder);
        if (stored.is_nil() || difference_from(stored, asked)) return std::nullopt;
        return EarlierCommand{.folder = folder,
                              .has_ended = stored["has_ended"] == Value(true),
                              .change_of_data = change_of_data(stored, asked)};
      });
  if (!before) return std::nullopt;
  ComparisonRecord last = record_from(before->folder, stored);
  if (!last.has_ended) return last;
  const std::string shown = shown_path(before->folder);
  // The record of an earlier version cannot be shown by itself.
  const std::string report = last.target ? "; trainlab report " + shell_word(shown) + " shows its result" : "";
  say(given, "this comparison has ended, in " + shown + ", and begins anew" + report);
  return std::nullopt;
}

// Makes the folder of a new comparison.
fs::path begun_folder(const Arguments& given, const std::string& name) {
  if (!given.has("out")) return made_folder(parent_of(name));
  make_directories(out_of(given));
  return out_of(given);
}

class Trainer {
 public:
  // `begun`: when the command began, by steady_seconds().
  Trainer(const Arguments& given, const Question& question, const Side& a, const Side& b, ComparisonRecord& record,
          double begun)
      : given_(given), question_(question), sides_{&a, &b}, record_(record) {
    if (question.within) until_ = begun + *question.within;
  }

  // Trains pairs until the question is answered, or the time is used up. A training that is under way then is stopped
  // after a checkpoint, so that the same command goes on with it. Returns false when a signal or an error has ended a
  // training; `outcome` then has the reason.
  bool train() {
    const compare::Looks looks = question_.looks();
    if (const std::optional<Error> why = useless()) throw Error(*why);
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
        if (!has_run_out_of_time(outcome)) return false;
        tell_no_time();
        return true;
      }
      const compare::Pair& pair = record_.pairs.back();
      longest = std::max({longest, steady_seconds() - now, pair.a.seconds + pair.b.seconds});
      const int count = static_cast<int>(record_.pairs.size());
      tell_pair();
      const std::optional<Error> why = useless();
      if (!why && looks.is_look(count)) {
        const compare::Judgement judged = compare::judge(record_.pairs, question_.target, question_.margin, looks);
        record_.has_ended = judged.is_clear || count >= looks.most();
        if (!record_.has_ended) tell_look(judged);
      }
      record_.write();
      if (why) throw Error(*why);
    }
    return true;
  }

  Outcome outcome;

 private:
  fs::path folder_of(const Side& side, std::int64_t seed) const {
    return folder_of_run(record_.folder, side.name, seed);
  }

  void tell_no_time() const { say(given_, "the time of --within is used up; the same command goes on"); }

  // Why the comparison ends with these pairs and without a verdict.
  std::optional<Error> useless() const {
    const bool may_end = !record_.has_ended && ends_if_useless(record_.pairs.size(), question_.looks());
    return may_end ? useless_target(record_.pairs, question_.target) : std::nullopt;
  }

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

  // The answers of lab.latest in the first trainings: all pairs begin alike, whatever run ends meanwhile.
  Value first_latest() const {
    Value::Map latest;
    for (const Side* side : sides_) {
      std::error_code ignored;
      const fs::path first = folder_of(*side, 1);
      if (fs::exists(manifest_path(first), ignored)) latest.merge(read_manifest(first).latest);
    }
    return latest;
  }

  bool train_side(const Side& side, std::int64_t seed) {
    const fs::path folder = folder_of(side, seed);
    Request request = request_for(given_, side);
    request.options.set("latest_runs", first_latest());
    if (std::optional<Outcome> without_result = train_with_seed(std::move(request), folder, seed, until_)) {
      outcome = *std::move(without_result);
      return false;
    }
    check_same_sources(side.recipe, folder_of(side, 1), folder);
    return true;
  }

  // Tells the result of a look that is not the last one.
  void tell_look(const compare::Judgement& judged) const {
    const compare::Looks looks = question_.looks();
    say(given_, "look " + std::to_string(looks.until(judged.pairs)) + " of " + std::to_string(looks.count()) + ": " +
                    headline(judged, question_, looks));
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
  ComparisonRecord& record_;
  std::optional<double> until_;  // by steady_seconds()
  bool has_trained_ = false;     // whether this command has begun a pair
};

}  // namespace

int compare_recipes(const Arguments& given, Question question) {
  const double begun = steady_seconds();
  const Side a = side_of(given, "a", given.words.front());
  const Side b = side_of(given, "b", given.words.back());
  const EngineAnswer of_a = ask_about(request_for(given, a), question.target.metric);
  if (of_a.facts.is_nil()) return tell(of_a.outcome, given.has("json"), "comparison");
  const EngineAnswer of_b = ask_about(request_for(given, b), question.target.metric);
  if (of_b.facts.is_nil()) return tell(of_b.outcome, given.has("json"), "comparison");
  settle_target(given, question, of_a.facts, of_b.facts);

  const std::string stem = a.recipe.stem().string();
  const std::string name = a.recipe == b.recipe ? stem : stem + "-" + b.recipe.stem().string();
  const std::string& metric = question.target.metric;
  Value data = Value::Map{{"a", data_of(of_a.facts, metric)}, {"b", data_of(of_b.facts, metric)}};
  const Value asked = asked_value(given, question, a, b, std::move(data));
  const std::optional<ComparisonRecord> before = found(given, name, asked);
  ComparisonRecord record = before.value_or(ComparisonRecord{.asked = asked, .target = {}, .shared_samples = {}});
  if (!record.target) {  // a new one, or one of an earlier version
    const EngineAnswer other = ask_about_other_seed(request_for(given, a), question.target.metric);
    if (other.facts.is_nil()) return tell(other.outcome, given.has("json"), "comparison");
    record.target = question.target;
    record.shared_samples = shared_samples(of_a.facts, other.facts, question.target.metric);
    if (!before) record.folder = begun_folder(given, name);
    record.write();
  } else if (!record.has_ended && record.asked["data"].is_nil()) {  // one of an earlier version
    record.asked = asked;
    record.write();
  }
  if (!record.has_ended && !record.pairs.empty()) {
    say(given, "continues the comparison in " + shown_path(record.folder) + ", which has " +
                   counted(static_cast<int>(record.pairs.size()), "pair"));
  }
  Trainer trainer(given, question, a, b, record, begun);
  const bool is_whole = trainer.train();
  const bool is_interrupted = trainer.outcome.code == 130 || trainer.outcome.code == 143;
  if (!is_whole && !is_interrupted) return tell(trainer.outcome, given.has("json"), "comparison");

  const Status status = record.has_ended ? Status::done : is_whole ? Status::stopped : Status::interrupted;
  const Comparison comparison = comparison_of(record, question, status);
  const int code = is_whole || given.has("json") ? tell(given, comparison, question) : 0;
  if (is_whole) return code;
  say(given, "to continue: the same command again");
  return trainer.outcome.code;
}

}  // namespace trainlab::cli

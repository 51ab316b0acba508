// `trainlab compare RUN_A RUN_B`: compares runs that have ended, paired by seed. The number of pairs was not planned,
// so the limits that hold for any number are used.
#include <algorithm>

#include "cli/ending.h"
#include "cli/requests.h"
#include "comparing/question.h"
#include "comparing/target.h"
#include "comparing/training_runs.h"
#include "core/error.h"
#include "report/texts.h"
#include "run/folder.h"
#include "run/manifest.h"
#include "trainings/ended_trainings.h"
#include "trainings/facts.h"

namespace trainlab::cli {

namespace fs = std::filesystem;
using report::shown_path;

namespace {

constexpr std::size_t fewest_pairs = 3;  // that can be compared

// The direction of the metric by which an ensemble is compared, which is the metric that it names.
bool minimizes(const EndedTrainings& trainings, const std::string& metric) {
  const Value summary = read_summary(find_stage(trainings.run, std::nullopt).folder);
  if (summary["metric"] != Value(metric)) {
    throw usage_error("the ensemble in " + shown_path(trainings.run) + " is compared by the metric that it names, " +
                      summary["metric"].brief() + ", found " + metric);
  }
  return summary["goal"] == Value("min");
}

// About the run of the training with this seed: stages that ran before the fit have the results of this run.
Request request_about(const Arguments& given, const EndedTrainings& trainings, std::int64_t seed) {
  Arguments plain = given;
  plain.flags.map().erase("target");
  plain.flags.map().erase("not-worse");
  const fs::path run = find_run(trainings.by_seed.at(seed));
  Request request = request_for_run(plain, run, read_manifest(run));
  request.options.set("ended", run.string());
  return request;
}

EngineAnswer answer_about(const Arguments& given, const EndedTrainings& trainings, std::int64_t seed,
                          const std::string& metric) {
  if (!trainings.is_ensemble) return ask_about(request_about(given, trainings, seed), metric);
  const bool minimize = minimizes(trainings, metric);
  EngineAnswer answer = ask_about_ensemble(request_about(given, trainings, seed), metric);
  if (!answer.facts.is_nil()) answer.facts.set("minimize", minimize);
  return answer;
}

void warn_of_differences(const Arguments& given, const EndedTrainings& a, const EndedTrainings& b) {
  const Manifest of_a = read_manifest(a.run), of_b = read_manifest(b.run);
  for (const char* name : {"device", "threads"}) {
    const Value &in_a = of_a.setting(name), &in_b = of_b.setting(name);
    if (in_a != in_b) say(given, std::string(name) + " differ: " + to_json(in_a) + " in A, " + to_json(in_b) + " in B");
  }
  if (a.is_ensemble || b.is_ensemble) {
    say(given,
        "members of an ensemble that were trained side by side have slowed each other down: trust their times "
        "where both were trained alike");
  }
}

}  // namespace

int compare_runs(const Arguments& given, Question question) {
  const std::span<const std::string> words = given.words;
  const EndedTrainings a = ended_trainings(words.first(1)), b = ended_trainings(words.last(1));
  std::vector<std::int64_t> seeds;
  for (const auto& [seed, folder] : a.by_seed) {
    if (b.by_seed.contains(seed)) seeds.push_back(seed);
  }
  if (seeds.size() < fewest_pairs) {
    throw usage_error("expected at least 3 seeds with which both were trained, found " + std::to_string(seeds.size()))
        .hint("one training says nothing of a recipe; trainlab compare A.lua B.lua trains pairs");
  }
  if (seeds.size() < std::max(a.by_seed.size(), b.by_seed.size())) {
    say(given, "trainings whose seed the other side lacks are left out; " + std::to_string(seeds.size()) + " pairs");
  }

  if (a.is_ensemble != b.is_ensemble) throw usage_error("an ensemble is compared with an ensemble, not with fits");
  Value facts_of_a, facts_of_b;
  for (auto [side, facts] : {std::pair{&a, &facts_of_a}, std::pair{&b, &facts_of_b}}) {
    const EngineAnswer answer = answer_about(given, *side, seeds.front(), question.target.metric);
    if (answer.facts.is_nil()) return tell(answer.outcome, given.has("json"), "comparison");
    *facts = answer.facts;
  }
  settle_target(given, question, facts_of_a, facts_of_b);
  if (!facts_of_a["is_of_tasks"].is_nil())
    say(given, "the members are tasks: whether they judge the same data is not known");
  warn_of_differences(given, a, b);
  std::optional<std::int64_t> samples;
  if (!a.is_ensemble) {
    const EngineAnswer other = ask_about_other_seed(request_about(given, a, seeds.back()), question.target.metric);
    if (other.facts.is_nil()) return tell(other.outcome, given.has("json"), "comparison");
    samples = shared_samples(facts_of_a, other.facts, question.target.metric);
  }

  Comparison comparison{.pairs = {},
                        .looks = compare::Looks::any_time(),
                        .folder = {},
                        .a = shown_path(absolute_path(given.words.front())),
                        .b = shown_path(absolute_path(given.words.back())),
                        .shared_samples = samples};
  for (const std::int64_t seed : seeds) {
    comparison.pairs.push_back(read_pair(seed, a.by_seed.at(seed), b.by_seed.at(seed), question.target));
  }
  if (const std::optional<Error> useless = useless_target(comparison.pairs, question.target)) throw Error(*useless);
  return tell(given, comparison, question);
}

}  // namespace trainlab::cli

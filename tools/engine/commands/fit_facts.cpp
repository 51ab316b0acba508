// Answers what `trainlab compare`, `trainlab plan seeds` and `trainlab plan sweep` ask about a recipe before any
// training, and `trainlab compare` about the fit or the ensemble of a run that has ended: the metric and its direction,
// and the data and the rule by which the metric is measured. With the option `until`, the moment by steady_seconds() at
// which the time of the question is over, also how long a training takes, by the first steps of one. The answer is
// JSON.
#include <algorithm>
#include <array>
#include <vector>

#include "command.h"
#include "core/clock.h"
#include "core/files.h"
#include "data/data_hashes.h"
#include "execution.h"
#include "find/training_pace.h"
#include "objective/metrics.h"
#include "run/folder.h"
#include "run/stage.h"
#include "same_stages.h"
#include "tensor/types.h"
#include "train/fit_plan.h"

namespace trainlab {

namespace {

// The rows of a part in rising order.
std::vector<std::int64_t> rows_of(const Part& part) {
  std::vector<std::int64_t> rows;
  for (std::int64_t i = 0; i < part.size(); ++i) rows.push_back(part.row(i));
  std::ranges::sort(rows);
  return rows;
}

// The number of samples of a part, and two texts. `questions` identifies what the part asks a model, in whatever order:
// its rows and their targets, or all columns where there is no target y. `contents` identifies the inputs too. Of a
// large column some rows count (hash_of_rows()). Other rows of the data do not count: they may be appended to the
// training part.
Value described(const Part& part) {
  const std::vector<std::int64_t> rows = rows_of(part);
  const std::string places =
      hash_bytes({reinterpret_cast<const char*>(rows.data()), rows.size() * sizeof(std::int64_t)});
  Value::Map columns;
  for (const Column& column : part.data->columns) columns.emplace(column.name, hash_of_rows(column, rows));
  const std::string contents = fingerprint(Value::List{places, columns});
  const auto y = columns.find("y");
  return Value::Map{{"samples", part.size()},
                    {"questions", y == columns.end() ? contents : fingerprint(Value::List{places, y->second})},
                    {"contents", contents}};
}

class FitFactsExecution final : public Execution {
 public:
  explicit FitFactsExecution(const EngineStart& start) : Execution(start, Purpose::check) {}

 private:
  StageResult run_stage(const std::shared_ptr<const Spec>& stage) override {
    const std::optional<std::filesystem::path> run = request().path("ended");
    if (!run) throw ExecutionEnds();
    const std::shared_ptr<const Spec> spec = with_set(*stage, false);
    const std::filesystem::path folder = find_stage(*run, stage_key(registry(), spec->value)).folder;
    return {read_stage_summary(folder), folder, spec};
  }

  int end(const Recipe::Outcome& outcome) override {
    if (!outcome.stage) throw unsuitable(outcome.ended ? "one with lab.run" : "one that returns no stage");
    const std::shared_ptr<const Spec> spec = with_set(*outcome.stage, true);
    const Options stage(registry(), spec, "");
    if (request().path("ended") && stage.entry().name == "ensemble") return answer_for_ensemble(stage);
    if (stage.entry().name != "fit") throw unsuitable("one that returns a lab." + stage.entry().name);
    if (stage.given("seed") && stage.integer("seed") != run().settings().seed) {
      throw stage.error("seed", "all trainings of the recipe would have this seed")
          .hint("seed = lab.seed, or leave `seed` out");
    }
    const FitPlan plan = plan_fit(stage, run().settings());
    const std::string metric = metric_of_question(plan);
    Value facts = answer(plan, metric, *spec);
    facts.set("minimize", plan.minimize(metric));
    if (request().has("until")) add_length(facts, plan);
    send(to_json(facts) + "\n");
    return 0;
  }

  void add_length(Value& facts, const FitPlan& plan) {
    mute();  // the training prints what the recipe's functions print
    const double until = request().options["until"].number();
    const RunSettings settings = run().begin_trial_of(plan.options);
    const double seconds = with_torch_errors(
        [&] { return expected_seconds(plan, settings, [until] { return until - steady_seconds(); }); });
    facts.set("seconds", seconds);
    facts.set("steps", plan.length.total_steps);
    facts.set("time", plan.time_budget);
    const bool may_stop = std::ranges::any_of(std::array{"stop", "on", "step"},
                                              [&](const char* option) { return plan.options.given(option); });
    facts.set("may_end_early", may_stop);
  }

  int answer_for_ensemble(const Options& stage) {
    const auto& kind = registry().implementation<StageKind>(stage.entry());
    const Options first = kind.trainings(stage, run().begin_trial_of(stage)).first;
    if (first.entry().name != "fit") {
      send(to_json(Value::Map{{"is_of_tasks", true}}) + "\n");
      return 0;
    }
    const FitPlan plan = plan_fit(first, run().settings());
    send(to_json(answer(plan, request().options["metric"].string(), first.spec())) + "\n");
    return 0;
  }

  Error unsuitable(const std::string& found) const {
    return usage_error(shown_name() + ": expected a recipe that runs nothing but the lab.fit that it returns, found " +
                       found);
  }

  std::string metric_of_question(const FitPlan& plan) const {
    const Value& asked = request().options["metric"];
    const std::string metric = asked.is_nil() ? plan.monitor : asked.string();
    try {
      plan.check_watched(metric);
    } catch (const Error& error) {  // the command asks for the metric, not the recipe
      throw usage_error("--target: " + error.message()).hint(error.hint());
    }
    return metric;
  }

  Value answer(const FitPlan& plan, const std::string& metric, const Spec& fit) const {
    const Value comparable = comparable_stage(registry(), fit);
    Value answer = Value::Map{{"metric", metric},
                              {"parameters", plan.parameter_count()},
                              {"data", comparable["data"]},
                              {"measure", comparable["loss"]},
                              {"train", described(plan.data.train)}};
    if (plan.data.val) answer.set("val", described(*plan.data.val));
    if (plan.data.test && metric.starts_with("test.")) answer.set("test", described(*plan.data.test));
    const std::string name = metric.substr(metric.find('.') + 1);
    if (const std::optional<double> best = plan.best_possible(metric)) answer.set("best", *best);
    std::size_t place = 1;
    for (const Options::Element& element : plan.options.elements("metrics")) {
      const PlannedMetric planned = metric_of(element, place++);
      if (planned.name != name) continue;
      answer.set("measure", element.function ? Value(element.function->text())
                                             : comparable_value(element.entry->spec(), element.entry->value()));
    }
    answer.set("measure", fingerprint(answer["measure"]));
    return answer;
  }
};

}  // namespace

Command fit_facts_command() {
  return {"fit_facts", [](const EngineStart& start) { return FitFactsExecution(start).execute(); }};
}

}  // namespace trainlab

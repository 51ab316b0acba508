#include "ensemble.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/words.h"
#include "predict/kept_weights.h"
#include "predict/mean_prediction.h"
#include "predict/side_by_side.h"
#include "run/folder.h"
#include "study/failures.h"
#include "study/place.h"
#include "study_summary.h"
#include "tensor/types.h"
#include "trials/trial_folder.h"
#include "worker.h"

namespace trainlab {

namespace fs = std::filesystem;

namespace {

using Metrics = std::map<std::string, double>;

// A trained model that may be a member.
struct Candidate {
  std::int64_t trial = 0, repeat = 1, seed = 0;
  fs::path folder;
  Metrics metrics;
};

Metrics metrics_of(const Value& summary) {
  Metrics metrics;
  for (const auto& [name, value] : summary["metrics"].map())
    metrics[name] = value.is_number() ? value.number() : std::nan("");
  return metrics;
}

Value to_value(const Metrics& metrics) {
  Value::Map map;
  for (const auto& [name, value] : metrics) map.emplace(name, value);
  return map;
}

class Members {
 public:
  // `fit`: of one of them; the others have the same data, loss and metrics. `stage`: the folder of the ensemble.
  Members(const StudyPlan& plan, const Options& fit, fs::path stage)
      : objective_(plan.objectives().front()), stage_(std::move(stage)) {
    if (!plan.runs_tasks()) plan_.emplace(plan.plan_fit(fit));
  }

  // `model`: null for tasks, which keep none.
  void add(const Candidate& candidate, const Model* model) {
    if (model) predict(candidate, *model);
    candidates_.push_back(candidate);
  }

  // By value: better ones first, those without one last.
  bool better(double a, double b) const {
    if (std::isnan(a) || std::isnan(b)) return !std::isnan(a);
    return objective_.maximize ? a > b : a < b;
  }
  double value(const Metrics& metrics) const {
    const auto found = metrics.find(objective_.metric);
    return found == metrics.end() ? std::nan("") : found->second;
  }
  const Model* model() const { return plan_ ? plan_->model.get() : nullptr; }
  std::size_t size() const { return candidates_.size(); }
  bool can_choose() const { return val_.has_value() && objective_.metric.starts_with("val."); }
  double value_together(const std::vector<std::size_t>& chosen) const { return value(val_->metrics(chosen)); }

  // Writes what these say of single samples.
  void show(const std::vector<std::size_t>& chosen) const {
    if (!test_ && !val_) return;
    std::vector<std::size_t> distinct = chosen;
    std::ranges::sort(distinct);
    distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
    std::vector<at::Tensor> members;
    std::vector<std::string> names;
    for (const std::size_t m : distinct) {
      members.push_back(judged().predictions({&m, 1}));
      const Candidate& one = candidates_[m];
      names.push_back("trial " + std::to_string(one.trial) +
                      (one.repeat > 1 ? ", seed " + std::to_string(one.repeat) : ""));
    }
    write_side_by_side(*plan_, test_ ? *plan_->data.test : *plan_->data.val, names, members,
                       judged().predictions(chosen), stage_);
  }

  // The summary of these; one may stand there several times.
  Value summary(const std::vector<std::size_t>& chosen, const Value& params) const {
    Value::List members;
    Metrics mean;
    std::size_t best = chosen.front();
    for (const std::size_t m : chosen) {
      const Candidate& one = candidates_[m];
      // Relative to the ensemble's folder, so that a run may be moved.
      members.push_back(Value::Map{{"trial", one.trial},
                                   {"seed", one.seed},
                                   {"folder", one.folder.lexically_relative(stage_).string()},
                                   {"metrics", to_value(one.metrics)}});
      for (const auto& [name, value] : one.metrics) mean[name] += value / static_cast<double>(chosen.size());
      if (better(value(one.metrics), value(candidates_[best].metrics))) best = m;
    }
    Metrics together;
    if (val_) together.merge(val_->metrics(chosen));
    if (test_) together.merge(test_->metrics(chosen));
    return Value::Map{{"members", std::move(members)},
                      {"best_member", to_value(candidates_[best].metrics)},
                      {"mean_member", to_value(mean)},
                      {"ensemble", to_value(together)},
                      {"params", params},
                      {"metric", objective_.metric},
                      {"goal", objective_.maximize ? "max" : "min"},
                      {"reason", "all members have ended"}};
  }

 private:
  void predict(const Candidate& candidate, const Model& model) {
    const ModelFile file = read_model(candidate.folder);
    const NamedTensors weights = read_kept(candidate.folder, file).weights;
    if (candidates_.empty()) {
      if (plan_->data.val && plan_->measures()) val_.emplace(*plan_, *plan_->data.val, "val", file);
      if (plan_->data.test && plan_->measures()) test_.emplace(*plan_, *plan_->data.test, "test", file);
    }
    if (val_) val_->add(model, weights);
    if (test_) test_->add(model, weights);
  }

  const MeanPrediction& judged() const { return test_ ? *test_ : *val_; }

  Objective objective_;
  std::optional<FitPlan> plan_;  // of the fits; nullopt for tasks
  fs::path stage_;
  std::vector<Candidate> candidates_;
  std::optional<MeanPrediction> val_, test_;
};

Candidate candidate(const fs::path& stage, std::int64_t trial, std::int64_t repeat, std::int64_t seed) {
  Candidate one{
      .trial = trial, .repeat = repeat, .seed = seed, .folder = TrialFolder(stage, trial).ended(repeat), .metrics = {}};
  const Value summary = read_summary(one.folder);
  if (summary.is_nil()) throw lost_file(one.folder / "summary.json");
  if (!summary["metrics"].is_map()) throw damaged_file(one.folder / "summary.json", "it has no metrics");
  one.metrics = metrics_of(summary);
  return one;
}

// Names the members that have failed, with a warning. Nil if none has.
Value failures_of_members(const StageContext& context, const SharedStudy& study) {
  const std::optional<Failures> failures = failures_of(study.stored());
  if (!failures) return {};
  Value::List numbers;
  std::vector<std::string> names;
  for (const StoredTrial& trial : study.stored()) {
    if (trial.state != TrialState::failed) continue;
    numbers.emplace_back(trial.number);
    names.push_back(std::to_string(trial.number));
  }
  const bool is_one = names.size() == 1;
  context.warn(context.name + ": the member" + (is_one ? "" : "s") + " of trial" + (is_one ? " " : "s ") +
               listed(names, "and") + " failed and " + (is_one ? "is" : "are") + " left out: " + failures->reason);
  Value value = failures_value(*failures, context.folder);
  value.set("trials", std::move(numbers));
  return value;
}

}  // namespace

Value seed_ensemble(const StudyPlan& plan, const StageContext& context, const SharedStudy& study,
                    const std::optional<std::string>& stopped) {
  const Trials& trials = study.study().trials();
  std::vector<Candidate> all;
  for (std::int64_t trial = 0; trial < trials.size(); ++trial) {
    if (trials.state(trial) == TrialState::complete)
      all.push_back(candidate(context.folder, trial, 1, plan.repeat_seed(trial + 1)));
  }
  if (all.empty()) throw run_error("no member was trained" + (stopped ? ": " + *stopped : ""));
  const Value failures = failures_of_members(context, study);
  Members members(plan, plan.build({}, all.front().trial, 1), context.folder);
  std::ranges::stable_sort(all, [&](const Candidate& a, const Candidate& b) {
    return members.better(members.value(a.metrics), members.value(b.metrics));
  });
  const Options& stage = plan.options();
  if (stage.given("keep")) all.resize(std::min(all.size(), static_cast<std::size_t>(stage.integer("keep"))));
  with_torch_errors([&] {
    for (const Candidate& one : all) members.add(one, members.model());
  });
  std::vector<std::size_t> chosen(all.size());
  std::iota(chosen.begin(), chosen.end(), std::size_t{0});
  return with_torch_errors([&] {
    members.show(chosen);
    Value summary = members.summary(chosen, stage.given("params") ? stage.get("params") : Value::Map{});
    if (!failures.is_nil()) summary.set("failures", failures);
    if (stopped) {
      summary.set("status", "stopped");
      summary.set("reason", *stopped);
    }
    return summary;
  });
}

Value greedy_ensemble(const StudyPlan& plan, const StageContext& context) {
  const Options& stage = plan.options();
  const fs::path folder = stage.get("from")["out"].string();
  Value description;
  std::vector<StoredTrial> trials;
  StudyPlace::of_stage(folder).read([&](StudyReader& study) {
    description = study.description();
    trials = study.trials(/*with_info=*/true);
  });
  const Space space = Space::from_value(description["space"]);
  std::optional<Members> members;
  return with_torch_errors([&]() -> Value {
    for (const StoredTrial& trial : trials) {
      if (trial.state != TrialState::complete || !trial.info["duplicate_of"].is_nil()) continue;
      for (std::int64_t repeat = 1; repeat <= description["seeds"].integer(); ++repeat) {
        const Options fit = plan.build_with(space.params(trial.point), trial.number, repeat);
        if (!members) members.emplace(plan, fit, context.folder);
        const Candidate one = candidate(folder, trial.number, repeat, fit.integer("seed"));
        members->add(one, plan.plan_fit(fit).model.get());
      }
    }
    if (!members) throw stage.error("from", "the sweep in " + folder.string() + " has no complete trial");
    if (!members->can_choose()) {
      throw stage.error("metric", "expected a metric of the validation part, and data with a validation part");
    }
    std::vector<std::size_t> chosen;
    for (std::int64_t k = 0; k < stage.integer("keep"); ++k) {
      std::optional<std::size_t> best;
      double best_value = 0;
      for (std::size_t m = 0; m < members->size(); ++m) {
        std::vector<std::size_t> with = chosen;
        with.push_back(m);
        const double value = members->value_together(with);
        if (best && !members->better(value, best_value)) continue;
        best = m;
        best_value = value;
      }
      chosen.push_back(*best);
    }
    members->show(chosen);
    return members->summary(chosen, Value::Map{});
  });
}

}  // namespace trainlab

// All there is to say about a study, as data: for --json and for the page.
#include <algorithm>
#include <cmath>

#include "core/number_or_nil.h"
#include "paste.h"
#include "study_report.h"

namespace trainlab::report {

namespace {

Value::List list_of(const std::vector<double>& numbers) {
  Value::List list;
  for (const double x : numbers) list.push_back(finite_or_nil(x));
  return list;
}

Value row_of(const StudyReport& study, const StoredTrial& trial) {
  Value::Map row = {{"trial", trial.number},
                    {"state", trial_state_name(trial.state)},
                    {"value", finite_or_nil(value_of(trial))},
                    {"params", study.space.params(trial.point)},
                    {"seed_values", list_of(seed_values(trial))},
                    {"attempt", trial.attempt},
                    {"worker", worker_name(trial)}};
  if (study.has_front()) row.emplace("values", list_of(trial.values));
  for (const char* name : {"parent", "seconds", "ran", "reason", "duplicate_of", "metrics"}) {
    if (!trial.info[name].is_nil()) row.emplace(name, trial.info[name]);
  }
  return row;
}

// A forest takes long to grow: of a large study it is grown from trials spread evenly over the study.
constexpr std::size_t most_for_fanova = 1000;

// By objective. Of complete trials alone: the loss that a pruned trial would have had is not known.
std::vector<Importance> fanovas(const StudyReport& study) {
  std::vector<const StoredTrial*> complete;
  for (const StoredTrial& trial : study.trials) {
    if (trial.state == TrialState::complete) complete.push_back(&trial);
  }
  const std::size_t count = std::min(complete.size(), most_for_fanova);
  std::vector<double> points;
  std::vector<std::vector<double>> losses(study.objectives.size());
  for (std::size_t i = 0; i < count; ++i) {
    const StoredTrial& trial = *complete[i * complete.size() / count];
    points.insert(points.end(), trial.point.begin(), trial.point.end());
    for (std::size_t k = 0; k < losses.size(); ++k)
      losses[k].push_back((study.objectives[k].maximize ? -1 : 1) * trial.values[k]);
  }
  std::vector<Importance> all;
  all.reserve(losses.size());
  constexpr std::int64_t seed = 1;  // the same study has the same report
  for (const auto& each : losses) all.push_back(fanova(study.space, points, each, seed));
  return all;
}

Value shares_of(const StudyReport& study, const Importance& importance) {
  Value::Map shares;
  for (std::size_t i = 0; i < study.space.size(); ++i) shares.emplace(study.space[i].name, importance.shares[i]);
  return shares;
}

Value importance_of(const StudyReport& study) {
  const std::vector<Importance> by_variance = fanovas(study);
  Value::List all;
  for (std::size_t k = 0; k < study.importance.size(); ++k) {
    const Importance& importance = study.importance[k];
    const Importance& variance = by_variance[k];
    all.push_back(
        Value::Map{{"metric", study.objectives[k].metric},
                   {"trials", importance.trials},
                   {"best", importance.best},
                   {"shares", shares_of(study, importance)},
                   {"fanova", Value::Map{{"trials", variance.trials}, {"shares", shares_of(study, variance)}}}});
  }
  return all;
}

Value curves_of(const StudyReport& study) {
  Value::List all;
  for (const Curve& curve : study.curves) {
    all.push_back(Value::Map{{"trial", curve.trial},
                             {"validations", Value::List(curve.resources.begin(), curve.resources.end())},
                             {"values", list_of(curve.values)}});
  }
  return all;
}

Value spread_of(const StudyReport& study) {
  Value::Map value = {{"deviation", finite_or_nil(study.seed_deviation)}};
  if (const std::optional<double> optimism = study.optimism()) {
    value.emplace("optimism", *optimism);
    value.emplace("compared", study.compared());
  }
  if (!study.best.empty()) {
    const Spread best = spread(study.winner_values());
    value.emplace("best", Value::Map{{"seeds", static_cast<std::int64_t>(best.count)},
                                     {"mean", finite_or_nil(best.mean)},
                                     {"deviation", finite_or_nil(best.deviation)},
                                     {"interval", finite_or_nil(best.interval)}});
  }
  return value;
}

}  // namespace

Value study_value(const StudyReport& study) {
  Value value = study.stage.summary.is_nil() ? Value(Value::Map{{"name", study.stage.name}, {"kind", study.stage.kind}})
                                             : study.stage.summary;
  if (const std::string status = study.stage.status(); !status.empty()) value.set("status", status);
  Value::Map counts;
  for (const TrialState state :
       {TrialState::waiting, TrialState::running, TrialState::complete, TrialState::pruned, TrialState::failed}) {
    counts.emplace(trial_state_name(state), study.count(state));
  }
  value.set("trials", std::move(counts));
  value.set("study", study.description);
  value.set("training_seconds", study.seconds ? Value(*study.seconds) : Value());
  Value::List best;
  for (const std::size_t place : study.best) best.push_back(study.trials[place].number);
  value.set(study.has_front() ? "front" : "leaderboard", std::move(best));
  if (!study.best.empty() && study.space.size() > 0) {
    const StoredTrial& first = study.winner();
    const Value::Map params = study.space.params(first.point);
    value.set(
        "paste",
        Value::Map{{"trial", first.number}, {"lua", lua_table(params)}, {"flags", space_flags(params, study.stage)}});
  }
  value.set("importance", importance_of(study));
  value.set("spread", spread_of(study));
  value.set("curves", curves_of(study));
  Value::List rows;
  for (const StoredTrial& trial : study.trials) rows.push_back(row_of(study, trial));
  value.set("rows", std::move(rows));
  return value;
}

}  // namespace trainlab::report

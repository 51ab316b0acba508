#include <cmath>

#include "core/number_or_nil.h"
#include "plan/plan.h"

namespace trainlab {

namespace {

Value value_of(const Answer& answer) {
  return Value::Map{{"name", answer.name},          {"flops", answer.flops}, {"parameters", answer.best.parameters},
                    {"tokens", answer.best.tokens}, {"low", answer.low},     {"high", answer.high},
                    {"loss", answer.loss}};
}

Value flags_of(const Judgement& judgement) {
  Value::List flags;
  if (judgement.is_compute_inefficient()) flags.emplace_back("compute_inefficient");
  if (judgement.is_over_trained() || judgement.is_repeated()) flags.emplace_back("data_inefficient");
  return flags;
}

Value value_of_least(const RunRange& range) { return range.is_known() ? Value(range.least) : Value(); }

Value value_of_most(const RunRange& range) { return finite_or_nil(range.most); }

void set_transformer(Value& value, const Plan& plan) {
  const double flops = flops_per_sequence(*plan.transformer);
  value.set("flops_per_sequence", flops);
  value.set("flops_6nd", plan.flops_6nd());
}

void set_repeats(Value& value, const Plan& plan) {
  const Allocation counts = effective(plan.law.law, plan.chosen, plan.unique_tokens);
  value.set("unique_tokens", plan.unique_tokens);
  value.set("effective_parameters", counts.parameters);
  value.set("effective_tokens", counts.tokens);
}

}  // namespace

Value to_value(const Plan& plan) {
  Value::List answers;
  for (const Answer& one : plan.answers) answers.push_back(value_of(one));
  const Law& law = plan.law.law;
  const std::optional<bool> extrapolated = plan.is_extrapolated();
  Value value = Value::Map{
      {"kind", "plan"},
      {"flops", plan.flops},
      {"flops_budget", number_or_nil(plan.budget)},
      {"parameters", plan.chosen.parameters},
      {"tokens", plan.chosen.tokens},
      {"loss", plan.loss},
      {"loss_low", plan.loss_interval ? Value(plan.loss_interval->low) : Value()},
      {"loss_high", plan.loss_interval ? Value(plan.loss_interval->high) : Value()},
      {"approaches", std::move(answers)},
      {"flags", flags_of(plan.judgement)},
      {"compute_share", plan.judgement.compute_share},
      {"tokens_per_parameter", plan.judgement.tokens_per_parameter},
      {"best_tokens_per_parameter", plan.judgement.best_tokens_per_parameter},
      {"extrapolated", extrapolated ? Value(*extrapolated) : Value()},
      {"law", Value::Map{{"name", plan.law.name},
                         {"source", plan.law.source},
                         {"E", law.e},
                         {"A", law.a},
                         {"B", law.b},
                         {"alpha", law.alpha},
                         {"beta", law.beta},
                         {"least_flops", value_of_least(plan.law.flops)},
                         {"most_flops", value_of_most(plan.law.flops)},
                         {"least_parameters", value_of_least(plan.law.parameters)},
                         {"most_parameters", value_of_most(plan.law.parameters)},
                         {"least_tokens", value_of_least(plan.law.tokens)},
                         {"most_tokens", value_of_most(plan.law.tokens)}}},
      {"rate", number_or_nil(plan.speed.rate)},
      {"mfu", number_or_nil(plan.speed.mfu())},
      {"seconds", number_or_nil(plan.seconds)},
      {"cost", number_or_nil(plan.cost)},
      {"epochs", plan.judgement.epochs > 0 ? Value(plan.judgement.epochs) : Value()},
      {"ends_first", text_of(plan.ends_first)},
      {"currency", plan.price ? Value(plan.price->per_hour.currency) : Value()},
      {"price_as_of", plan.price ? Value(plan.price->as_of) : Value()},
  };
  if (plan.transformer) set_transformer(value, plan);
  if (std::isfinite(plan.unique_tokens)) set_repeats(value, plan);
  return value;
}

Value page_value(const Plan& plan) {
  Value value = to_value(plan);
  constexpr int points = 30;  // on each side of the best
  constexpr double farthest = 30;
  const double flops = plan.flops_6nd();
  const Allocation best = best_allocation(plan.law.law, flops, plan.unique_tokens);
  Value::List curve;
  for (int i = -points; i <= points; ++i) {
    const double parameters = best.parameters * std::pow(farthest, static_cast<double>(i) / points);
    const Allocation other{parameters, flops / flops_per_parameter_and_token / parameters};
    curve.push_back(Value::Map{{"parameters", parameters}, {"loss", loss_of(plan.law.law, other, plan.unique_tokens)}});
  }
  value.set("curve", std::move(curve));
  return value;
}

}  // namespace trainlab

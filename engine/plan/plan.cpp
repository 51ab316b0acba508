#include "plan/plan.h"

#include <cmath>

#include "core/error.h"
#include "rate.h"

namespace trainlab {

namespace {

std::optional<double> parameters_in(const PlanQuestion& question) {
  if (!question.transformer) return question.parameters;
  if (question.parameters) {
    throw usage_error("--parameters and the shape of a transformer exclude each other: the shape determines them");
  }
  return parameters_of(*question.transformer);
}

double flops_per_token(const std::optional<Transformer>& transformer, double parameters) {
  if (transformer) return flops_per_sequence(*transformer) / transformer->context;
  return flops_per_parameter_and_token * parameters;
}

std::string in_flops(double flops) {
  std::string text(32, '\0');
  text.resize(static_cast<std::size_t>(std::snprintf(text.data(), text.size(), "%.3g FLOPs", flops)));
  return text;
}

// The parameters and tokens of the plan. The question gives them or leaves them open; open numbers follow from the
// budget or, without a budget, from the law.
Allocation chosen_by(const PlanQuestion& question, const std::optional<double>& budget, const Law& law,
                     double unique_tokens) {
  const std::optional<double> parameters = parameters_in(question), &tokens = question.tokens;
  if (parameters && tokens) return {*parameters, *tokens};
  if (parameters && budget) return {*parameters, *budget / flops_per_token(question.transformer, *parameters)};
  if (tokens && budget) return {*budget / flops_per_parameter_and_token / *tokens, *tokens};
  if (budget) return best_allocation(law, *budget, unique_tokens);
  if (parameters) {
    return {*parameters, flops_for(law, *parameters) / flops_per_parameter_and_token / *parameters};
  }
  if (tokens) throw usage_error("--tokens needs --parameters or a budget");
  throw usage_error("expected a budget, or parameters to judge")
      .hint("--flops, --gpu-hours, --money or --within; --parameters, or the shape of a transformer");
}

Error nothing_fits(double flops) {
  return usage_error("nothing fits into " + in_flops(flops) + ": not one parameter that sees one token");
}

void check_fits(const Plan& plan) {
  if (plan.chosen.parameters < 1 || plan.chosen.tokens < 1) throw nothing_fits(plan.asked_flops());
  if (plan.budget && plan.flops > *plan.budget * (1 + 1e-9)) {
    throw usage_error("the training needs " + in_flops(plan.flops) + ", and the budget has " + in_flops(*plan.budget));
  }
}

std::vector<Answer> answers_for(const Plan& plan, const PlanQuestion& question) {
  std::vector<Answer> answers;
  // Without a budget and tokens, the question asks how many tokens, and so FLOPs, are best for the parameters.
  const bool asks_for_tokens = !plan.budget && !question.tokens;
  const double flops = plan.budget.value_or(plan.flops_6nd()), parameters = plan.chosen.parameters;
  if (plan.law.name == "fit") {
    answers.push_back(answer(plan.law, asks_for_tokens ? flops_for(plan.law.law, parameters) : flops));
  } else {
    for (const Approach& approach : approaches()) {
      answers.push_back(answer(approach, asks_for_tokens ? flops_for(approach, parameters) : flops));
    }
  }
  for (Answer& one : answers) one.loss = loss_of(plan.law.law, one.best, plan.unique_tokens);
  return answers;
}

}  // namespace

Judgement judged(const Law& law, const Allocation& chosen, double unique_tokens) {
  const double flops = chosen.flops();
  const double least = std::min(flops, least_flops(law, loss_of(law, chosen, unique_tokens), unique_tokens));
  const Allocation best = best_allocation(law, flops, unique_tokens);
  return {.compute_share = least / flops,
          .instead = best_allocation(law, least, unique_tokens),
          .tokens_per_parameter = chosen.tokens / chosen.parameters,
          .best_tokens_per_parameter = best.tokens / best.parameters,
          .epochs = std::isfinite(unique_tokens) ? chosen.tokens / unique_tokens : 0};
}

std::optional<bool> Plan::is_extrapolated() const {
  if (!law.knows_runs()) return std::nullopt;
  return law.flops.is_beyond(flops) || law.flops.is_beyond(asked_flops()) ||
         law.parameters.is_beyond(chosen.parameters) || law.tokens.is_beyond(chosen.tokens);
}

Plan make_plan(const PlanQuestion& question) {
  Plan plan;
  plan.law = question.law;
  plan.transformer = question.transformer;
  plan.unique_tokens = question.unique_tokens.value_or(all_unique);
  check_budget(question);
  plan.price = price_of(question);
  plan.speed = speed_of(question, plan.price);
  plan.budget = budget_of(question, plan.speed, plan.price);
  const std::optional<double>& budget = plan.budget;
  if (budget && *budget < flops_per_parameter_and_token) throw nothing_fits(*budget);
  if (budget && !(*budget <= most_planned))
    throw usage_error("expected a budget of at most " + in_flops(most_planned) + ", found " + in_flops(*budget));
  plan.chosen = chosen_by(question, budget, plan.law.law, plan.unique_tokens);
  plan.flops = flops_per_token(plan.transformer, plan.chosen.parameters) * plan.chosen.tokens;
  check_fits(plan);
  constexpr double whole = 1 - 1e-6;  // of a budget, up to rounding
  if (budget) plan.ends_first = plan.flops < whole * *budget ? EndsFirst::length : EndsFirst::budget;

  plan.is_given = question.parameters || question.tokens || question.transformer;
  plan.loss = loss_of(plan.law.law, plan.chosen, plan.unique_tokens);
  plan.loss_interval = interval_of(plan.law, plan.chosen, plan.unique_tokens);
  plan.judgement = judged(plan.law.law, plan.chosen, plan.unique_tokens);
  plan.answers = answers_for(plan, question);
  if (plan.speed.rate) plan.seconds = plan.flops / *plan.speed.rate;
  if (plan.price) {
    if (!plan.seconds) {
      throw usage_error("--prices needs how fast training is: --rate FLOP/S, or --mfu with --peak or --device-name");
    }
    plan.cost = cost_of(*plan.price, *plan.seconds);
  }
  return plan;
}

}  // namespace trainlab

#include "planning/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "core/words.h"
#include "report/texts.h"

namespace trainlab::cli {

namespace {

// A number as papers write sizes: 2.92e9 is "2.92 B".
std::string amount(double x) {
  struct Unit {
    double size;
    const char* name;
  };
  constexpr std::array<Unit, 3> units = {{{1e12, "T"}, {1e9, "B"}, {1e6, "M"}}};
  constexpr double rounded = 0.9995;  // what is rounded up to a unit has this unit
  if (x < rounded * 1e3 || x >= rounded * 1e15) return fmt::format("{:.3g}", x);
  if (x < rounded * 1e6) return fmt::format("{:.0f}", x);
  const Unit& unit = *std::ranges::find_if(units, [&](const Unit& one) { return x >= rounded * one.size; });
  const double count = x / unit.size;
  return fmt::format("{:.{}f} {}", count, count < 9.995 ? 2 : count < 99.95 ? 1 : 0, unit.name);
}

std::string flops_text(double flops) { return fmt::format("{:.3g} FLOPs", flops); }

std::string ratio_text(double ratio) { return ratio < 99.95 ? fmt::format("{:.1f}", ratio) : amount(ratio); }

std::string law_text(const Law& law) {
  const std::string e = law.e < unknown_limit ? "E (unknown)" : fmt::format("{:.4g}", law.e);
  return fmt::format("L(N, D) = {} + {:.4g}/N^{:.4g} + {:.4g}/D^{:.4g}", e, law.a, law.alpha, law.b, law.beta);
}

// What is known of the runs behind the law.
std::string runs_text(const KnownLaw& law) {
  std::vector<std::string> ranges = {fmt::format("{:.3g} to {:.3g} FLOPs", law.flops.least, law.flops.most)};
  const auto add = [&](const RunRange& range, const char* name) {
    if (range.is_known()) ranges.push_back(amount(range.least) + " to " + amount(range.most) + " " + name);
  };
  add(law.parameters, "parameters");
  add(law.tokens, "tokens");
  return listed(ranges, "and");
}

std::string row(const std::string& name, const std::string& what, const std::string& parameters,
                const std::string& interval, const std::string& tokens, const std::string& ratio,
                const std::string& loss) {
  return fmt::format("  {:<3}  {:<29.29}  {:>10}  {:<19}  {:>7}  {:>13}  {}\n", name, what, parameters, interval,
                     tokens, ratio, loss);
}

std::string row(const std::string& name, const std::string& what, const Allocation& allocation,
                const std::string& interval, double loss) {
  return row(name, what, amount(allocation.parameters), interval, amount(allocation.tokens),
             ratio_text(allocation.tokens / allocation.parameters), fmt::format("{:.3f}", loss));
}

bool is_in_table(const Plan& plan) {
  return std::ranges::any_of(plan.answers, [&](const Answer& answer) {
    return std::abs(answer.best.parameters / plan.chosen.parameters - 1) < 1e-6 &&
           std::abs(answer.best.tokens / plan.chosen.tokens - 1) < 1e-6;
  });
}

std::string table(const Plan& plan) {
  std::string text = row("", "approach", "parameters", "10-90 %", "tokens", "per parameter", "loss");
  for (const Answer& answer : plan.answers) {
    text += row(answer.name, answer.what, answer.best, amount(answer.low) + " ... " + amount(answer.high), answer.loss);
  }
  const char* const choice = plan.is_given                  ? "as given"
                             : plan.law.name == "besiroglu" ? "best with these data"
                                                            : "by the law";
  if (!is_in_table(plan)) text += row("", choice, plan.chosen, "", plan.loss);
  return text;
}

std::string line(const std::string& label, const std::string& text) {
  return fmt::format("  {:<8} ", label) + text + "\n";
}

std::string transformer_text(const Plan& plan) {
  return line("shape", amount(plan.chosen.parameters) + " parameters, " +
                           fmt::format("{:.4g} FLOPs for a sequence, {:.3f} of 6 N D",
                                       flops_per_sequence(*plan.transformer), plan.flops / plan.flops_6nd()));
}

std::string data_text(const Plan& plan) {
  const Allocation counts = effective(plan.law.law, plan.chosen, plan.unique_tokens);
  return line("data", fmt::format("{:.3g} passes over ", plan.judgement.epochs) + amount(plan.unique_tokens) +
                          " unique tokens, worth " + amount(counts.tokens) + " tokens in one pass");
}

std::string time_text(const Plan& plan) {
  if (!plan.seconds) return line("time", "unknown: --rate FLOP/S, or --mfu with --peak or --device-name");
  const std::optional<double> mfu = plan.speed.mfu();
  std::string text =
      line("time", report::duration_text(*plan.seconds) + fmt::format(" at {:.3g} FLOP/s, ", *plan.speed.rate) +
                       (mfu ? fmt::format("MFU {:.3f}", *mfu) : "MFU unknown: --peak FLOP/S"));
  if (plan.price) {
    const Money& per_hour = plan.price->per_hour;
    text += line("cost", fmt::format("{:.2f} ", *plan.cost) + per_hour.currency +
                             fmt::format(" at {:.4g} ", per_hour.amount) + per_hour.currency + "/h for " +
                             plan.price->name + ", as of " + plan.price->as_of);
  }
  return text;
}

// The rest of a budget that is larger than the training needs; empty where there is no rest.
std::string budget_text(const Plan& plan) {
  if (plan.ends_first != EndsFirst::length) return "";
  return line("budget", "enough: the training needs " + flops_text(plan.flops) + ", and " +
                            flops_text(*plan.budget - plan.flops) + " are left");
}

std::string judgement_text(const Plan& plan) {
  const Judgement& judgement = plan.judgement;
  std::string text;
  if (judgement.is_compute_inefficient()) {
    text += "  compute-inefficient: " + amount(judgement.instead.parameters) + " parameters with " +
            amount(judgement.instead.tokens) + " tokens reach this loss with " +
            fmt::format("{:.3f} of the FLOPs\n", judgement.compute_share);
  }
  if (judgement.is_over_trained()) {
    text += "  data-inefficient: " + ratio_text(judgement.tokens_per_parameter) + " tokens for each parameter, " +
            ratio_text(judgement.best_tokens_per_parameter) + " are best for these FLOPs\n";
  }
  if (judgement.is_repeated()) text += repeats_text(judgement.epochs);
  return text;
}

std::string loss_text(const Plan& plan) {
  const std::string interval =
      plan.loss_interval ? fmt::format(" ({:.3f} to {:.3f})", plan.loss_interval->low, plan.loss_interval->high) : "";
  return line("loss", fmt::format("{:.3f}{} by ", plan.loss, interval) + law_text(plan.law.law)) +
         line("", plan.law.source);
}

std::string extrapolation_text(const Plan& plan) {
  if (plan.is_extrapolated() != true) return "";
  return "  beyond the runs behind the law, which had " + runs_text(plan.law) + ": an extrapolation\n";
}

std::string constant_row(const FittedConstant& one) {
  const auto is_unknown = [&](double x) { return one.name == "E" && x < unknown_limit; };
  return fmt::format(
      "  {:<9} {:>10}  {}\n", one.name, is_unknown(one.value) ? "unknown" : fmt::format("{:.4g}", one.value),
      is_unknown(one.high) ? "unknown" : fmt::format("{:.4g} ... {:.4g}", is_unknown(one.low) ? 0 : one.low, one.high));
}

}  // namespace

std::string repeats_text(double passes) {
  return fmt::format("  data-inefficient: {:.3g} passes over the data; after 4 a repeat is worth less than new data\n",
                     passes);
}

std::string by_law_text(const Plan& plan) {
  return "\nof one training, by the law:\n" + table(plan) + "\n" + loss_text(plan) +
         (plan.judgement.epochs > 0 ? data_text(plan) : "") + judgement_text(plan) + extrapolation_text(plan);
}

std::string plan_text(const Plan& plan) {
  std::string text = "plan for " + flops_text(plan.asked_flops()) + ": estimates\n\n" + table(plan) + "\n";
  text += loss_text(plan);
  if (plan.transformer) text += transformer_text(plan);
  if (std::isfinite(plan.unique_tokens)) text += data_text(plan);
  return text + budget_text(plan) + time_text(plan) + judgement_text(plan) + extrapolation_text(plan);
}

std::string fit_text(const LawFit& fit) {
  std::string text =
      law_text(fit.law) + fmt::format(" from {} runs\n\n", fit.runs) + "  constant    estimate  10-90 %\n";
  for (const FittedConstant& one : fitted_constants(fit)) text += constant_row(one);
  text += fmt::format("\n  the losses of the runs are {} % off the law (root mean square)\n",
                      figure_text(100 * fit.deviation, 2));
  if (fit.drift) {
    text += fmt::format("  a law of the shorter runs alone predicts the longest {} % too {}, a doubling of FLOPs\n",
                        figure_text(100 * std::abs(std::expm1(*fit.drift)), 2), *fit.drift > 0 ? "high" : "low");
  }
  if (fit.law.e < unknown_limit)
    text += "  E is unknown, because none of these runs comes near the limit of the loss\n";
  return text +
         "  the best number of parameters grows as FLOPs^exponent\n"
         "  to plan with this law: the same command with --json > law.json, then trainlab plan --law law.json\n";
}

}  // namespace trainlab::cli

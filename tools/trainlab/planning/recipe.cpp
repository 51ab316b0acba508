#include "planning/recipe.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "cli/ending.h"
#include "cli/requests.h"
#include "core/error.h"
#include "plan/recipe_plan.h"
#include "planning/text.h"
#include "report/texts.h"
#include "run/supervisor.h"

namespace trainlab::cli {

namespace {

using report::duration_text, report::fine_duration_text;

std::string row_of(const char* name, const std::string& text) { return fmt::format("  {:<10} {}\n", name, text); }

std::string step_text(const MedianInterval& step) {
  constexpr double milli = 1e3;
  return fmt::format("{:.4g} ms ({:.4g} ... {:.4g}), with its share in validations and checkpoints",
                     milli * step.median, milli * step.low, milli * step.high);
}

std::string seconds_text(const MedianInterval& seconds) {
  return fmt::format("{} ({} ... {})", fine_duration_text(seconds.median), fine_duration_text(seconds.low),
                     fine_duration_text(seconds.high));
}

std::string count_text(double count) {
  return count < 100 ? fmt::format("{:.3g}", count) : fmt::format("{:.0f}", count);
}

const char* at_most(bool is_most) { return is_most ? "at most " : ""; }

constexpr const char* end_of_task = "unknown: the function of a task decides how long it goes on";

std::string length_text(const MeasuredStageFacts& facts, const RecipePlan& plan) {
  const char* const one = facts.kind == "ensemble" ? "members"
                          : facts.kind != "sweep"  ? nullptr
                          : facts.is_task          ? "tasks"
                                                   : "fits";
  std::string text = plan.training   ? at_most(!one && plan.seconds_are_most) + seconds_text(*plan.training)
                     : facts.is_task ? end_of_task
                                     : "unknown: the recipe has none";
  const bool is_cut = plan.training && facts.training_time == plan.training->median;
  if (is_cut) text += ", by its option `time`";
  if (!one) return text;
  if (plan.training) text += " each";
  if (facts.waves.empty() && facts.stage_time == 0)
    return text + (plan.training ? ", as many as fit" : fmt::format("; as many {} as fit", one));
  const std::string begun = "as many as begin in the " + fine_duration_text(facts.stage_time) + " of its option `time`";
  const std::string all =
      fmt::format("{:.0f} {}", facts.trainings(), one) +
      (facts.has_segments() ? fmt::format(", as long as {:.3g} whole ones,", facts.whole_trainings()) : "");
  text += "; " + (facts.waves.empty() ? begun : plan.ends_by_time ? "of " + all + ", " + begun : all);
  if (!plan.whole) return text;
  text += std::string(" take ") + at_most(plan.seconds_are_most) + seconds_text(*plan.whole);
  if (facts.after > 0) text += ", predictions together included,";
  if (facts.workers == 1) return text + " one after the other";
  text += fmt::format(" by {} workers", facts.workers);
  if (facts.at_once == static_cast<double>(facts.workers)) return text;
  return text + fmt::format(", for {:.3g} of which the machine has room at a time", facts.at_once);
}

// Why the length of the stage is not known, which may end it before its budget does.
std::string unknown_end(const MeasuredStageFacts& facts) {
  if (facts.is_task) return end_of_task;
  if (facts.waves.empty()) return "unknown: nobody knows how many trainings the stage comes to";
  return facts.together > 1 && !facts.may_be_fewer
             ? "unknown: trainings that go together take less time, and nobody knows how much less"
             : "unknown: trainings may end early, and then the stage is shorter";
}

std::string energy_text(const MeasuredStageFacts& facts, const RecipePlan& plan) {
  if (facts.watts == 0) return "unknown: this process can read no counter of the processors";
  if (!plan.joules) return "unknown: several trainings go side by side, and the power of one was measured";
  constexpr double joules_per_watt_hour = 3600;
  return fmt::format("{}{:.3g} Wh, at {:.3g} W of the processors for all that ran on them",
                     at_most(plan.seconds_are_most), *plan.joules / joules_per_watt_hour, facts.watts);
}

std::string mfu_text(const MeasuredStageFacts& facts, const RecipePlan& plan) {
  if (plan.mfu) return fmt::format("MFU {:.3f}", *plan.mfu);
  return facts.is_on_gpu ? "MFU unknown: --device-name NAME gives the peak of a GPU"
                         : "MFU unknown: trainlab profile measures the machine's peak";
}

std::string largest_text(const MeasuredStageFacts& facts, const RecipePlan& plan) {
  if (!plan.largest_parameters) return "";
  return row_of("largest",
                fmt::format("{:.3g} parameters, where the model has {:.3g}: an estimate by {}, if {} grows like "
                            "the parameters",
                            *plan.largest_parameters, facts.parameters, plan.largest_by,
                            plan.largest_by == "memory" ? "it" : "the time of a step"));
}

// The part of the budget that the stage has, and the trainings that fit into this part and into the stage's own time.
std::string bounds_text(const MeasuredStageFacts& facts, const RecipePlan& plan) {
  std::string text;
  if (plan.usable) {
    text += row_of("budget", duration_text(facts.within) + ", of which the stage has " +
                                 duration_text(std::max(*plan.usable, 0.0)));
    if (*plan.usable <= 0) return text + row_of("fits", "nothing: what comes before and the reserve use all of it");
  }
  if (facts.most_flops > 0) text += row_of("budget", fmt::format("{:.4g} FLOPs for the stage", facts.most_flops));
  const WhatFits& fits = plan.fits;
  if (!fits.steps) return text;
  std::string most =
      fits.epochs ? count_text(std::floor(*fits.epochs)) + " epochs" : count_text(*fits.steps) + " steps";
  most += " of one training";
  if (fits.trainings)
    most +=
        ", or " + count_text(static_cast<double>(*fits.trainings)) + " whole trainings, each with a seed of its own";
  text += row_of("fits", most);
  if (facts.within == 0 && facts.most_flops == 0) return text;
  return text + row_of("ends first", plan.ends_first == EndsFirst::length   ? "the length of the stage"
                                     : plan.ends_first == EndsFirst::budget ? "the budget"
                                                                            : unknown_end(facts));
}

std::string recipe_text(const MeasuredStageFacts& facts, const RecipePlan& plan, const std::optional<KnownLaw>& law) {
  std::string text = "plan for " + facts.kind + " " + facts.stage + ", from steps that were measured: estimates\n";
  text += row_of("step", step_text(plan.step));
  if (plan.epoch)
    text += row_of("epoch", fmt::format("{} steps, {}", facts.steps_per_epoch, seconds_text(*plan.epoch)));
  text += row_of("length", length_text(facts, plan));
  if (plan.rate) {
    text += row_of("rate", fmt::format("{:.3g} FLOP/s, ", *plan.rate) + mfu_text(facts, plan));
  }
  if (plan.whole) text += row_of("energy", energy_text(facts, plan));
  if (facts.cost) {
    text += row_of("cost",
                   fmt::format("{}{:.2f} {} with what runs before, at the price of {}", at_most(plan.seconds_are_most),
                               facts.cost->amount, facts.cost->currency, facts.cost->as_of));
  }
  text += bounds_text(facts, plan) + largest_text(facts, plan);
  // The text by the law says this of its tokens.
  if (plan.is_repeated() && !plan.by_law) text += repeats_text(plan.passes);
  if (facts.share < 1) text += "  later stages need the result of this one, and are not planned\n";
  if (plan.by_law) return text + by_law_text(*plan.by_law);
  return law ? text + row_of("loss", "unknown: nobody knows the FLOPs of a training") : text;
}

// The peak of the device that --device-name names, which the engine cannot measure on a GPU.
std::optional<double> peak_given(const Arguments& given) {
  if (!given.has("device-name")) return std::nullopt;
  const std::string& name = given.flags["device-name"].string();
  if (const std::optional<double> peak = known_peak(name)) return peak;
  throw usage_error("--device-name: the peak of \"" + name + "\" is not known")
      .hint("known are " + devices_with_known_peak());
}

}  // namespace

bool plans_recipe(const std::vector<std::string>& words) { return !words.empty() && words.front().ends_with(".lua"); }

std::vector<std::string> recipe_plan_flags() {
  return {"within", "stage", "law", "device-name", "params", "set", "html"};
}

void check_recipe_plan(const Arguments& given) {
  if (given.words.size() > 1) throw usage_error("`trainlab plan RECIPE.lua` takes one recipe");
  const std::vector<std::string> meant = recipe_plan_flags();
  for (const Flag& flag : given.command->flags) {
    if (given.has(flag.name) && std::ranges::find(meant, flag.name) == meant.end()) {
      throw usage_error("--" + flag.name + " means nothing to `trainlab plan RECIPE.lua`");
    }
  }
}

int plan_recipe(const Arguments& given) {
  Request request = request_for_recipe(given);
  request.command = "planning";
  // The stages before that of --stage may take long, and tell how far they are.
  if (!given.has("stage")) request.options.set("quiet", true);
  const bool json = given.has("json");
  const std::optional<double> peak = peak_given(given);
  // A file that has no law is told before steps are measured.
  const std::optional<KnownLaw> law =
      given.has("law") ? std::optional(law_named(given.flags["law"].string())) : std::nullopt;
  const Outcome outcome = Supervisor(Supervisor::find_engine()).run(std::move(request));
  if (outcome.code != 0 || outcome.error) return tell(outcome, json, "plan");
  MeasuredStageFacts facts = facts_from(parse_json(outcome.result["text"].string(), "the engine's answer"));
  if (peak) facts.peak = *peak;
  const RecipePlan plan = plan_of(facts, law);
  const Value value = to_value(facts, plan);
  const std::string text = recipe_text(facts, plan, law);
  const auto failure = page_failure(given, [&] {
    Value page = value;
    page.set("text", text);
    return report::recipe_plan_page(page);
  });
  print(json ? to_json(value, 2) + "\n" : text);
  return end_with(failure);
}

}  // namespace trainlab::cli

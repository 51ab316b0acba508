// The length of a fit: steps, FLOPs and time, and the steps between two validations or checkpoints.
#include <algorithm>
#include <cmath>

#include "core/duration.h"
#include "core/time_in_seconds.h"
#include "core/value.h"
#include "fit_plan_parts.h"
#include "model/layer.h"
#include "needed_batches.h"

namespace trainlab {

namespace {

// Samples of an epoch that are in a batch; the last batch may be smaller than the others.
double batched_samples(const FitPlan& plan) {
  const std::int64_t n = plan.data.train.epoch_size();
  return static_cast<double>(plan.loader.drop_last ? n - n % plan.loader.batch : n);
}

std::int64_t steps_per_epoch(const FitPlan& plan) {
  const std::int64_t n = plan.data.train.epoch_size(), batch = plan.loader.batch;
  if (batch > n) {
    throw plan.options
        .error("batch",
               "expected at most the " + std::to_string(n) + " training samples, found " + std::to_string(batch))
        .hint("use a smaller batch, or more data");
  }
  const std::int64_t batches = plan.loader.drop_last ? n / batch : (n + batch - 1) / batch;
  return (batches + plan.accumulate - 1) / plan.accumulate;
}

// The micro-batches of a step.
std::int64_t micro_batches_of(const FitPlan& plan) {
  const Options& fit = plan.options;
  if (!fit.given("effective")) return fit.integer("accumulate");
  if (fit.given("accumulate")) {
    throw fit.error("effective", "expected either accumulate or effective, found both")
        .hint("leave accumulate out, which follows from effective and the batch");
  }
  if (!is_auto_batch(fit)) {
    throw fit.error("effective", "is divided by batch = \"auto\", found batch = " + fit.get("batch").brief())
        .hint("batch = \"auto\", or accumulate in place of effective");
  }
  const std::int64_t effective = fit.integer("effective"), samples = plan.data.train.epoch_size();
  if (effective > samples) {
    throw fit.error("effective", "expected at most the " + std::to_string(samples) + " training samples, found " +
                                     std::to_string(effective));
  }
  return effective / plan.loader.batch;
}

// `trainlab extend --time`: the budget of time of the recipe gives way to a larger one.
void extend_time(FitPlan& plan, const RunSettings& settings) {
  if (plan.time_budget == 0) {
    throw usage_error("expected a fit with a budget of time, found one without")
        .hint("--epochs N or --steps N give a fit a new length");
  }
  if (settings.extends_now) check_more_time(settings, plan.time_budget);
  plan.time_budget = settings.extended.back().count;
}

// The steps of the last batch that fits into the FLOPs of the option.
std::int64_t steps_of_flops(const FitPlan& plan) {
  const Options& fit = plan.options;
  if (plan.step) {
    throw fit.error("flops", "nobody knows the FLOPs of a training step of the recipe's own")
        .hint("epochs = 10, steps = 5000 or time = \"10 min\"");
  }
  const double given = fit.number("flops"), steps = plan.steps_within(given);
  const double step = plan.sample_flops() * static_cast<double>(plan.length.batch);
  constexpr double most = 9e15;  // beyond, doubles skip whole numbers
  if (steps >= 1 && steps <= most) return static_cast<std::int64_t>(steps);
  throw fit.error("flops", "expected from " + number_text(step) + ", the FLOPs of one step of " +
                               std::to_string(plan.length.batch) + " samples, to " + figure_text(most * step) +
                               ", found " + number_text(given));
}

// Steps between two validations or checkpoints.
std::int64_t interval(const FitPlan& plan, const char* option) {
  const Duration every = plan.options.duration(option);
  const auto steps = in_steps(every, plan.length.steps_per_epoch, plan.length.batch, plan.length.total_steps);
  if (!steps) {
    throw plan.options.error(
        option, "expected steps, epochs, samples or a percentage of a known length, found \"" + to_text(every) + "\"");
  }
  if (*steps < 1) throw plan.options.error(option, "expected at least one step, found \"" + to_text(every) + "\"");
  return *steps;
}

}  // namespace

LoaderOptions FitPlan::training_loader() const {
  LoaderOptions with_end = loader;
  with_end.needed = needed_batches(length.total_steps, accumulate);
  return with_end;
}

double FitPlan::step_samples() const { return batched_samples(*this) / static_cast<double>(length.steps_per_epoch); }

double FitPlan::sample_flops() const {
  if (step) return std::nan("");
  const Flops flops = model->flops();
  return flops.forward + flops.backward;
}

double FitPlan::flops_until(std::int64_t count) const {
  const std::int64_t epochs = count / length.steps_per_epoch, rest = count % length.steps_per_epoch;
  return sample_flops() *
         (static_cast<double>(epochs) * batched_samples(*this) + static_cast<double>(rest * length.batch));
}

double FitPlan::steps_within(double flops) const {
  if (std::isinf(flops)) return flops;
  const double samples = batched_samples(*this);
  const double sample = sample_flops(), epochs = std::floor(flops / (sample * samples));
  return epochs * static_cast<double>(length.steps_per_epoch) +
         std::floor((flops - epochs * sample * samples) / (sample * static_cast<double>(length.batch)));
}

namespace {

// The first layer that takes a variance over the batch of a single value of each sample; nullptr where there is none.
const Layer* layer_over_samples(const Layer& layer, const Model& model) {
  const bool has_one_value = !layer.output.empty() && element_count(layer.output) == layer.output.front();
  const bool changes =
      std::ranges::all_of(layer.buffer_slots, [&](std::size_t slot) { return model.buffers()[slot].changes; });
  if (layer.traits.is_over_batch && has_one_value && changes) return &layer;
  for (const Layer* child : layer.children())
    if (const Layer* found = layer_over_samples(*child, model)) return found;
  return nullptr;
}

// A last batch of one sample would end the training at the end of the first epoch.
void check_last_batch(const FitPlan& plan) {
  const std::int64_t samples = plan.data.train.epoch_size(), batch = plan.loader.batch;
  const bool is_met = plan.length.total_steps == 0 || plan.length.total_steps >= plan.length.steps_per_epoch;
  if (!plan.model || plan.loader.drop_last || batch == 1 || samples % batch != 1 || !is_met) return;
  if (const Layer* layer = layer_over_samples(plan.model->root(), *plan.model)) {
    throw plan.options
        .error("batch", "the last batch of an epoch has one sample (" + std::to_string(samples) + " in batches of " +
                            std::to_string(batch) + "), of which " + layer->path + " has no variance")
        .hint("loader = { drop_last = true }, or another batch");
  }
}

}  // namespace

// Exactly one of epochs, steps and flops; `time` bounds each, or stands alone.
void plan_length(FitPlan& plan, const RunSettings& settings) {
  const Options& fit = plan.options;
  plan.accumulate = micro_batches_of(plan);
  plan.length.batch = plan.loader.batch * plan.accumulate;
  plan.length.steps_per_epoch = steps_per_epoch(plan);
  const bool epochs = fit.given("epochs"), steps = fit.given("steps"), flops = fit.given("flops");
  if (epochs + steps + flops > 1) {
    const std::string second = flops ? "flops" : "steps", first = epochs ? "epochs" : "steps";
    throw fit.error(second, "expected either " + first + " or " + second + ", found both")
        .hint("leave one of them out; --set " + first + "=nil removes the recipe's value");
  }
  if (fit.given("time")) {
    plan.time_budget = time_in_seconds(fit, "time");
  } else if (!epochs && !steps && !flops && settings.extended.empty()) {
    throw fit.error("epochs", "expected a length, found none")
        .hint(
            "epochs = 10, steps = 5000, time = \"10 min\" or flops = 1e15; --within and lab.budget bound a whole run, "
            "and are no length");
  }
  if (settings.counts_flops && !std::isfinite(plan.sample_flops())) {
    throw fit.error("", "nobody knows the FLOPs of this fit, and lab.budget has flops")
        .hint("lab.budget { time = \"2 h\" }");
  }
  // A fit is extended by one total alone: where there is a budget of time, only the time.
  const NewTotal* extended = settings.extended.empty() ? nullptr : &settings.extended.back();
  const bool by_time = extended && extended->is_time();
  if (by_time) extend_time(plan, settings);
  if (extended && !by_time) {
    plan.length.total_steps =
        static_cast<std::int64_t>(extended->count) * (extended->unit == "epochs" ? plan.length.steps_per_epoch : 1);
  } else if (epochs) {
    plan.length.total_steps = fit.integer("epochs") * plan.length.steps_per_epoch;
  } else if (steps) {
    plan.length.total_steps = fit.integer("steps");
  } else if (flops) {
    plan.length.total_steps = steps_of_flops(plan);
  }
  check_last_batch(plan);
}

void plan_intervals(FitPlan& plan) {
  plan.validate_every = interval(plan, "validate");
  if (!plan.options.given("checkpoint")) return;
  const Duration checkpoint = plan.options.duration("checkpoint");
  if (checkpoint.unit == Unit::seconds) {
    plan.checkpoint.seconds = checkpoint.amount;
  } else {
    plan.checkpoint.steps = interval(plan, "checkpoint");
  }
}

void check_more_time(const RunSettings& settings, double before) {
  const NewTotal& wanted = settings.extended.back();
  if (wanted.count <= before) throw wanted.no_more_than(to_text(Duration{before, Unit::seconds}));
}

}  // namespace trainlab

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "core/error.h"
#include "profile/details.h"
#include "run/run.h"
#include "steps/measure.h"
#include "steps/repeat.h"
#include "tensor/types.h"

namespace trainlab {
namespace {

constexpr double notable = 0.05;  // share of a step, as in the rules of the verdict

constexpr LayerSteps fewest_steps{.first = 2, .count = LayerSteps::few};

class Parts {
 public:
  Parts(const Profile& profile, const ProfileOptions& options)
      : step_seconds_(profile.steps.mean),
        begin_seconds_(profile.steps.begin_seconds),
        seconds_(options.seconds),
        say_(options.say) {}

  // Runs the measurement of a part, or notes why the part is missing.
  void measure(const char* name, const std::function<void()>& work) {
    if (stop_requested()) return miss(name, "asked to stop before it was measured");
    try {
      with_torch_errors(work);
    } catch (const Error& error) {
      miss(name, error.headline());
    }
  }
  void say(const std::string& text) const {
    if (say_) say_(text);
  }
  void miss(const char* name, const std::string& reason) {
    details.missing.push_back(std::string(name) + ": " + reason);
  }

  // The seconds for one part: a tenth of the profile's, or half of them where it has its fewest steps only then.
  double seconds() const { return seconds_ / 10; }
  double longest() const { return seconds_ / 2; }
  // The number of steps that take `seconds`, at least `low` and at most `high`.
  std::int64_t steps(double seconds, std::int64_t low, std::int64_t high) const {
    return std::clamp(static_cast<std::int64_t>(seconds / step_seconds_), low, high);
  }
  // Whether the fewest steps that the parts need would take half of the profile's seconds. Layers and memory each begin
  // the stage anew.
  bool is_too_slow() const { return fewest_steps.total() * step_seconds_ + 2 * begin_seconds_ > longest(); }

  ProfileDetails details;

 private:
  const double step_seconds_, begin_seconds_, seconds_;
  const std::function<void(const std::string&)> say_;
};

// The steps of a stage of `total` steps, 0 if unknown, whose layers are measured. Counted and timed steps take longer
// than plain ones.
LayerSteps layer_steps(const Parts& parts, std::int64_t total) {
  const std::int64_t count = parts.steps(parts.seconds() / 6, fewest_steps.count, 1000);
  return {.first = cold_steps_of(total, std::min<std::int64_t>(count, 5)),
          .count = count,
          .seconds = parts.seconds(),
          .longest = parts.longest()};
}

void take_layers(Parts& parts, LayerTable table) {
  if (!table.cut_short.empty()) parts.miss("more steps of the layers", table.cut_short);
  parts.details.layers = std::move(table);
}

void measure_machine(Parts& parts, bool is_busy) {
  const Calibration calibration{.measure = [&] {
    if (is_busy) throw run_error("the machine is busy now, and was not measured before");
    parts.say("measuring this machine once, for a few seconds");
    return calibrate_machine();
  }};
  parts.measure("machine", [&] { parts.details.machine = calibrated_machine(calibration); });
}

void measure_fit(Parts& parts, FitPlan& plan, const Measures& measures, const std::function<std::int64_t()>& collect) {
  const bool is_cpu = plan.device.type() == at::kCPU;
  if (is_cpu) {
    parts.measure("layers",
                  [&] { take_layers(parts, measure_layers(plan, layer_steps(parts, plan.length.total_steps))); });
    parts.measure("memory", [&] {
      parts.details.predicted = predict_memory(plan);
      const std::int64_t lua = collect ? collect() : 0;  // the garbage of earlier runs is no part of a step
      // From the first validation on, the buffers of its loader lie beside a step, which the prediction leaves out.
      const OwnRhythm rhythm(plan);
      plan.validate_every = std::max<std::int64_t>(plan.validate_every, 1000);
      parts.details.memory = record_memory(plan);
      parts.details.memory->lua = lua;
    });
  } else {
    parts.miss("layers, memory and roofs", "they are measured on the CPU");
  }
  // A transform is work of the recipe, and one of the stages of the input.
  const bool transforms = !plan.data.train.transforms.empty() && measures.shares.recipe >= notable;
  if (measures.shares.input >= notable || transforms) {
    const PipelineWork work{.steps = parts.steps(parts.seconds(), 3, 20), .seconds = parts.seconds(), .slowest = 3};
    parts.measure("pipeline", [&] { parts.details.pipeline = measure_pipeline(plan, work); });
  }
  if (is_cpu) measure_machine(parts, judge(measures).bottleneck == Bottleneck::contention);
}

void measure_task(Parts& parts, const Profile& profile, const Options& stage, const RunSettings& settings,
                  const std::function<std::int64_t()>& collect) {
  if (measures_of(profile).shares.input >= notable) {
    parts.miss("pipeline",
               "the stages of the input are measured of a fit's data alone, and this is a task, whose "
               "loops take their batches themselves");
  }
  if (!profile.is_synchronous) return parts.miss("layers, memory and roofs", "they are measured on the CPU");
  parts.measure("layers", [&] {
    take_layers(parts, measure_task_layers(stage, settings, layer_steps(parts, 0)));
    const std::string& type = parts.details.layers->type;
    if (!type.empty()) parts.details.type = type;  // which only the loop's operators tell
  });
  parts.measure("memory", [&] {
    const std::int64_t lua = collect ? collect() : 0;
    parts.details.memory = record_task_memory(stage, settings);
    parts.details.memory->lua = lua;
  });
  measure_machine(parts, judge(measures_of(profile)).bottleneck == Bottleneck::contention);
}

}  // namespace

ProfileDetails measure_details(const Profile& profile, const Options& stage, const RunSettings& settings,
                               const ProfileOptions& options) {
  Parts parts(profile, options);
  if (profile.steps.cut_short) parts.miss("further runs of the stage", profile.steps.why_cut_short());
  const auto none = [&](const std::string& reason) {
    parts.miss("layers, memory and roofs", reason);
    return std::move(parts.details);
  };
  if (profile.steps.steps == 0) {
    return none(profile.kind == "fit" ? "no step could be timed"
                                      : "no pass through a loop of ctx:batches or ctx:steps could be timed");
  }
  if (parts.is_too_slow()) return none("a step, or what comes before the first step, takes too long for --seconds");

  parts.details.threads = settings.threads;
  if (profile.kind == "task") {
    measure_task(parts, profile, stage, settings, options.collect);
  } else {
    FitPlan plan = with_torch_errors([&] { return plan_fit(stage, settings, profile.shared_data()); });
    parts.details.type = dtype_name(plan.precision.compute);
    measure_fit(parts, plan, measures_of(profile), options.collect);
  }
  return std::move(parts.details);
}

}  // namespace trainlab

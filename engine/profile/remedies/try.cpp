// Remedies measured beside the unchanged fit.
#include <ATen/ops/abs.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/item.h>
#include <ATen/ops/max.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <optional>

#include "journal/checkpoint.h"
#include "machine/product_times.h"
#include "profile/remedies.h"
#include "steps/in_turns.h"
#include "tensor/named_tensors.h"
#include "tensor/types.h"
#include "variant.h"

namespace trainlab {

namespace {

constexpr std::int64_t rounds = 4;    // rounds of A B B A: eight ratios, enough for a 95 % interval of their median
constexpr std::int64_t compared = 5;  // steps after which weights are compared
constexpr double least_seconds = 0.1, most_seconds = 3;  // bounds of a short run
constexpr double rounding = 1e-5;  // largest difference, relative to the largest weight of a tensor

// Ends a fit after a checkpoint.
class EndsAtCheckpoint final : public LoopObserver {
 public:
  void committed(std::int64_t) override { throw SeenEnough(); }
};

class Trial {
 public:
  Trial(const ProfileOptions& options, double seconds)
      : say_(options.say ? options.say : [](const std::string&) {}),
        limits_{.seconds = seconds, .precision = 0, .counted = 0} {}

  double speed(Variant& one) const { return samples_per_second(profile_of_variant(one, limits_, say_)); }

  // The weights after some steps, or at the end of a shorter fit.
  NamedTensors weights(Variant& one) const {
    prepare_arithmetic(one.settings.threads);
    const CheckpointRule before = std::exchange(one.plan.checkpoint, {.steps = compared, .seconds = {}});
    const ScratchFolder folder;
    run_measured_fit(one.plan, {.stage = one.stage, .settings = one.settings, .say = say_}, folder,
                     std::make_shared<EndsAtCheckpoint>());
    one.plan.checkpoint = before;
    const std::optional<Checkpoint> newest = CheckpointFolder::read_newest(folder.path() / "checkpoints");
    return newest ? tensors_below(newest->tensors, "model.") : NamedTensors{};
  }

 private:
  std::function<void(const std::string&)> say_;
  StepLimits limits_;
};

bool same_bytes(const at::Tensor& a, const at::Tensor& b) {
  return a.sizes() == b.sizes() && a.scalar_type() == b.scalar_type() &&
         std::memcmp(a.contiguous().const_data_ptr(), b.contiguous().const_data_ptr(), a.nbytes()) == 0;
}

bool same_to_rounding(const at::Tensor& a, const at::Tensor& b) {
  if (a.sizes() != b.sizes() || a.scalar_type() != b.scalar_type()) return false;
  if (!a.is_floating_point()) return same_bytes(a, b);
  return at::allclose(a, b, 0, rounding * (a.numel() > 0 ? a.abs().max().item<double>() : 0));
}

std::string comparison(const NamedTensors& before, const NamedTensors& after) {
  bool same = before.size() == after.size(), close = same;
  for (const auto& [name, tensor] : before) {
    const auto found = after.find(name);
    if (found == after.end()) return "changes the result";
    same = same && same_bytes(tensor, found->second);
    close = close && same_to_rounding(tensor, found->second);
  }
  return same ? "same bytes" : close ? "same to rounding" : "changes the result";
}

FitFacts facts_of(const Profile& profile, const FitPlan& plan, const RunSettings& settings) {
  return {.batch = plan.loader.batch,
          .accumulate = plan.accumulate,
          .samples = plan.data.train.size(),
          .loader_threads = plan.loader.threads,
          .prefetch = plan.loader.prefetch,
          .validate_every = plan.validate_every,
          .checkpoint_every = profile.checkpoint.every.value_or(0),
          .has_metrics = !plan.metrics.empty(),
          .has_transforms = !plan.data.train.transforms.empty(),
          .is_double = plan.precision.weights == at::kDouble,
          .bfloat16_time =
              plan.device.is_cpu() && plan.precision.compute == at::kFloat ? relative_product_time(at::kBFloat16) : 1,
          .threads = settings.threads,
          .cores = static_cast<int>(profile.cores)};
}

void try_one(Remedy& remedy, Variant& base, const Trial& trial, const NamedTensors& weights, const WithSet& with_set) {
  const auto work = [&] {
    Variant other = with_remedy(remedy, base, with_set);
    std::vector<double> ratios;
    in_turns(
        rounds, [&] { return trial.speed(base); }, [&] { return trial.speed(other); },
        [&](double without, double with) { ratios.push_back(with / without); });
    remedy.result = comparison(weights, trial.weights(other));
    remedy.ratio = median_interval(ratios);
  };
  try {
    with_torch_errors(work);
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::interrupted) throw;
    remedy.reason = error.headline();
  }
}

}  // namespace

std::vector<Remedy> try_remedies(const Profile& profile, const StepVerdict& verdict, const Options& stage,
                                 const RunSettings& settings, const WithSet& with_set, const ProfileOptions& options) {
  if (profile.kind != "fit") {
    return {{.name = "changes of the loop", .set = "", .reason = "a task's loop is code, and has no options"}};
  }
  return with_torch_errors([&] {
    Variant base = variant_of(stage, settings, nullptr);
    std::vector<Remedy> remedies = remedies_for(verdict.bottleneck, facts_of(profile, base.plan, settings));
    if (!with_set) {
      for (Remedy& one : remedies)
        if (one.is_tried()) one.reason = "the options of this fit come from a function: profile it as a fit of its own";
    }
    const auto to_try = std::ranges::count_if(remedies, [](const Remedy& one) { return one.is_tried(); });
    if (to_try == 0) return remedies;
    const double share = options.seconds / static_cast<double>(4 * rounds * to_try);
    const double seconds = std::clamp(share, least_seconds, most_seconds);
    const Trial trial(options, seconds);
    // A run needs time for some cold steps, some timed steps, and the work between them.
    const bool is_too_long = 4 * profile.steps.mean > seconds;
    const NamedTensors weights = is_too_long ? NamedTensors{} : trial.weights(base);
    for (Remedy& remedy : remedies) {
      if (!remedy.is_tried()) continue;
      if (is_too_long) {
        remedy.reason =
            fmt::format("a step takes {:.2g} s, and --seconds {:g} leave {:.2g} s for each of {} short runs",
                        profile.steps.mean, options.seconds, seconds, 4 * rounds * to_try);
      } else {
        try_one(remedy, base, trial, weights, with_set);
      }
    }
    prepare_arithmetic(settings.threads);
    return remedies;
  });
}

}  // namespace trainlab

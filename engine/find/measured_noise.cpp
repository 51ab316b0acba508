#include "measured_noise.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <span>
#include <utility>

#include "find/noise_scale.h"
#include "tensor/types.h"

namespace trainlab {
namespace {

constexpr std::int64_t per_group = 4;
constexpr std::int64_t measured = per_group * static_cast<std::int64_t>(noise_groups);  // gradients at the same weights
constexpr std::int64_t places = 3;  // steps of a training at which gradients are measured

// The steps of an epoch that have length.batch samples: all of them, or all but the last, which has the rest.
std::int64_t whole_steps(const FitPlan& plan) {
  const bool is_last_smaller = plan.step_samples() < static_cast<double>(plan.length.batch);
  return plan.length.steps_per_epoch - (is_last_smaller ? 1 : 0);
}

// Whether the groups of gradients have whole epochs where the first group begins with an epoch. Such groups do not
// depend on each other, as the batches of an epoch do.
bool has_whole_epochs(std::int64_t whole) { return whole > 1 && per_group % whole == 0; }

// The most steps among which `measured` whole ones are, whatever step of an epoch the first of them is, with those
// before the next epoch where that has to begin.
std::int64_t steps_of_place(const FitPlan& plan) {
  const std::int64_t whole = whole_steps(plan), smaller = plan.length.steps_per_epoch - whole;
  const std::int64_t before = has_whole_epochs(whole) ? plan.length.steps_per_epoch - 1 : 0;
  return before + measured + smaller * ((measured + whole - 1) / whole);
}

// NoiseMeter: lets the fit train, and at each step of `at`, or at the next one that begins an epoch, keeps the weights
// unchanged for `measured` whole steps, whose gradients are summed.
class NoiseMeter final : public GradientPass {
 public:
  NoiseMeter(const FitPlan& plan, std::vector<std::int64_t> at)
      : batch_(static_cast<double>(plan.length.batch)),
        samples_(plan.data.train.draws ? GradientSums().epoch : static_cast<double>(plan.data.train.epoch_size())),
        steps_per_epoch_(plan.length.steps_per_epoch),
        whole_(whole_steps(plan)),
        at_(std::move(at)) {}

  std::string_view name() const override { return "gradient noise"; }
  bool comes_before_clip() const override { return true; }

  Verdict apply(std::span<at::Tensor> gradients, const StepFacts& facts) override {
    is_lost = is_lost || !std::isfinite(facts.loss.item<double>());
    if (is_lost) throw SeenEnough();
    const std::int64_t in_epoch = facts.step % steps_per_epoch_;
    const bool waits = epochs_.empty() && has_whole_epochs(whole_) && in_epoch > 0;
    if (trained_ < at_[found.size()] || waits) {
      if (!facts.is_again) ++trained_;
      return {};
    }
    if (in_epoch < whole_ && !facts.is_again) take(gradients, facts.step / steps_per_epoch_);
    return {.skipped = std::vector<std::uint8_t>(facts.active.size(), 1)};
  }

  std::int64_t trained() const { return trained_; }

  std::vector<NoiseAt> found;
  bool is_lost = false;  // whether a loss was not finite

 private:
  // The group of the gradient number i of a place.
  static std::size_t group_of(std::size_t i) { return i / static_cast<std::size_t>(per_group); }

  void take(std::span<at::Tensor> gradients, std::int64_t epoch) {
    const std::size_t group = group_of(epochs_.size());
    if (epochs_.empty()) sums_.assign(noise_groups, {});
    std::vector<at::Tensor>& sum = sums_[group];
    if (sum.empty()) sum.resize(gradients.size());
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      if (!gradients[i].defined()) continue;
      const at::Tensor flat = gradients[i].detach().reshape(-1).to(at::kFloat);
      totals_.squares[group] += flat.dot(flat).item<double>();
      sum[i] = sum[i].defined() ? sum[i].add_(flat) : flat.clone();
    }
    epochs_.push_back(epoch);
    if (std::ssize(epochs_) < measured) return;
    for (std::size_t a = 0; a < noise_groups; ++a) {
      for (std::size_t b = 0; b < noise_groups; ++b) {
        for (std::size_t i = 0; i < gradients.size(); ++i) {
          if (sums_[a][i].defined() && sums_[b][i].defined())
            totals_.dots[a][b] += sums_[a][i].dot(sums_[b][i]).item<double>();
        }
      }
    }
    for (std::size_t i = 0; i < epochs_.size(); ++i) {
      for (std::size_t j = 0; j < epochs_.size(); ++j)
        totals_.pairs[group_of(i)][group_of(j)] += i != j && epochs_[i] == epochs_[j] ? 1 : 0;
    }
    totals_.batch = batch_;
    totals_.epoch = samples_;
    totals_.per_group = static_cast<double>(per_group);
    found.push_back({trained_, noise_scale(totals_)});
    totals_ = {};
    sums_.clear();
    epochs_.clear();
    if (found.size() == at_.size()) throw SeenEnough();
  }

  double batch_, samples_;  // samples_: GradientSums::epoch
  std::int64_t steps_per_epoch_, whole_;
  std::vector<std::int64_t> at_;  // numbers of trained steps
  std::int64_t trained_ = 0;
  std::vector<std::int64_t> epochs_;           // by gradient of the present place: the epoch of its batch
  std::vector<std::vector<at::Tensor>> sums_;  // sums of gradients by group and parameter
  GradientSums totals_;
};

}  // namespace

// At worst every other step is a smaller one.
std::int64_t steps_with_noise(std::int64_t training_steps) { return training_steps + places * 2 * measured; }

std::int64_t noise_bytes(const FitPlan& plan) {
  std::int64_t values = 0;
  for (const ParameterInfo& parameter : plan.model->parameters())
    if (parameter.trains) values += element_count(parameter.shape);
  return static_cast<std::int64_t>(noise_groups * sizeof(float)) * values;
}

std::vector<NoiseAt> measured_noise(Trainings& trainings, const FitPlan& plan, std::int64_t longest) {
  const std::int64_t held = plan.data.train.epoch_size(), most = plan.data.train.draws ? held : held / 2;
  if (plan.length.batch > most) {
    throw plan.options
        .error("batch", fmt::format("expected steps of at most {} of the {} samples of an epoch, found {}", most, held,
                                    plan.length.batch))
        .hint(
            "gradients of nearly all samples hardly differ, and the noise is how gradients of different samples "
            "differ: a smaller batch, or a smaller accumulate");
  }
  const std::int64_t of_place = steps_of_place(plan);
  const std::int64_t steps = std::min(longest, plan.length.total_steps - places * of_place);
  if (steps < places) {
    throw plan.options
        .error("",
               fmt::format("expected at least {} steps, found {}", places * (of_place + 1), plan.length.total_steps))
        .hint(fmt::format("gradients are measured at {} places, {} each: more epochs, as by --set epochs=20", places,
                          measured));
  }
  const auto meter = std::make_shared<NoiseMeter>(plan, std::vector<std::int64_t>{steps / 8, steps / 2, steps - 1});
  trainings.run(plan, {.passes = {meter}});
  if (std::ssize(meter->found) < places) {
    throw plan.options
        .error("", meter->is_lost ? fmt::format("the loss is not finite after {} steps", meter->trained())
                                  : fmt::format("the training ended after {} steps", meter->trained()))
        .hint("a batch can be found only for a training that learns: trainlab run says what is wrong with it");
  }
  return meter->found;
}

}  // namespace trainlab

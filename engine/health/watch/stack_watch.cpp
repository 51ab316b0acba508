#include "stack_watch.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/statistics.h"
#include "samples.h"
#include "tensor/device.h"
#include "tensor/dry_run.h"

namespace trainlab {
namespace {

constexpr std::int64_t most_stacked_values = 256;  // that are read of a matrix of each member

}  // namespace

CompanyBytes stacked_bytes(const FitPlan& plan, std::size_t members) {
  if (!watches_steps(plan) || !plan.model) return {};
  std::int64_t sample = 0;
  for (const ParameterInfo& one : plan.model->parameters()) {
    if (!one.trains || one.shape.size() < 2) continue;
    const std::int64_t values = sampled_values(element_count(one.shape), most_stacked_values);
    sample += block_bytes(static_cast<std::int64_t>(members * sizeof(float)) * values);
  }
  return {.in_step = sample, .in_pass = sample, .between = sample};
}

StackWatch::StackWatch(const FitPlan& plan, std::vector<std::shared_ptr<HealthWatch>> members)
    : members_(std::move(members)), is_synchronous_(device_at(plan.device).is_synchronous()) {
  std::size_t place = 0;
  for (const ParameterInfo& one : plan.model->parameters()) {
    if (!one.trains) continue;
    if (one.shape.size() > 1) matrices_.push_back(place);
    ++place;
  }
}

void StackWatch::started(std::int64_t step, std::size_t) {
  for (const auto& member : members_) member->begin(step);
}

StackWatch::Sample StackWatch::sample_of_step(const StepFacts& facts) const {
  Sample sample{.step = facts.step,
                .places = {facts.places.begin(), facts.places.end()},
                .changes = {facts.active.begin(), facts.active.end()},
                .matrices = {}};
  for (const std::size_t i : matrices_) {
    const at::Tensor& weight = facts.weights[i];
    const std::int64_t values = weight.numel() / facts.members, last = weight.size(-1);
    std::int64_t spacing = std::max<std::int64_t>(values / most_stacked_values, 1);
    while (spacing > 1 && std::gcd(spacing, last) > 1) ++spacing;  // so that all columns occur
    sample.matrices.push_back(weight.detach()
                                  .reshape({facts.members, values})
                                  .slice(1, 0, values, spacing)
                                  .to(at::kFloat, /*non_blocking=*/false, /*copy=*/true)
                                  .contiguous());
  }
  return sample;
}

void StackWatch::compare(const Sample& before, const Sample& after) {
  for (std::size_t row = 0; row < after.places.size(); ++row) {
    const std::size_t place = after.places[row];
    const auto found = std::ranges::find(before.places, place);
    if (found == before.places.end()) continue;
    const auto row_before = found - before.places.begin();
    // A member that has stopped stays as it is, which is no update of 0.
    if (!before.changes[static_cast<std::size_t>(row_before)]) continue;
    std::vector<double> updates;
    for (std::size_t i = 0; i < matrices_.size(); ++i) {
      const std::int64_t values = after.matrices[i].size(1);
      const float* const w = before.matrices[i].const_data_ptr<float>() + row_before * values;
      const float* const v = after.matrices[i].const_data_ptr<float>() + static_cast<std::int64_t>(row) * values;
      float ww = 0, uu = 0;
      for (std::int64_t k = 0; k < values; ++k) {
        ww += w[k] * w[k];
        uu += (w[k] - v[k]) * (w[k] - v[k]);
      }
      if (!members_[place]->note_0(matrices_[i], ww == 0)) updates.push_back(std::sqrt(uu / ww));
    }
    MeasuredStep figures{.step = static_cast<double>(before.step), .rate = members_[place]->latest_rate()};
    if (!updates.empty()) figures.median_update = upper_median(std::move(updates));
    members_[place]->add(figures);
  }
}

void StackWatch::take_losses(const StepFacts& facts) {
  for (std::size_t row = 0; row < facts.places.size(); ++row) {
    if (!facts.active[row]) continue;
    const double loss = host_number(facts.loss, static_cast<std::int64_t>(row));
    members_[facts.places[row]]->add_loss(facts.step, loss);
  }
}

Verdict StackWatch::apply(std::span<at::Tensor>, const StepFacts& facts) {
  if (facts.is_again || !is_synchronous_) return {};
  const bool is_measured = members_.front()->is_measured(facts.step);
  if (before_ || is_measured) {
    Sample now = sample_of_step(facts);
    if (before_) compare(*before_, now);
    before_.reset();
    if (is_measured) before_ = std::move(now);
  }
  take_losses(facts);
  return {};
}

}  // namespace trainlab

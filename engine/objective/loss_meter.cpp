#include "objective/loss_meter.h"

#include <ATen/ops/full_like.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace trainlab {
namespace {

// One element of a 0-dim or [M] tensor on the CPU.
double element(const at::Tensor& tensor, std::size_t i) {
  return tensor.scalar_type() == at::kDouble ? tensor.const_data_ptr<double>()[i]
                                             : static_cast<double>(tensor.const_data_ptr<float>()[i]);
}

}  // namespace

LossMeter::LossMeter(std::int64_t members, std::vector<LossPart> parts)
    : members_(members ? static_cast<std::size_t>(members) : 1),
      parts_(std::move(parts)),
      sums_(members_ * std::max<std::size_t>(parts_.size(), 1)),
      weights_(sums_.size()) {}

void LossMeter::add(const LossValue& loss, std::int64_t samples) {
  if (parts_.empty()) {
    add_part(0, loss, samples);
  } else {
    for (std::size_t i = 0; i < parts_.size(); ++i) add_part(i, loss.parts.at(i), samples);
  }
}

void LossMeter::add_part(std::size_t part, const LossMean& mean, std::int64_t samples) {
  const std::size_t first = part * members_;
  if (mean.value.is_cpu()) {
    for (std::size_t m = 0; m < members_; ++m) {
      const double weight = mean.weight.defined() ? element(mean.weight, m) : static_cast<double>(samples);
      sums_[first + m] += element(mean.value, m) * weight;
      weights_[first + m] += weight;
    }
    return;
  }
  const auto value = mean.value.detach().to(at::kDouble).reshape({-1});
  const auto weight = mean.weight.defined() ? mean.weight.detach().to(at::kDouble).reshape({-1})
                                            : at::full_like(value, static_cast<double>(samples));
  if (!device_sums_.defined()) {
    device_sums_ = at::zeros({static_cast<std::int64_t>(sums_.size())}, value.options());
    device_weights_ = at::zeros_like(device_sums_);
  }
  const auto start = static_cast<std::int64_t>(first), length = static_cast<std::int64_t>(members_);
  device_sums_.narrow(0, start, length).addcmul_(value, weight);
  device_weights_.narrow(0, start, length).add_(weight);
}

void LossMeter::fetch() {
  if (!device_sums_.defined()) return;
  const auto sums = device_sums_.cpu(), weights = device_weights_.cpu();
  for (std::size_t i = 0; i < sums_.size(); ++i) {
    sums_[i] += element(sums, i);
    weights_[i] += element(weights, i);
  }
  device_sums_.reset();
  device_weights_.reset();
}

double LossMeter::quotient(std::size_t i) const {
  if (weights_[i] == 0 && sums_[i] == 0) return std::numeric_limits<double>::quiet_NaN();
  return sums_[i] / weights_[i];
}

double LossMeter::mean(std::size_t member) {
  fetch();
  if (parts_.empty()) return quotient(member);
  double sum = 0;
  for (std::size_t i = 0; i < parts_.size(); ++i) sum += parts_[i].factor * quotient(i * members_ + member);
  return sum;
}

MetricMap LossMeter::metrics(const std::string& split, std::size_t member) {
  MetricMap all{{split + ".loss", mean(member)}};
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    all[split + ".loss." + parts_[i].name] = quotient(i * members_ + member);
  }
  return all;
}

bool LossMeter::finite(std::size_t member) {
  fetch();
  for (std::size_t i = member; i < sums_.size(); i += members_) {
    if (!std::isfinite(sums_[i])) return false;
  }
  return true;
}

bool LossMeter::counts(std::size_t member) {
  fetch();
  for (std::size_t i = member; i < weights_.size(); i += members_) {
    if (weights_[i] == 0) return false;
  }
  return true;
}

void LossMeter::reset() {
  std::fill(sums_.begin(), sums_.end(), 0.0);
  std::fill(weights_.begin(), weights_.end(), 0.0);
  device_sums_.reset();
  device_weights_.reset();
}

Value LossMeter::state(std::size_t member) {
  fetch();
  Value::List sums, weights;
  for (std::size_t i = member; i < sums_.size(); i += members_) {
    sums.emplace_back(sums_[i]);
    weights.emplace_back(weights_[i]);
  }
  Value state;
  state.set("sums", std::move(sums));
  state.set("weights", std::move(weights));
  return state;
}

void LossMeter::restore(std::size_t member, const Value& state) {
  fetch();
  for (std::size_t i = member, part = 0; i < sums_.size(); i += members_, ++part) {
    sums_[i] = state["sums"].list().at(part).number();
    weights_[i] = state["weights"].list().at(part).number();
  }
}

}  // namespace trainlab

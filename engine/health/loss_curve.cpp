#include <algorithm>
#include <cmath>

#include "health/figures.h"

namespace trainlab {

void LossCurve::add(double loss) {
  if (!std::isfinite(loss)) return;
  if (steps_ == 0) first_ = loss;
  const auto take = [&](LossBlock& block) {
    ++block.steps;
    block.sum += loss;
  };
  if (recent_.steps == span) recent_ = {};
  take(recent_);
  if (recent_.steps == span) worst_ = std::max(worst_, recent_.mean());
  if (blocks_.empty() || blocks_.back().steps == block_steps_) blocks_.emplace_back();
  take(blocks_.back());
  ++steps_;
  if (blocks_.size() < most_blocks || blocks_.back().steps < block_steps_) return;
  for (std::size_t i = 0; i < most_blocks / 2; ++i) {
    const LossBlock &a = blocks_[2 * i], &b = blocks_[2 * i + 1];
    blocks_[i] = {.steps = a.steps + b.steps, .sum = a.sum + b.sum};
  }
  blocks_.resize(most_blocks / 2);
  block_steps_ *= 2;
}

double LossCurve::start(std::int64_t steps) const {
  if (steps == 1) return first_;
  LossBlock all;
  for (const LossBlock& block : blocks_) {
    all.steps += block.steps;
    all.sum += block.sum;
    if (all.steps >= steps) return all.mean();
  }
  return unmeasured;
}

double LossCurve::mean(double from, double to) const {
  const auto count = static_cast<double>(blocks_.size());
  auto first = static_cast<std::size_t>(std::floor(from * count));
  const auto last = std::min(static_cast<std::size_t>(std::ceil(to * count)), blocks_.size());
  LossBlock all;
  for (; first < last; ++first) {
    all.steps += blocks_[first].steps;
    all.sum += blocks_[first].sum;
  }
  return all.steps ? all.mean() : unmeasured;
}

Value LossCurve::to_value() const {
  Value::List sums;
  for (const LossBlock& block : blocks_) sums.push_back(block.sum);
  return Value::Map{{"sums", std::move(sums)}, {"recent", Value::List{recent_.steps, recent_.sum}},
                    {"steps", steps_},         {"block_steps", block_steps_},
                    {"first", first_},         {"worst", worst_}};
}

LossCurve LossCurve::of_value(const Value& value) {
  LossCurve curve;
  const Value::List& recent = value["recent"].list();
  curve.recent_ = {.steps = recent.at(0).integer(), .sum = recent.at(1).number()};
  curve.steps_ = value["steps"].integer();
  curve.block_steps_ = value["block_steps"].integer();
  for (const Value& sum : value["sums"].list())
    curve.blocks_.push_back({.steps = curve.block_steps_, .sum = sum.number()});
  // The last block has what the full ones before it leave of all steps.
  const std::int64_t before_last = (std::ssize(curve.blocks_) - 1) * curve.block_steps_;
  if (!curve.blocks_.empty()) curve.blocks_.back().steps = curve.steps_ - before_last;
  curve.first_ = value["first"].number();
  curve.worst_ = value["worst"].number();
  return curve;
}

}  // namespace trainlab

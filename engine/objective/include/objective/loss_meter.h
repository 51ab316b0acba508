// LossMeter: the running mean of a loss, in training and in evaluations.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>
#include <vector>

#include "objective/loss.h"
#include "objective/metric.h"

namespace trainlab {

// Mean of a loss over samples (or class weights), per member. On a CPU each value is read at once, at the cost of a
// load; on other devices values are summed there in float64 and read when they are asked for.
class LossMeter {
 public:
  // `parts`: number of parts of a sum of losses (Loss::parts()); each part is averaged by itself.
  explicit LossMeter(std::int64_t members, std::vector<LossPart> parts = {});

  void add(const LossValue& loss, std::int64_t samples);
  // NaN before anything was added; of a sum of losses the sum of their means. Synchronises.
  double mean(std::size_t member);
  // The mean as `split`.loss, and those of a sum's parts as `split`.loss.NAME.
  MetricMap metrics(const std::string& split, std::size_t member);
  // False if an added loss is NaN or infinite. Costs nothing on a CPU, synchronises other devices.
  bool finite(std::size_t member);
  // False if all that was added, of a sum all of one part, had the weight 0. Synchronises.
  bool counts(std::size_t member);
  void reset();

  Value state(std::size_t member);  // for checkpoints: exact
  void restore(std::size_t member, const Value& state);

 private:
  void fetch();
  void add_part(std::size_t part, const LossMean& mean, std::int64_t samples);
  double quotient(std::size_t i) const;

  std::size_t members_;
  std::vector<LossPart> parts_;
  std::vector<double> sums_, weights_;       // [max(parts, 1) · members]
  at::Tensor device_sums_, device_weights_;  // the same, or undefined
};

}  // namespace trainlab

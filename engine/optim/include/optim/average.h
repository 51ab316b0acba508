// Averages of weights: an exponential moving average (lab.ema) or the plain mean of stochastic weight averaging
// (lab.swa), for one model or a group of M members, in one pass per tensor.
//
// Running statistics of norms are averaged with the weights; counts, and tensors that must not be averaged, are copied.
// Not thread-safe.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/registry.h"
#include "optim/schedule.h"

namespace trainlab {

struct AveragedTensor {
  std::string name;      // "2.weight"
  at::Tensor value;      // the live one; with members > 0 it has a leading member axis
  bool averages = true;  // if not, each update copies it
};

class WeightAverage {
 public:
  // One spec per row, as for optimizers. Error{recipe} for durations that cannot be turned into steps, and for a start
  // so late that a run of known length would end before the first update.
  WeightAverage(std::span<const Options> specs, const RunLength& length, std::vector<AveragedTensor> tensors,
                std::int64_t members);

  // Called after optimizer step `step` (from 0). A row with `active` 0 keeps its average.
  void stepped(std::int64_t step, std::span<const std::uint8_t> active = {});
  // Sets the length of the run, which a time budget leaves open.
  void set_total(std::int64_t total_steps);

  // How many times the row's average has taken the weights in. Before the first time there is no average.
  std::int64_t updates(std::size_t row) const {
    return static_cast<std::int64_t>(updates_.const_data_ptr<double>()[row]);
  }
  // Whether the row's average is validated and kept in place of the weights, once there is one.
  bool evaluated(std::size_t row) const { return rows_[row].evaluated; }

  // The averages in the order of the tensors.
  const std::vector<at::Tensor>& values() const { return averages_; }
  // Averages and counts under stable names ("2.weight", "updates"), for checkpoints; tensors are the live ones.
  std::vector<std::pair<std::string, at::Tensor>> state() const;

 private:
  struct Row {
    Options spec;
    double decay = -1;  // below 0: the plain mean
    bool evaluated = true;
    std::int64_t start = 0, every = 1;
    double total = 0;  // steps of the run for which the durations were turned into steps
  };
  // Turns the row's durations into steps of a run of `total` steps.
  void plan(Row& row, double total) const;
  Error never_begins(const Row& row) const;

  std::vector<Row> rows_;
  RunLength length_;
  std::vector<AveragedTensor> tensors_;
  std::vector<at::Tensor> averages_;
  at::Tensor updates_, totals_;  // float64 [1] or [members]; a total of 0: not set since
};

}  // namespace trainlab

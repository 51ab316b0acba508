// Metrics: streaming, exact over the whole split, one value per member.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "objective/loss.h"

namespace trainlab {

class Metric {
 public:
  virtual ~Metric() = default;
  // Adds a batch; shapes as for Loss. Accumulates on the device, does not synchronise.
  virtual void update(const at::Tensor& out, const BatchView& batch) = 0;
  // The value of each member (one element without a member axis); NaN before any update. Synchronises. Empty for a
  // metric that is not a number (MetricKind::is_number).
  virtual std::vector<double> compute() const = 0;
  virtual void reset() = 0;
  // A report for summary.json that is more than a number (a confusion matrix); nil for most metrics.
  virtual Value report(std::size_t member) const;
};

struct MetricKind {
  // members 0: no member axis.
  std::function<std::unique_ptr<Metric>(const Options&, const Head&, std::int64_t members)> make;
  // "accuracy", "top_5": the part after `val.`; may depend on the options.
  std::function<std::string(const Options&)> name;
  bool minimize = true;   // the better direction
  bool is_number = true;  // false for a metric that gives a report only
  // Whether 1 is the best value of all: no model can have more.
  bool at_most_one = false;
};

// One element of a fit's option `metrics`: an entry with its options, or a metric that the recipe has written itself.
struct PlannedMetric {
  std::string name;              // without the split: "accuracy"
  std::optional<bool> minimize;  // whether smaller is better, if it is known
  bool is_number = true;         // false for a metric that gives a report only
  bool at_most_one = false;      // whether 1 is known to be the best value of all
  std::function<std::unique_ptr<Metric>(const Head&, std::int64_t members)> make;
};

// Values of metrics by full name: "val.accuracy".
using MetricMap = std::map<std::string, double>;

}  // namespace trainlab

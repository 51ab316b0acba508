// Stop rules: asked after each validation (each epoch where there is none), once per member.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "core/registry.h"

namespace trainlab {

// What a rule may look at.
struct Progress {
  std::int64_t step = 0, epoch = 0;
  double seconds = 0;  // of training so far
  // Value of a metric by its full name ("val.loss"); Error{recipe} for a name that does not exist.
  std::function<double(const std::string&)> metric;
};

class StopRule {
 public:
  virtual ~StopRule() = default;
  // A reason to stop now, or nothing.
  virtual std::optional<std::string> validated(const Progress& progress) = 0;
  // The same, asked of those that go on when all members of the group have been validated, unless it was the last time.
  virtual std::optional<std::string> all_validated() { return {}; }
  virtual Value state() const { return {}; }
  virtual void restore(const Value& state) { (void)state; }
};

// `minimize(metric)` tells the declared direction of a metric name.
struct StopContext {
  std::string monitor;  // default metric of rules
  std::function<bool(const std::string&)> minimize;
};

using StopFactory = std::function<std::unique_ptr<StopRule>(const Options&, const StopContext&)>;

}  // namespace trainlab

// Stop rules, which are asked after each validation (or epoch, if there is no validation part), once for each member.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "core/registry.h"

namespace trainlab {

// The facts that a rule may use.
struct Progress {
  std::int64_t step = 0, epoch = 0;
  double seconds = 0;            // of training so far
  std::int64_t total_steps = 0;  // with which the fit will end, an estimate where a budget ends it; 0: unknown
  // Whether the schedule still lowers the learning rate before the end, be it after a rise; null: no.
  std::function<bool()> rate_falls = {};
  // Value of a metric by its full name ("val.loss"); Error{recipe} for a name that does not exist.
  std::function<double(const std::string&)> metric = {};
};

class GradientReader;

class StopRule {
 public:
  virtual ~StopRule() = default;
  // The reason to stop now, or nullopt.
  virtual std::optional<std::string> validated(const Progress& progress) = 0;
  // The same question, asked again of the rules of continuing members when all members of the group have been
  // validated, except at the last validation.
  virtual std::optional<std::string> all_validated() { return {}; }
  // Tells what the rule does at a validation where a metric is NaN or infinite: "stop.patience counts it as no
  // improvement". Empty if the rule does not read this metric, or compares such a value like any other.
  virtual std::string at_not_finite(const std::string& metric, double value) const {
    (void)metric, (void)value;
    return {};
  }
  // The part of a rule that reads gradients, which is the rule's own; null for one that reads none.
  virtual GradientReader* gradient_reader() { return nullptr; }
  virtual Value state() const { return {}; }
  virtual void restore(const Value& state) { (void)state; }
};

struct StopContext {
  std::string monitor;                               // default metric of rules
  std::function<bool(const std::string&)> minimize;  // the declared direction of a metric, by its full name
  // The value than which no model can have a better one; nullopt where none is known.
  std::function<std::optional<double>(const std::string&)> best_possible;
};

using StopFactory = std::function<std::unique_ptr<StopRule>(const Options&, const StopContext&)>;

}  // namespace trainlab

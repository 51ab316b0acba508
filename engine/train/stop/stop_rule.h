// The metric of a stop rule, whose errors name the rule's place in the recipe. Private to the module.
#pragma once

#include <string>

#include "train/stop.h"

namespace trainlab {

class Registry;

// The metric that a rule watches.
class WatchedMetric {
 public:
  // `fallback` is used if the recipe names no metric.
  WatchedMetric(const Options& options, const std::string& fallback);

  const std::string& name() const { return name_; }
  // Both raise the error of an unknown name with the rule's path and line.
  bool minimize(const StopContext& context) const;
  double read(const Progress& progress) const;

 private:
  template <class F>
  auto placed(F&& ask) const;

  Options options_;
  std::string name_;
};

}  // namespace trainlab

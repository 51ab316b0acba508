// Pruners: whether a trial that is under way is worth going on with.
//
// A pruner is a pure function of what trials have reported. With several repeats (seeds) a trial's value at a resource
// is the mean over its repeats that have come so far. Resources count from 1: the validations of a fit.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>

#include "core/registry.h"
#include "study/trials.h"

namespace trainlab {

// Curves of trials as pruners see them: smaller values are better, whatever the study's direction.
class Curves {
 public:
  // Trials numbered `visible` and above are not looked at (but the one in question is): a deterministic study hides
  // what another number of workers might not have seen yet.
  Curves(const Trials& trials, bool maximize, std::int64_t visible)
      : trials_(trials), maximize_(maximize), visible_(visible) {}

  const Trials& trials() const { return trials_; }
  std::int64_t visible() const { return std::min(visible_, trials_.size()); }
  // The trial's value at a resource: NaN where one of its repeats reported NaN, nullopt where none has come so far.
  std::optional<double> at(std::int64_t trial, std::int64_t resource) const;
  std::int64_t last_resource(std::int64_t trial) const;  // of the repeat under way; 0: nothing was reported
  // The value of a complete trial.
  double value(std::int64_t trial) const { return maximize_ ? -trials_.value(trial) : trials_.value(trial); }
  double oriented(double value) const { return maximize_ ? -value : value; }

 private:
  const Trials& trials_;
  bool maximize_;
  std::int64_t visible_;
};

class Pruner {
 public:
  virtual ~Pruner() = default;
  // Asked after each report of the trial. Whether it compares trials with each other: see `deterministic`.
  virtual bool compares() const { return true; }
  virtual bool prunes(const Curves& curves, std::int64_t trial) const = 0;
};

// What an entry of kind "pruner" is implemented by.
using PrunerFactory = std::function<std::unique_ptr<Pruner>(const Options&)>;
std::unique_ptr<Pruner> make_pruner(const Options& spec);

void register_pruners(Registry& registry);

}  // namespace trainlab

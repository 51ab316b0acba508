// Pruners: whether a trial that is under way is worth going on with.
//
// A pruner is a pure function of what trials have reported. With several repeats (seeds) a trial's value at a resource
// is the mean over its repeats that have come so far. Resources count from 1: the validations of a fit.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "core/registry.h"
#include "study/trials.h"

namespace trainlab {

// Curves of trials as pruners see them: smaller values are better, whatever the study's directions.
class Curves {
 public:
  // `maximize`: of the objectives that are looked at, which may be the first ones only. Trials numbered `visible` and
  // above are not looked at (but the one in question is): a deterministic study hides what another number of workers
  // might not have seen yet.
  Curves(const Trials& trials, std::vector<bool> maximize, std::int64_t visible)
      : trials_(trials), maximize_(std::move(maximize)), visible_(visible) {}

  const Trials& trials() const { return trials_; }
  std::size_t objectives() const { return maximize_.size(); }
  std::int64_t visible() const { return std::min(visible_, trials_.size()); }
  // Trials::mean_at, mean_from and walk, so that smaller is better.
  std::vector<double> at(std::int64_t trial, std::int64_t resource) const;
  std::vector<double> first_from(std::int64_t trial, std::int64_t resource) const;
  void walk(std::int64_t trial, const Trials::Visit& visit) const;
  // Of the first objective: the value of a complete trial, and one that was reported.
  double value(std::int64_t trial) const { return oriented(trials_.value(trial)); }
  double oriented(double value) const { return maximize_[0] ? -value : value; }

 private:
  std::vector<double> oriented(std::vector<double> values) const;

  const Trials& trials_;
  std::vector<bool> maximize_;
  std::int64_t visible_;
};

class Pruner {
 public:
  virtual ~Pruner() = default;
  // Asked after each report of the trial. Whether it compares trials with each other: see `deterministic`.
  virtual bool compares() const { return true; }
  virtual bool prunes(const Curves& curves, std::int64_t trial) const = 0;
};

// What an entry of kind "pruner" is implemented by. Error{recipe} where the study has more objectives than it can
// judge.
using PrunerFactory = std::function<std::unique_ptr<Pruner>(const Options&, std::size_t objectives)>;
std::unique_ptr<Pruner> make_pruner(const Options& spec, std::size_t objectives);

}  // namespace trainlab

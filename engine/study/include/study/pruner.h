// Pruners: which running trials to stop early.
//
// A pruner is a pure function of what trials have reported. With several repeats (seeds) a trial's value at a resource
// is the mean over the repeats that have reached it. Resources count from 1: the validations of a fit.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/registry.h"
#include "study/trials.h"

namespace trainlab {

// Curves of trials as pruners see them: smaller values are better, whatever the study's directions.
class Curves {
 public:
  // `maximize`: the directions of the objectives that the pruner uses, possibly only the first ones. Trials numbered
  // `visible` and above are hidden, except the trial that is judged: a deterministic study hides trials that a
  // different number of workers might not have seen yet. `judged`: the resource at which the pruner was asked before
  // about the repeat that reported last, 0 for the first time; nullopt: asked after each report.
  Curves(const Trials& trials, std::vector<bool> maximize, std::int64_t visible,
         std::optional<std::int64_t> judged = std::nullopt)
      : trials_(trials), maximize_(std::move(maximize)), visible_(visible), judged_(judged) {}

  const Trials& trials() const { return trials_; }
  std::size_t objectives() const { return maximize_.size(); }
  std::int64_t visible() const { return std::min(visible_, trials_.size()); }
  // Up to which resource the trial was judged before, so that what came since is judged now.
  std::int64_t judged(std::int64_t trial) const { return judged_.value_or(trials_.previous_resource(trial)); }
  // The same, as if the trial had never been judged.
  Curves unjudged() const { return {trials_, maximize_, visible_, 0}; }
  // Like Trials::mean_at, mean_from and walk, but smaller is better.
  std::vector<double> at(std::int64_t trial, std::int64_t resource) const;
  std::vector<double> first_from(std::int64_t trial, std::int64_t resource) const;
  void walk(std::int64_t trial, const Trials::Visit& visit) const;
  // The values of the report, up to the first one there or beyond, at which the first objective was best: what a
  // training delivers that ends there and keeps its best weights. Empty if no repeat has got there.
  std::vector<double> best_until(std::int64_t trial, std::int64_t resource) const;
  // Values of the first objective: of a complete trial, and of a report.
  double value(std::int64_t trial) const { return oriented(trials_.value(trial)); }
  double oriented(double value) const { return maximize_[0] ? -value : value; }

 private:
  std::vector<double> oriented(std::vector<double> values) const;

  const Trials& trials_;
  std::vector<bool> maximize_;
  std::int64_t visible_;
  std::optional<std::int64_t> judged_;
};

// The weights that the trainings of a study deliver: the pruner knows them because rungs judge trials by what they
// would deliver there. Where the best weights are kept, a short rung tells much; where the last ones are, or it is not
// known which, early ranks may be the reverse of the final ones.
struct Delivery {
  enum class Weights { unknown, best, last };
  Weights weights = Weights::unknown;
  std::int64_t validations = 0;  // of a whole training; 0: unknown
};

class Pruner {
 public:
  virtual ~Pruner() = default;
  // Whether the pruner compares trials with each other: a deterministic study then waits for trials.
  virtual bool compares() const { return true; }
  // Whether to stop the trial; asked after each of its reports, or less often (Curves::judged).
  virtual bool prunes(const Curves& curves, std::int64_t trial) const = 0;
};

// The implementation of an entry of kind "pruner". Error{recipe} if the study has more objectives than the pruner can
// judge.
using PrunerFactory =
    std::function<std::unique_ptr<Pruner>(const Options&, std::size_t objectives, const Delivery& delivery)>;
std::unique_ptr<Pruner> make_pruner(const Options& spec, std::size_t objectives, const Delivery& delivery = {});

}  // namespace trainlab

// A study: ask for a trial, tell how it went. The core that sweeps, hand-written searches and workers share.
//
//   Study study(space, sampler, {.maximize = {true}});
//   while (auto asked = study.ask(); asked.trial) {
//     const auto& point = study.trials().point(*asked.trial);
//     study.tell(*asked.trial, {evaluate(point)});
//   }
//
// Used by one thread at a time. A study that is asked and told the same in the same order chooses the same trials; a
// study that is deterministic, or whose sampler does not learn, chooses the same trials in any order.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "study/sampler.h"
#include "study/scheduler.h"
#include "study/space.h"
#include "study/trials.h"

namespace trainlab {

struct StudySettings {
  std::vector<bool> maximize = {false};  // by objective
  // Trial k is chosen from the results of trials 0 … k − 8 alone, and waits for them, so that it does not depend on the
  // number of workers.
  bool deterministic = false;
  // Which configuration each trial trains, from where and how far; the sampler chooses new configurations. Null: each
  // trial is a whole fit.
  std::shared_ptr<const Scheduler> scheduler = {};
  // Whether the pruner compares trials with each other: a deterministic study then waits for trials as for a sampler
  // that learns.
  bool compares = false;
  // No point is tried twice, except given points; the space is used up when no new point is found.
  bool distinct = false;
  // Whether the study is over, so that no new trial is begun. Called with the trials and the number of them that count
  // (see `deterministic`).
  std::function<bool(const Trials&, std::int64_t visible)> over = {};
  // Whether a point of the space may be tried; refused points are drawn anew. Raises the errors of the recipe's
  // function.
  std::function<bool(std::span<const double>)> allowed = {};
  // Seed of the random draws that replace a sampler whose choices are refused too often.
  std::int64_t seed = 1;
};

class Study {
 public:
  static constexpr std::int64_t lag = 8;  // of a deterministic study
  // The number of first trials that a decision about this trial may use in a deterministic study: all of them have
  // ended when the trial begins.
  static std::int64_t visible(std::int64_t trial) { return std::max<std::int64_t>(trial - lag + 1, 0); }

  Study(Space space, std::unique_ptr<Sampler> sampler, StudySettings settings);

  const Space& space() const { return space_; }
  const Trials& trials() const { return trials_; }
  const std::set<std::int64_t>& running() const { return running_; }  // the trials that run
  const std::vector<bool>& maximize() const { return settings_.maximize; }

  // Whether the next choice depends on how running trials end.
  bool learns() const { return sampler_->learns() || schedules_by_order(); }
  // Which decisions depend on the order of results, and so on the number of workers: "chosen", "pruned".
  Value::List by_order() const;
  // The number of points that the sampler can choose; nullopt: infinitely many.
  std::optional<std::int64_t> points() const { return sampler_->size(); }
  // Null: each trial is a whole fit.
  const Scheduler* scheduler() const { return settings_.scheduler.get(); }
  // The segment of a trial that has begun.
  Segment segment(std::int64_t trial) const;
  // The validations of a segment without those of its parent; 0: the whole fit.
  std::int64_t length(const Segment& segment) const;

  // Adds a waiting trial with given values (NaN: the sampler's choice). `segment`: of a trial that was begun before.
  void enqueue(std::span<const double> point, const std::optional<Segment>& segment = {});

  struct Asked {
    std::optional<std::int64_t> trial;  // running now
    bool wait = false;                  // ask again when a trial has ended; without both: the space is used up
  };
  // next() and begin() in one. Error{recipe} when no point is found that is allowed.
  Asked ask();

  // The trial that ask() would begin, for callers that store it first.
  struct Next {
    std::optional<std::int64_t> trial;
    std::vector<double> point;
    std::optional<Segment> segment;  // nullopt without a scheduler
    bool wait = false;
  };
  Next next();
  // A new trial, or one that waits, runs now, at this point.
  void begin(std::int64_t trial, std::span<const double> point, const std::optional<Segment>& segment = {});
  // The trial waits again, because its worker was lost.
  void wait_again(std::int64_t trial);

  void report(std::int64_t trial, const TrialReport& report);
  void forget(std::int64_t trial, std::int64_t repeat, std::int64_t resource) {
    trials_.forget(trial, repeat, resource);
  }
  // One finite or infinite value for each objective. With a NaN the trial has failed. `segment`: see Trials::finish.
  void tell(std::int64_t trial, std::span<const double> values, const std::optional<Segment>& segment = {});
  void tell(std::int64_t trial, std::initializer_list<double> values) {
    tell(trial, std::span(values.begin(), values.size()));
  }
  void prune(std::int64_t trial);
  void fail(std::int64_t trial);

  // The complete trial with the best value of the first objective, the earliest of equal ones. With a scheduler, of the
  // trials that have trained longest: what a rung has given up is no result.
  std::optional<std::int64_t> best() const { return best_; }

 private:
  Curves curves(std::int64_t visible) const { return {trials_, settings_.maximize, visible}; }
  bool schedules_by_order() const { return settings_.scheduler && settings_.scheduler->is_by_order(); }
  bool holds_back() const;
  void ended(std::int64_t trial);
  void observe(std::int64_t trial);
  // The values of a trial that were given, or chosen when it was begun before; NaN for what is to be chosen.
  std::vector<double> given(std::int64_t trial) const;
  bool choose(std::int64_t trial, std::optional<std::int64_t> parent, std::vector<double>& point);
  void take(std::span<const double> point);

  Space space_;
  std::unique_ptr<Sampler> sampler_, anywhere_;
  StudySettings settings_;
  Trials trials_;
  std::shared_ptr<PointSet> known_;  // all points of a study with distinct points; the sampler uses the set too
  std::set<std::int64_t> waiting_, running_;
  std::int64_t observed_ = 0;  // in a deterministic study: number of first trials that the sampler was told
  std::optional<std::int64_t> best_;
};

// Adds the entries of spaces, samplers, schedulers, pruners and lab.study.
void register_study(Registry& registry);

}  // namespace trainlab

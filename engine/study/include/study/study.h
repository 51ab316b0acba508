// A study: ask for a trial, tell how it went. The core that sweeps, hand-written searches and workers share.
//
//   Study study(space, sampler, {.maximize = {true}});
//   while (auto asked = study.ask(); asked.trial) study.tell(*asked.trial,
//   {evaluate(study.trials().point(*asked.trial))});
//
// Used by one thread at a time. Order: a study that is asked and told the same in the same order chooses the same
// trials; one whose sampler does not learn, or that is deterministic, chooses the same whatever the order.
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
  // Trial k is chosen from the results of trials 0 … k − 8 and no others, and waits for them, so that it does not
  // depend on how many workers there are.
  bool deterministic = false;
  // Which configuration each trial trains, from where and how far; the sampler chooses those that begin. Null: each
  // trial is a whole fit.
  std::shared_ptr<const Scheduler> scheduler = {};
  // Trials are given up by comparison with others: what a deterministic study holds back for, besides its sampler.
  bool compares = false;
  // No point is tried twice but those that are given; the space is used up when none is left that could be found.
  bool distinct = false;
  // Whether the study is over: no new trial is begun. Told the trials and how many of them count, see `deterministic`.
  std::function<bool(const Trials&, std::int64_t visible)> over = {};
  // Points that fit the space but are not wanted; they are drawn anew. Raises what the recipe's function raises.
  std::function<bool(std::span<const double>)> allowed = {};
  // Of the draws that take over from a sampler whose choices are refused again and again.
  std::int64_t seed = 1;
};

class Study {
 public:
  static constexpr std::int64_t lag = 8;  // of a deterministic study
  // So many trials, the first ones, may a decision about this one look at in a deterministic study: all of them have
  // ended when it begins.
  static std::int64_t visible(std::int64_t trial) { return std::max<std::int64_t>(trial - lag + 1, 0); }

  Study(Space space, std::unique_ptr<Sampler> sampler, StudySettings settings);

  const Space& space() const { return space_; }
  const Trials& trials() const { return trials_; }
  const std::vector<bool>& maximize() const { return settings_.maximize; }

  // Whether what is chosen next depends on how trials end that are under way.
  bool learns() const { return sampler_->learns() || schedules_by_order(); }
  // What of its trials depends on the order in which results come, and so on the number of workers: "chosen", "pruned".
  Value::List by_order() const;
  // The points that the sampler can choose; nullopt: there is no end of them.
  std::optional<std::int64_t> points() const { return sampler_->size(); }
  // Null: each trial is a whole fit.
  const Scheduler* scheduler() const { return settings_.scheduler.get(); }
  // The segment of a trial that has begun.
  Segment segment(std::int64_t trial) const;

  // A trial for later with values that are chosen already (NaN: the sampler's choice). `segment`: of a trial that was
  // begun before.
  void enqueue(std::span<const double> point, const std::optional<Segment>& segment = {});

  struct Asked {
    std::optional<std::int64_t> trial;  // running now
    bool wait = false;                  // ask again when a trial has ended; without both: the space is used up
  };
  // next() and begin() in one. Error{recipe} when no point is found that is allowed.
  Asked ask();

  // What ask() would begin, for those who write it down first.
  struct Next {
    std::optional<std::int64_t> trial;
    std::vector<double> point;
    std::optional<Segment> segment;  // nullopt without a scheduler
    bool wait = false;
  };
  Next next();
  // A new trial, or one that waits, runs now, at this point.
  void begin(std::int64_t trial, std::span<const double> point, const std::optional<Segment>& segment = {});
  // Its worker was lost.
  void wait_again(std::int64_t trial);

  void report(std::int64_t trial, const TrialReport& report);
  void forget(std::int64_t trial, std::int64_t repeat, std::int64_t resource) {
    trials_.forget(trial, repeat, resource);
  }
  // One finite or infinite value for each objective. A NaN is no value: the trial has failed.
  void tell(std::int64_t trial, std::span<const double> values);
  void tell(std::int64_t trial, std::initializer_list<double> values) {
    tell(trial, std::span(values.begin(), values.size()));
  }
  void prune(std::int64_t trial);
  void fail(std::int64_t trial);

  // The complete trial with the best value of the first objective, the earliest of equal ones.
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
  std::shared_ptr<PointSet> known_;  // of a study that is distinct: all points; the sampler looks at them too
  std::set<std::int64_t> waiting_, running_;
  std::int64_t observed_ = 0;  // of a deterministic study: trials that were waited for, and told to the sampler
  std::optional<std::int64_t> best_;
};

// Adds the entries of spaces, samplers, schedulers, pruners and lab.study.
void register_study(Registry& registry);

}  // namespace trainlab

// The trials of a study, as columns: what samplers, pruners and reports read.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/value.h"

namespace trainlab {

// waiting: given by enqueue, or put back after its worker was lost. running: leased. The other states are final.
enum class TrialState : std::uint8_t { waiting, running, complete, pruned, failed };
std::string_view trial_state_name(TrialState state);
inline bool is_final(TrialState state) { return state >= TrialState::complete; }

// The part of a fit that a trial trains, in a study with a scheduler.
struct Segment {
  std::optional<std::int64_t> parent;  // the trial with whose last checkpoint this trial begins
  // Validations at the end, those of all ancestors included; 0: the whole fit. Of a trial that has ended, no more than
  // it has trained.
  std::int64_t until = 0;
};

// A report of one repeat of a running trial.
struct TrialReport {
  std::int64_t repeat = 1;     // from 1
  std::int64_t resource = 0;   // validations so far, from 1
  std::vector<double> values;  // as the recipe reports them: of each objective, or of the first; NaN stays NaN
};

// All valid reports of one repeat.
struct RepeatReports {
  std::vector<std::int64_t> resources;  // ascending
  std::vector<double> values;           // [report, objective]; NaN for objectives that a report left out
};

// Numbers of trials count from 0 without gaps. A final trial never changes. Not synchronised.
class Trials {
 public:
  Trials(std::size_t parameters, std::size_t objectives) : parameters_(parameters), objectives_(objectives) {}

  std::int64_t size() const { return static_cast<std::int64_t>(states_.size()); }
  std::size_t parameters() const { return parameters_; }
  std::size_t objectives() const { return objectives_; }

  // Adds a trial at a point and returns its number. NaN: inactive, or for a waiting trial not chosen yet. `segment`:
  // once a scheduler has chosen the segment.
  std::int64_t add(TrialState state, std::span<const double> point, const std::optional<Segment>& segment = {});
  // Changes a trial that is not final; std::logic_error otherwise.
  void start(std::int64_t trial, std::span<const double> point, const std::optional<Segment>& segment = {});
  void report(std::int64_t trial, const TrialReport& report);
  // Forgets the reports of a repeat beyond this resource: the repeat continues from there and reports again.
  void forget(std::int64_t trial, std::int64_t repeat, std::int64_t resource);
  // `values`: one for each objective of a complete trial, none for a failed trial; a pruned trial has last_mean().
  // `segment`: what the trial has trained, where that may be less than what it began with.
  void finish(std::int64_t trial, TrialState state, std::span<const double> values,
              const std::optional<Segment>& segment = {});
  void wait_again(std::int64_t trial);

  TrialState state(std::int64_t trial) const { return states_[index(trial)]; }
  // nullopt before the trial has begun, and without a scheduler.
  std::optional<Segment> segment(std::int64_t trial) const {
    return index(trial) < segments_.size() ? segments_[index(trial)] : std::nullopt;
  }
  std::span<const double> point(std::int64_t trial) const {
    return {points_.data() + index(trial) * parameters_, parameters_};
  }
  // NaN where there is none.
  std::span<const double> values(std::int64_t trial) const {
    return {values_.data() + index(trial) * objectives_, objectives_};
  }
  double value(std::int64_t trial) const { return values_[index(trial) * objectives_]; }

  const std::map<std::int64_t, RepeatReports>& repeats(std::int64_t trial) const { return reported(trial).repeats; }
  // The repeat that reported last, its last resource, and its resource before. 0: none yet.
  std::int64_t last_repeat(std::int64_t trial) const { return reported(trial).last; }
  std::int64_t last_resource(std::int64_t trial) const;
  std::int64_t previous_resource(std::int64_t trial) const;
  // Means over repeats, one for each objective; empty if no repeat has got there. mean_at: of the reports at this
  // resource; mean_from: of the first report of each repeat there or beyond; last_mean: of the reports at the last
  // resource. O(repeats · log reports).
  std::vector<double> mean_at(std::int64_t trial, std::int64_t resource) const { return mean(trial, resource, false); }
  std::vector<double> mean_from(std::int64_t trial, std::int64_t resource) const { return mean(trial, resource, true); }
  std::vector<double> last_mean(std::int64_t trial) const { return mean_at(trial, last_resource(trial)); }
  // mean_at() of all resources with reports, in order, in one pass.
  using Visit = std::function<void(std::int64_t resource, std::span<const double> means)>;
  void walk(std::int64_t trial, const Visit& visit) const;

  std::int64_t count(TrialState state) const { return counts_[static_cast<std::size_t>(state)]; }
  // The number of trials in final states.
  std::int64_t ended() const { return size() - count(TrialState::waiting) - count(TrialState::running); }

 private:
  std::size_t index(std::int64_t trial) const { return static_cast<std::size_t>(trial); }
  void set_state(std::int64_t trial, TrialState state);
  void set_segment(std::int64_t trial, const std::optional<Segment>& segment);
  const RepeatReports* last_reports(std::int64_t trial) const;  // of the last repeat; null: nothing was reported
  std::vector<double> mean(std::int64_t trial, std::int64_t resource, bool or_beyond) const;
  void require_open(std::int64_t trial, const char* what) const;

  std::size_t parameters_, objectives_;
  std::vector<TrialState> states_;
  std::vector<double> points_, values_;           // [trial, parameter], [trial, objective]
  std::vector<std::optional<Segment>> segments_;  // of trials up to the last that has a segment
  struct Reported {
    std::map<std::int64_t, RepeatReports> repeats;  // none of them empty
    std::int64_t last = 0;                          // the repeat that reported last
  };
  const Reported& reported(std::int64_t trial) const {
    static const Reported none;
    return index(trial) < reported_.size() ? reported_[index(trial)] : none;
  }
  std::vector<Reported> reported_;  // of the trials up to the last that has reported
  std::int64_t counts_[5] = {};
};

}  // namespace trainlab

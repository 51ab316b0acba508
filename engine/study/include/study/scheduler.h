// Schedulers: which configuration a trial trains, from where, and how far.
//
// Without a scheduler each trial is one fit from its beginning to its end. With a scheduler a trial is one segment of a
// configuration's training: the trial begins with the checkpoint in which its parent ended and trains up to some
// validation. The sampler chooses the parameters of configurations that begin, so that any sampler goes with any
// scheduler: scheduler.hyperband with sampler.tpe is BOHB (Falkner, Klein and Hutter 2018).
//
// A scheduler is asked when a trial begins, and the study keeps what the scheduler says. Its answers are a pure
// function of the segments of trials that have begun and of the values of trials that have ended. Thread-safe.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/registry.h"
#include "core/training_wave.h"
#include "study/pruner.h"
#include "study/space.h"

namespace trainlab {

class Scheduler {
 public:
  virtual ~Scheduler() = default;

  // The segment of a trial that is to begin: a new one, or one that waits and has no segment yet; nullopt while trials
  // are under way on whose values the segment depends.
  virtual std::optional<Segment> segment(const Curves& trials, std::int64_t trial) const = 0;

  // Whether segments depend on the order in which trials end, because the scheduler does not wait for all trials that
  // it compares. In a deterministic study such a scheduler looks at Curves::visible() trials, which have ended.
  virtual bool is_by_order() const { return false; }

  // Gives a trial values of its parent, or values made from them, for parameters that are NaN in `point` and active.
  // The sampler chooses what stays NaN. `attempt` counts from 0: more when the point of the attempt before was refused.
  virtual void inherit(const Curves& trials, std::int64_t trial, std::int64_t parent, std::int64_t attempt,
                       std::span<double> point) const = 0;

  // The validations that a chain of segments among the first `trials` trials has at most. Where chains have no end and
  // `trials` is the largest integer, the result is the largest integer too.
  virtual std::int64_t longest(std::int64_t trials) const = 0;
  // The segments of the first `trials` trials in the order in which they begin, all of one wave equally long. Of a
  // scheduler that is by order these are the longest that are possible, because results decide how many configurations
  // train on. `trials` is the number of a study that has an end.
  virtual std::vector<TrainingWave> waves(std::int64_t trials) const = 0;
  // How many of the first `trials` trials have no parent at least, so that the sampler chooses their parameters.
  virtual std::int64_t beginnings(std::int64_t trials) const = 0;
  // How many points may be given at first (Study::enqueue): each of them is the point of a configuration that begins.
  virtual std::int64_t most_given() const = 0;

  // Whether the best configurations train on after such a segment. Samplers see its trial as a pruned one then, so that
  // values after different numbers of validations are not compared.
  virtual bool is_partial(const Segment& segment) const = 0;
};

// The implementation of an entry of kind "scheduler". `seed` is the study's: the entry's own seed takes precedence.
using SchedulerFactory =
    std::function<std::shared_ptr<const Scheduler>(const Options&, const Space&, std::int64_t seed, const Delivery&)>;
// Error{recipe} for a study of several objectives.
std::shared_ptr<const Scheduler> make_scheduler(const Options& spec, const Space& space, std::int64_t seed,
                                                std::size_t objectives, const Delivery& delivery = {});

}  // namespace trainlab

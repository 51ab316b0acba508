// Samplers: where in the space the next trial lies.
//
// A sampler is a function of the trials that it has observed, in the order in which it was told of them, of the points
// that are taken, and of the number of the trial that it is asked for: it keeps nothing else, so that one that is made
// anew and told the same goes on alike. Samplers are used by one thread at a time.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>

#include "core/random.h"
#include "core/registry.h"
#include "study/space.h"
#include "study/trials.h"

namespace trainlab {

// A final trial as samplers see it: smaller values are better, whatever the study's direction.
struct Observation {
  std::int64_t trial = 0;
  TrialState state = TrialState::complete;
  std::span<const double> point;
  // Of a complete trial one for each objective, never NaN (a worst of all values is infinite); of a pruned one its last
  // report; none of a failed one.
  std::span<const double> values;
  std::int64_t resource = 0;  // of the last report
};

class Sampler {
 public:
  virtual ~Sampler() = default;

  // Whether it learns from observations. What one that does not draws is the same whenever trials end.
  virtual bool learns() const { return false; }
  virtual void observe(const Observation& trial) { (void)trial; }

  // Of one that goes through a list of points (a grid): how many there are, those that are not wanted included.
  virtual std::optional<std::int64_t> size() const { return std::nullopt; }

  // Points for which this is false are not wanted. What a sampler draws at random is refused afterwards and drawn anew;
  // one that counts through points leaves them out. Called once, before the first sample(). Asks a recipe: rarely.
  virtual void set_allowed(std::function<bool(std::span<const double>)> allowed) { (void)allowed; }
  // A trial has this point: one that has begun, or waits with all of it given. May come more than once.
  virtual void take(std::span<const double> point) { (void)point; }

  // Chooses the parameters of a trial that are NaN in `point` and active; those that are given already stay. `attempt`
  // counts from 0: more when what was drawn for this trial before was refused. `running`: points of trials that are
  // under way. False, and nothing chosen, when the space is used up (a grid).
  virtual bool sample(std::int64_t trial, std::int64_t attempt, std::span<const std::span<const double>> running,
                      std::span<double> point) = 0;
};

// The implementation of an entry of kind "sampler".
struct SamplerKind {
  // `seed` is the study's: the entry's own seed takes precedence. Error{recipe} for a space that the sampler cannot
  // search, and for more objectives than it can take.
  std::function<std::unique_ptr<Sampler>(const Options&, const Space&, std::int64_t seed, std::size_t objectives)> make;
  bool ends = false;  // the sampler has finitely many points, so that a sweep needs no number of trials
};
std::unique_ptr<Sampler> make_sampler(const Options& spec, const Space& space, std::int64_t seed,
                                      std::size_t objectives);
// SamplerKind::ends of the entry.
bool sampler_ends(const Options& spec);

}  // namespace trainlab

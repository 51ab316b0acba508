// Samplers: where in the space the next trial lies.
//
// A sampler is a function of the trials that it has observed, in their order, of the taken points, and of the number of
// the trial for which it is asked. It has no other state, so a new sampler that is told the same makes the same
// choices. Samplers are used by one thread at a time.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>

#include "core/random/key.h"
#include "core/registry.h"
#include "study/space.h"
#include "study/trials.h"

namespace trainlab {

// A final trial as samplers see it: smaller values are better, whatever the study's direction.
struct Observation {
  std::int64_t trial = 0;
  TrialState state = TrialState::complete;
  std::span<const double> point;
  // For a complete trial one value for each objective, never NaN (the worst possible value is infinite); for a pruned
  // trial its last report; empty for a failed trial.
  std::span<const double> values;
  std::int64_t resource = 0;  // of the last report
};

class Sampler {
 public:
  virtual ~Sampler() = default;

  // Whether the sampler learns from observations. The choices of other samplers do not depend on when trials end.
  virtual bool learns() const { return false; }
  virtual void observe(const Observation& trial) { (void)trial; }

  // For a sampler that goes through a list of points (a grid): the number of points, refused ones included.
  virtual std::optional<std::int64_t> size() const { return std::nullopt; }

  // Sets the function that says whether a point may be tried. Random samplers need not ask it, since refused points are
  // drawn anew; a grid leaves refused points out. Called once, before the first sample(). The function calls the
  // recipe, so it should be asked rarely.
  virtual void set_allowed(std::function<bool(std::span<const double>)>&& allowed) { (void)allowed; }
  // Marks a point as taken by a trial that has begun, or that waits with all parameters given. May be called more than
  // once for a point.
  virtual void take(std::span<const double> point) { (void)point; }

  // Chooses the parameters of a trial that are NaN in `point` and active; given parameters stay. `attempt` counts from
  // 0 and grows when earlier choices for this trial were refused. `running`: points of running trials. Returns false,
  // and chooses nothing, when the space is used up (a grid).
  virtual bool sample(std::int64_t trial, std::int64_t attempt, std::span<const std::span<const double>> running,
                      std::span<double> point) = 0;
};

// The implementation of an entry of kind "sampler".
struct SamplerKind {
  // `seed` is the study's seed; the seed of the entry takes precedence. Error{recipe} for a space that the sampler
  // cannot search, and for more objectives than the sampler can handle.
  std::function<std::unique_ptr<Sampler>(const Options&, const Space&, std::int64_t seed, std::size_t objectives)> make;
  bool ends = false;  // the sampler has finitely many points, so that a sweep needs no number of trials
};
std::unique_ptr<Sampler> make_sampler(const Options& spec, const Space& space, std::int64_t seed,
                                      std::size_t objectives);
// SamplerKind::ends of the entry.
bool sampler_ends(const Options& spec);

}  // namespace trainlab

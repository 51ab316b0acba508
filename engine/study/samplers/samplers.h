// Helpers that the samplers of this module share. Each sampler stands with its entry in a file of its own.
#pragma once

#include <memory>
#include <optional>

#include "core/random/stream.h"
#include "study/sampler.h"

namespace trainlab {

// Draws of a parameter that depend on the key, the trial, the attempt and the parameter's name only.
class ParameterDraws {
 public:
  ParameterDraws(const Space& space, Key key);
  // The draws of an attempt: a function that gives the number in [0, 1) of a parameter. The function may be called as
  // long as this object lives. The key of the attempt is made at the first call, because a sampler that has learnt
  // mostly leaves no parameter open.
  auto units(std::int64_t trial, std::int64_t attempt) const {
    return [this, trial, attempt, key = std::optional<Key>()](std::size_t parameter) mutable {
      if (!key) key = key_of(trial, attempt);
      return Stream(key->fold(names_[parameter])).uniform();
    };
  }
  // A stream, for draws of more than one number.
  Stream stream(std::int64_t trial, std::int64_t attempt) const { return Stream(key_of(trial, attempt)); }

 private:
  Key key_of(std::int64_t trial, std::int64_t attempt) const {
    return key_.fold(static_cast<std::uint64_t>(trial)).fold(static_cast<std::uint64_t>(attempt));
  }
  Key key_;
  std::vector<std::uint64_t> names_;  // a number for each parameter's name
};

// Chooses the open parameters of a point from their own distributions: unit(i) in [0, 1) for parameter i.
template <class Unit>
void choose_open(const Space& space, std::span<double> point, Unit&& unit) {
  for (const std::size_t i : space.order()) {
    if (point[i] == point[i] || !space.active(i, point)) continue;
    point[i] = space.from_unit(i, unit(i));
  }
}

// The option `seed` of an entry, and the seed that the entry or else the study gives.
Option sampler_seed_option();
std::int64_t sampler_seed(const Options& spec, std::int64_t study_seed);

// Samplers that other samplers and the study fall back to.
std::unique_ptr<Sampler> random_sampler(const Space& space, std::int64_t seed);
// A scrambled quasi-random sequence.
constexpr std::size_t most_sobol_parameters = 3667;
std::unique_ptr<Sampler> sobol_sampler(const Space& space, std::int64_t seed);

}  // namespace trainlab

// The samplers of this module, made directly (entries make them from options), and what they share.
#pragma once

#include <memory>

#include "study/sampler.h"

namespace trainlab {

// Draws of a parameter that depend on the key, the trial, the attempt and the parameter's name only.
class ParameterDraws {
 public:
  ParameterDraws(const Space& space, Key key);
  // In [0, 1).
  double unit(std::size_t parameter, std::int64_t trial, std::int64_t attempt) const;
  // For draws of more than one number.
  Stream stream(std::int64_t trial, std::int64_t attempt) const { return Stream(key_of(trial, attempt)); }

 private:
  Key key_of(std::int64_t trial, std::int64_t attempt) const {
    return key_.fold(static_cast<std::uint64_t>(trial)).fold(static_cast<std::uint64_t>(attempt));
  }
  Key key_;
  std::vector<std::uint64_t> names_;  // a number for each parameter's name
};

// Chooses what is open in a point from each parameter's own distribution: unit(i) in [0, 1) for parameter i.
template <class Unit>
void choose_open(const Space& space, std::span<double> point, Unit&& unit) {
  for (const std::size_t i : space.order()) {
    if (point[i] == point[i] || !space.active(i, point)) continue;
    point[i] = space.from_unit(i, unit(i));
  }
}

std::unique_ptr<Sampler> random_sampler(const Space& space, std::int64_t seed);
// Error{recipe} when there are too many points.
constexpr std::int64_t most_grid_points = 1'000'000;
std::unique_ptr<Sampler> grid_sampler(const Space& space, std::vector<std::vector<double>> values, bool shuffle,
                                      std::int64_t seed);
// Quasi-random sequences, scrambled.
constexpr std::size_t most_sobol_parameters = 3667;
std::unique_ptr<Sampler> sobol_sampler(const Space& space, std::int64_t seed);
std::unique_ptr<Sampler> halton_sampler(const Space& space, std::int64_t seed);

struct TpeSettings {
  std::int64_t startup = 10;     // trials drawn at random before
  std::int64_t candidates = 32;  // of which the best is taken
  std::int64_t seed = 1;
};
std::unique_ptr<Sampler> tpe_sampler(const Space& space, const TpeSettings& settings, std::size_t objectives);

struct CmaSettings {
  std::int64_t population = 0;  // points of a generation; 0: 3 + ⌊3 ln n⌋ of n numbers, 4 at least
  std::int64_t seed = 1;
};
// The space has numbers of more than one value that are always active.
std::unique_ptr<Sampler> cma_es_sampler(const Space& space, const CmaSettings& settings);

struct GpSettings {
  std::int64_t startup = 10;  // trials drawn at random before
  std::int64_t seed = 1;
};
// Searches all parameters, choices and conditional ones included.
std::unique_ptr<Sampler> gp_sampler(const Space& space, const GpSettings& settings);

struct PbtSettings {
  std::int64_t population = 8;
  std::int64_t interval = 1;  // validations of a generation
  double factor = 1.2, resample = 0.25;
  std::int64_t seed = 1;
};
std::unique_ptr<Sampler> pbt_sampler(const Space& space, const PbtSettings& settings);

struct HalvingSettings {
  std::int64_t configurations = 27;  // of the first rung
  std::int64_t min = 1;              // validations of the first rung
  std::int64_t reduction = 3;
  std::int64_t seed = 1;
};
std::unique_ptr<Sampler> halving_sampler(const Space& space, const HalvingSettings& settings);

struct Nsga2Settings {
  std::int64_t population = 50;
  std::int64_t seed = 1;
};
std::unique_ptr<Sampler> nsga2_sampler(const Space& space, const Nsga2Settings& settings, std::size_t objectives);

}  // namespace trainlab

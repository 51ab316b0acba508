// Scaling laws: the loss of a model as a function of its size and its data, and the best size and data for a number of
// FLOPs.
//
// Parameters are counted without the embedding of the input. Tokens are the training data; samples count where there
// are no tokens. Training costs C = 6 N D FLOPs (Kaplan et al. 2020, arXiv 2001.08361). Losses are in nats per token.
// All functions are pure; any thread.
#pragma once

#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "core/value.h"

namespace trainlab {

inline constexpr double flops_per_parameter_and_token = 6;
// The number of unique tokens for data that never repeat.
inline constexpr double all_unique = std::numeric_limits<double>::infinity();

// L(N, D) = e + a / N^alpha + b / D^beta (Hoffmann et al. 2022, arXiv 2203.15556, equation 10).
struct Law {
  double e = 0, a = 0, b = 0, alpha = 0, beta = 0;

  bool operator==(const Law&) const = default;
};

// The least and the most of what the runs behind a law had; 0 and infinity where they are unknown.
struct RunRange {
  double least = 0, most = std::numeric_limits<double>::infinity();

  bool is_known() const { return least > 0; }
  // Up to rounding.
  bool is_beyond(double count) const {
    constexpr double rounding = 1e-6;
    return count < (1 - rounding) * least || count > (1 + rounding) * most;
  }
};

// A law with its source. For a law that trainlab fitted, `samples` are the laws of resampled runs.
struct KnownLaw {
  std::string name, source;
  Law law;
  RunRange flops = {}, parameters = {}, tokens = {};  // of the runs behind the law
  std::vector<Law> samples = {};
  // The standard deviation of the logarithm of a single run's loss from such a law, as the runs show it.
  double deviation = 0;
  // The degrees of freedom of what the runs show: runs beyond the constants of the law. Infinite where unknown.
  double freedom = std::numeric_limits<double>::infinity();
  // How far such a law misses runs with more FLOPs, in the logarithm of the loss for each doubling of FLOPs.
  double drift = 0;

  bool knows_runs() const { return flops.is_known(); }
};

// A published law: "besiroglu", which is the default, or "muennighoff". Raises Error{usage} for another name; for
// "hoffmann" the message explains that the printed constants are rounded, and what error this causes.
const KnownLaw& known_law(const std::string& name);
// The law in a file that `trainlab plan fit … --json` wrote. Raises Error for any other file.
KnownLaw read_law(const std::string& file);
// The law in the object of `trainlab plan fit`. Raises Error{usage} for any other object; `source` names where it was.
KnownLaw law_in(const Value& fit, const std::string& source);
// A published law, or that of a file. A file of a published law's name needs its folder: "./besiroglu".
KnownLaw law_named(const std::string& name);

// How a number of FLOPs is divided between a model's size and its data.
struct Allocation {
  double parameters = 0, tokens = 0;

  double flops() const { return flops_per_parameter_and_token * parameters * tokens; }
};

// The parameters and unique tokens that would give the same loss in one pass as the allocation does with repeated data.
// Repeated data are worth less, and so are parameters beyond those that are best for the unique tokens (Muennighoff et
// al. 2023, arXiv 2305.16264, equations 5, 6 and 17 with R*_D = 15.387756 and R*_N = 5.309743). `law` decides how many
// parameters are best for the unique tokens.
Allocation effective(const Law& law, const Allocation& allocation, double unique_tokens);

// The loss of an allocation; for a finite number of unique tokens, the loss of effective().
double loss_of(const Law& law, const Allocation& allocation, double unique_tokens = all_unique);

// Where the loss of a training is expected in 80 of 100 cases. In logarithms, the half-width joins three errors like
// the sides of a right angle: that of the law, as the laws of resampled runs differ, that of a single run, and beyond
// the longest of the law's runs the drift. The first two are wider the fewer runs show them, by Student's quantile in
// place of the normal one. nullopt for a law without samples.
struct LossInterval {
  double low = 0, high = 0;
};
std::optional<LossInterval> interval_of(const KnownLaw& law, const Allocation& allocation,
                                        double unique_tokens = all_unique);

// The allocation with the least loss for a number of FLOPs. Without repeats N = G (C/6)^(beta/(alpha+beta)), D = C /
// 6N, with G = (alpha a / (beta b))^(1/(alpha+beta)) (Hoffmann et al. 2022, equation 4); with repeats it is found by
// search.
Allocation best_allocation(const Law& law, double flops, double unique_tokens = all_unique);

// The least FLOPs with which the loss can be reached; infinity for a loss that cannot be reached.
double least_flops(const Law& law, double loss, double unique_tokens = all_unique);

}  // namespace trainlab

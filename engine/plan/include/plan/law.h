// Scaling laws: the loss of a model by its size and its data, and what a number of FLOPs buys best.
//
// Parameters are counted without the embedding of the input; tokens are what a model is trained on, samples where there
// are no tokens. Training costs C = 6 N D FLOPs (Kaplan et al. 2020, arXiv 2001.08361). Losses are in nats per token.
// All functions are pure; any thread.
#pragma once

#include <limits>
#include <string>
#include <vector>

namespace trainlab {

inline constexpr double flops_per_parameter_and_token = 6;
// Tokens that never repeat.
inline constexpr double all_unique = std::numeric_limits<double>::infinity();

// L(N, D) = e + a / N^alpha + b / D^beta (Hoffmann et al. 2022, arXiv 2203.15556, equation 10).
struct Law {
  double e = 0, a = 0, b = 0, alpha = 0, beta = 0;

  bool operator==(const Law&) const = default;
};

// A law with its source. Where a law was fitted by trainlab, `samples` are the laws of resampled runs.
struct KnownLaw {
  std::string name, source;
  Law law;
  std::vector<Law> samples = {};
};

// The published laws: "besiroglu", the first and the one to use, and "muennighoff". Raises Error{usage} for another
// name; for "hoffmann", whose printed constants are rounded, the message says what they do wrong.
const KnownLaw& known_law(const std::string& name);
// The file that `trainlab plan fit … --json` wrote. Raises Error for what is no such file.
KnownLaw read_law(const std::string& file);

// How a number of FLOPs is divided between a model's size and its data.
struct Allocation {
  double parameters = 0, tokens = 0;
};

// Data that repeat are worth less, and so are parameters beyond those that are best for the unique tokens (Muennighoff
// et al. 2023, arXiv 2305.16264, equations 5, 6 and 17 with R*_D = 15.387756 and R*_N = 5.309743): the numbers that
// would give the same loss in one pass. `law` decides how many parameters are best for the unique tokens.
Allocation effective(const Law& law, const Allocation& allocation, double unique_tokens);

// The loss. With a finite number of unique tokens: of effective().
double loss_of(const Law& law, const Allocation& allocation, double unique_tokens = all_unique);

// The allocation of least loss for a number of FLOPs. Without repeats N = G (C/6)^(beta/(alpha+beta)), D = C / 6N, with
// G = (alpha a / (beta b))^(1/(alpha+beta)) (Hoffmann et al. 2022, equation 4); with repeats found by search.
Allocation best_allocation(const Law& law, double flops, double unique_tokens = all_unique);

// The least FLOPs with which the loss can be reached; infinity for a loss that is out of reach.
double least_flops(const Law& law, double loss, double unique_tokens = all_unique);

}  // namespace trainlab

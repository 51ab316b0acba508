#include "predict/sampling.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/error.h"

namespace trainlab {

namespace {

// Keeps the tokens order[0] … order[count − 1].
void keep(std::vector<double>& probabilities, std::span<const std::size_t> order, std::size_t count) {
  for (std::size_t i = count; i < order.size(); ++i) probabilities[order[i]] = 0;
  const double sum = std::accumulate(probabilities.begin(), probabilities.end(), 0.0);
  for (double& p : probabilities) p /= sum;
}

}  // namespace

std::vector<double> next_probabilities(std::span<const double> scores, const Sampling& sampling) {
  for (const double score : scores)
    if (!std::isfinite(score)) throw run_error("the model's output is not finite: no next token can be drawn");
  const auto top = static_cast<std::size_t>(std::max_element(scores.begin(), scores.end()) - scores.begin());
  std::vector<double> probabilities(scores.size());
  if (sampling.temperature == 0) {
    probabilities[top] = 1;
    return probabilities;
  }
  std::transform(scores.begin(), scores.end(), probabilities.begin(),
                 [&](double score) { return std::exp((score - scores[top]) / sampling.temperature); });
  std::vector<std::size_t> order(scores.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return scores[a] > scores[b]; });

  const bool cuts = sampling.top_k > 0 && static_cast<std::size_t>(sampling.top_k) < order.size();
  keep(probabilities, order, cuts ? static_cast<std::size_t>(sampling.top_k) : order.size());
  if (sampling.top_p < 1) {
    std::size_t count = 0;
    for (double sum = 0; count < order.size() && sum < sampling.top_p; ++count) sum += probabilities[order[count]];
    keep(probabilities, order, count);
  }
  return probabilities;
}

std::size_t draw(std::span<const double> probabilities, double uniform) {
  double sum = 0;
  std::size_t last = 0;
  for (std::size_t i = 0; i < probabilities.size(); ++i) {
    if (probabilities[i] == 0) continue;
    sum += probabilities[i];
    last = i;
    if (uniform < sum) return i;
  }
  return last;  // the sum is below 1 by rounding
}

}  // namespace trainlab

#include "shared_entries.h"

#include <algorithm>
#include <string>

namespace trainlab {

void require_single_objective(const Options& spec, std::size_t objectives) {
  if (objectives > 1) throw spec.error("", "expected a study of one objective, found " + std::to_string(objectives));
}

Option rung_min_option(const char* doc) {
  return Option("min", std::string(doc) +
                           " (default: a 27th of a whole training where the fit keeps its best weights by the metric "
                           "of the sweep, else a third; 1 where nobody knows how long a training is)")
      .integer()
      .at_least(1);
}

Option rung_max_option(const char* doc) { return Option("max", doc).integer().at_least(1).required(); }

Option rung_reduction_option(const char* doc) { return Option("reduction", doc).integer().at_least(2).or_default(3); }

std::int64_t first_rung(const Options& spec, std::int64_t whole, Delivery::Weights weights, std::int64_t most) {
  if (spec.given("min")) return spec.integer("min");
  if (whole == 0) return 1;
  constexpr double least_share = 0.03;
  const std::int64_t reduction = spec.integer("reduction");
  const std::int64_t deepest = std::max<std::int64_t>(weights == Delivery::Weights::best ? 27 : 3, reduction);
  std::int64_t first = whole;
  for (std::int64_t divisor = reduction, rungs = 2; divisor <= deepest && rungs <= most;
       divisor *= reduction, ++rungs) {
    const std::int64_t length = whole / divisor;
    const bool is_long_enough =
        divisor == reduction || static_cast<double>(length) >= least_share * static_cast<double>(whole);
    if (length >= 1 && is_long_enough) first = length;
  }
  return first;
}

std::vector<std::int64_t> rung_lengths(const Options& spec, Delivery::Weights weights) {
  const std::int64_t max = spec.integer("max"), reduction = spec.integer("reduction");
  const std::int64_t min = first_rung(spec, max, weights);
  if (max < min) {
    throw spec.error("max", "expected at least min = " + std::to_string(min) + ", found " + std::to_string(max));
  }
  std::vector<std::int64_t> lengths{min};
  while (lengths.back() <= max / reduction) lengths.push_back(lengths.back() * reduction);
  return lengths;
}

std::vector<std::int64_t> bracket_sizes(const std::vector<std::int64_t>& lengths) {
  const auto brackets = static_cast<std::int64_t>(lengths.size());
  std::vector<std::int64_t> sizes;
  for (std::int64_t s = 0; s < brackets; ++s) {
    const std::int64_t power = lengths[static_cast<std::size_t>(s)] / lengths.front();
    sizes.push_back((brackets * power + s) / (s + 1));
  }
  return sizes;
}

}  // namespace trainlab

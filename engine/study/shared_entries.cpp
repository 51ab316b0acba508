#include "shared_entries.h"

namespace trainlab {

void require_single_objective(const Options& spec, std::size_t objectives) {
  if (objectives > 1) throw spec.error("", "expected a study of one objective, found " + std::to_string(objectives));
}

Option rung_min_option(const char* doc) { return Option("min", doc).integer().at_least(1).or_default(1); }

Option rung_max_option(const char* doc) { return Option("max", doc).integer().at_least(1).required(); }

Option rung_reduction_option(const char* doc) { return Option("reduction", doc).integer().at_least(2).or_default(3); }

std::vector<std::int64_t> rung_lengths(const Options& spec) {
  const std::int64_t min = spec.integer("min"), max = spec.integer("max"), reduction = spec.integer("reduction");
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

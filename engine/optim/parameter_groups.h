// The options that hold for each parameter: those of the spec, or of the first of its `groups` whose pattern matches.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "optim/optimizer.h"

namespace trainlab {

// Adds the options `groups` (tables with `params` and any of the options declared so far) and `layer_decay`.
Entry with_groups(Entry entry);

class ParameterGroups {
 public:
  // One spec per row. Error{recipe} for a pattern that fits no name, and for rates of groups beside a rate of 0.
  ParameterGroups(std::span<const Options> specs, std::span<const OptimizedParameter> parameters);

  // The options that hold for parameter i in a row.
  const Options& options(std::int64_t row, std::size_t i) const {
    return specs_[static_cast<std::size_t>(row)][places_[place(row, i)].group];
  }
  // The factor of the row's rate: the group's own rate divided by the spec's, times the layer's decay.
  double rate_factor(std::int64_t row, std::size_t i) const { return places_[place(row, i)].rate_factor; }
  // Whether one set of options and one rate hold for both parameters of a row.
  bool alike(std::int64_t row, std::size_t i, std::size_t j) const {
    const Place &a = places_[place(row, i)], &b = places_[place(row, j)];
    return a.group == b.group && a.rate_factor == b.rate_factor;
  }

 private:
  struct Place {
    std::size_t group = 0;
    double rate_factor = 1;
  };
  std::size_t place(std::int64_t row, std::size_t i) const { return static_cast<std::size_t>(row) * parameters_ + i; }
  void add_row(const Options& spec, std::span<const OptimizedParameter> parameters);

  std::size_t parameters_;
  std::vector<std::vector<Options>> specs_;  // per row: the spec's own options, then those of its groups
  std::vector<Place> places_;                // [row, parameter]
};

}  // namespace trainlab

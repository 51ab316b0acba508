// The rows of the member axis that the loop's tensors have, and what trains in them.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "train/fit.h"
#include "train/trained.h"

namespace trainlab {

// The number of rows of the member axis; without an axis, 1. An axis has at least two rows, because one row would use
// other kernels: a second row is a copy of the member that never takes a step.
std::size_t row_count(std::span<const FitMember> members, bool axis);

// The key of each row, from which all randomness of its member comes.
std::vector<Key> row_keys(std::span<const FitMember> members, const FitPlan& plan, bool axis);

// A Group of these rows, or an OwnStep where the fit has a step of its own. `places`: what the passes of `company` are
// told of the rows. Error{recipe} for passes beside a step of the recipe's own.
std::unique_ptr<Trained> make_trained(const FitPlan& plan, std::span<const FitMember> members, bool axis,
                                      const FitCompany& company, const std::vector<std::size_t>& places);

}  // namespace trainlab

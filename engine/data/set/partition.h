// Helpers that divide a part into parts: the classes and the groups of samples.
#pragma once

#include <vector>

#include "data/dataset.h"

namespace trainlab {

// Some samples of a part, by their places in it.
Part rows_of(const Part& part, std::vector<std::int64_t> samples);

// Error{recipe} if training samples are drawn by weight: the data must be divided before.
void require_unweighted(const Options& spec, const DataParts& parts);
// Error{recipe} if all samples have shaped values that are the training part's alone to shape, so that the other parts
// would not stay unseen: a mean and a deviation, or the fill values and categories of a table.
void require_unshaped(const Options& spec, const DataParts& parts);
// Marks a text as divided: it cannot be cut again.
void cut_no_more(DataParts& parts);

// The class of each training sample. Error{recipe} at `option` if samples do not have one class each.
std::vector<std::int64_t> classes_of(const Options& spec, std::string_view option, const Part& part);
// For each training sample the number in the column that `option` names. Error{recipe} for an unknown column, a column
// with more than one number in a sample, and missing numbers.
std::vector<double> numbers_of(const Options& spec, std::string_view option, const DataParts& parts);

// The option `groups`; for each training sample its group, 0 … groups − 1 in order of the column's values; and each
// group's samples.
Option groups_option();
std::vector<std::int64_t> groups_of(const Options& spec, const DataParts& parts);
std::vector<std::vector<std::int64_t>> members_of(const std::vector<std::int64_t>& groups);

}  // namespace trainlab

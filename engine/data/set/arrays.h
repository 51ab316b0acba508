// Arrays from files or from a recipe as the columns of a data set.
#pragma once

#include <string>
#include <vector>

#include "data/dataset.h"

namespace trainlab {

struct NamedArray {
  std::string name;   // of the column
  at::Tensor values;  // [N, …], on the CPU
  std::string from;   // for messages: "x.npy", "set.npz: images"
};

// Floats are given as floats, [N] as [N, 1]; bytes and booleans of any column but y too, bytes in 0…1. Other whole numbers
// are given as int64. Whole numbers and booleans of y are classes from 0, as many as the largest + 1. Error{recipe} names
// the array: without samples, of another number of samples than the first, not finite, negative classes, complex numbers.
Dataset dataset_of(const std::vector<NamedArray>& arrays);

// The classes of labels, int64 of any shape: as many as the largest + 1. Error{recipe} with `from` for labels that are
// none.
std::int64_t count_classes(const at::Tensor& labels, const std::string& from);

}  // namespace trainlab

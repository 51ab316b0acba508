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

// Makes a data set of arrays. Floats become floats, [N] becomes [N, 1]; bytes (as 0…1) and booleans of every column
// except y become floats too, other whole numbers int64. Whole numbers and booleans of y are classes from 0, and the
// number of classes is the largest + 1; whole numbers below 0, and from most_classes on, are marks. Error{recipe} names
// the array: no samples, another number of samples than the first array, values that are not finite, no class, complex
// numbers.
Dataset dataset_of(const std::vector<NamedArray>& arrays);

// Error{recipe} with `from` where floats are not finite. Takes no memory to speak of.
void check_finite(const at::Tensor& values, const std::string& from);

// Numbers as float32 where float32 holds each of them exactly, else as they are, in float64: a column keeps what its
// source says, and takes no more memory than that.
at::Tensor narrow_exactly(const at::Tensor& doubles);

// No model has that many outputs: labels from this number on are no classes, but marks of what does not count, as
// labels below 0 are.
inline constexpr std::int64_t most_classes = 1'000'000;

// The highest of the labels (whole numbers, any shape) that may be a class; −1: there is none.
std::int64_t highest_class(const at::Tensor& labels);

// Counts the classes of labels (int64, any shape) into `dataset`: the highest + 1, the lowest label and the highest
// mark, each together with what `dataset` has counted before. Error{recipe} with `from` where no label is a class.
void count_classes(Dataset& dataset, const at::Tensor& labels, const std::string& from);

}  // namespace trainlab

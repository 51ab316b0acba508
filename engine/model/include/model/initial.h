// Initial values and frozen parameters by the names of parameters: the fields `init` and `freeze` of lab.fit.
#pragma once

#include <functional>
#include <string_view>

#include "model/model.h"

namespace trainlab {

// What an entry of kind "init" is implemented by: the initial values of a parameter of this shape.
using InitFactory = std::function<Initializer(const Options&, const Shape&)>;

// What an entry of kind "init" is implemented by that reads values instead of drawing them: tensors by the names of
// parameters and buffers ("2.weight"). Its option `path` says where they come from, and its option `except` is a list of
// patterns of names that it leaves alone.
struct StoredValues {
  std::function<NamedTensors(const Options&)> read;
};

// The value of an option that holds an entry of kind "init", for a parameter of this shape. Error{recipe} for one of
// stored values, which need a name.
Initializer initializer_of(const Options& options, std::string_view option, const Shape& shape);

// A keyed option of entries "init": one is for all parameters of two or more axes, those of a table for the parameters
// whose names match their pattern. Of several that match, the one with the most other characters counts. Stored values
// are for all parameters and buffers, or those that match. Does nothing where the option was not given. Error{recipe} for a
// pattern without a match, two equally long ones that match, and stored values that are missing or of another shape.
void initialize_by_pattern(Model& model, const Options& options, std::string_view option);

// A list of patterns: the parameters that match do not train. Error{recipe} for a pattern without a match, and when no
// parameter is left.
void freeze_by_pattern(Model& model, const Options& options, std::string_view option);

}  // namespace trainlab

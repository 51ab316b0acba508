// Initial values and frozen parameters by the names of parameters: the fields `init` and `freeze` of lab.fit.
#pragma once

#include <functional>
#include <string_view>

#include "model/model.h"

namespace trainlab {

// What an entry of kind "init" is implemented by: the initial values of a parameter of this shape.
using InitFactory = std::function<Initializer(const Options&, const Shape&)>;

// The value of an option that holds an entry of kind "init", for a parameter of this shape.
Initializer initializer_of(const Options& options, std::string_view option, const Shape& shape);

// A keyed option of entries "init": one is for all parameters of two or more axes, those of a table for the parameters
// whose names match their pattern. Of several that match, the one with the most other characters counts. Does nothing
// where the option was not given. Error{recipe} for a pattern without a match, or two equally long ones that match.
void initialize_by_pattern(Model& model, const Options& options, std::string_view option);

// A list of patterns: the parameters that match do not train. Error{recipe} for a pattern without a match, and when no
// parameter is left.
void freeze_by_pattern(Model& model, const Options& options, std::string_view option);

}  // namespace trainlab

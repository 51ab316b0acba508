// Initial values and frozen parameters by the names of parameters: the fields `init` and `freeze` of lab.fit.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "model/model.h"

namespace trainlab {

// The implementation of an entry of kind "init" that draws: gives the initial values of a parameter of this shape.
using InitFactory = std::function<Initializer(const Options&, const Shape&)>;

// The initial values of a parameter: stored · (stored values) + own · (the values that the model draws itself).
struct Mixture {
  double stored = 1, own = 0;
};

// The implementation of an entry of kind "init" that reads values instead of drawing them: tensors by the names of
// parameters and buffers ("2.weight"). The entry's option `except` is a list of patterns of names that keep their other
// values; with its option `partial` all tensors keep theirs for which there is no value of their name and shape.
struct StoredValues {
  struct Tensors {
    NamedTensors by_name;
    std::map<std::string, std::string> origins = {};  // the names in the file, of those that have another name here
  };
  std::function<Tensors(const Options&)> read;
  std::string option = "path";                                 // says where the values come from
  std::function<Mixture(const Options&)> mixture = {};         // null: stored values as they are
  std::function<NamedTensors(const Options&)> optimizer = {};  // the optimizer's first state; null or empty: its own
};

// The stored values that an entry of kind "init" reads; null for an entry that draws.
const StoredValues* stored_values(const Options& init);
// The same of an option with a single entry for the whole model; null too for a table by patterns, and where the option
// was not given.
const StoredValues* stored_for_whole(const Options& options, std::string_view option);
// Whether an option of entries "init" states stored values for the model or for a part of it.
bool begins_with_stored(const Options& options, std::string_view option);

// The value of an option that holds an entry of kind "init", for a parameter of this shape. Error{recipe} for stored
// values, which need a name.
Initializer initializer_of(const Options& options, std::string_view option, const Shape& shape);

// Gives the model the initial values that a keyed option of entries "init" states. A single entry is for all parameters
// of two or more axes; the entries of a table are for the parameters whose names match the entry's pattern. If several
// patterns match a name, the pattern with the most characters beside its wildcards counts. Stored values are for all
// parameters and buffers, or for those that match. Does nothing if the option was not given. Returns a line for the
// user about each entry that took only a part of its stored values. Error{recipe} for a pattern without a match, for
// two equally long patterns that match one name, and for stored values that are missing or of another shape.
std::vector<std::string> initialize_by_pattern(Model& model, const Options& options, std::string_view option);

// The first state of the optimizer, by its names for its tensors, that the entry of the option states; empty where the
// optimizer begins with a state of its own. Error{recipe} where the entry is for a part of the model.
NamedTensors initial_optimizer(const Options& options, std::string_view option);

// A list of patterns: the parameters that match do not train. Error{recipe} for a pattern without a match, and when no
// parameter is left.
void freeze_by_pattern(Model& model, const Options& options, std::string_view option);

}  // namespace trainlab

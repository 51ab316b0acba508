// Specs of layers for tests, as recipes would write them, and models built from them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "model/model.h"
#include "tensor/random.h"

namespace trainlab::testing {

const Registry& registry();

// nn.NAME(positional…, { named }).
Value nn(const std::string& name, Value::List positional = {}, Value::Map named = {});
Value sequential(Value::List layers);

struct Case {
  std::string name;
  Value spec;
  Shape input;             // of a sample
  std::int64_t below = 0;  // the input are integers from 0 up to, without, this one; 0: floating-point numbers
  bool has_golden = true;  // the golden files have PyTorch's numbers under this name
};

Model build(const Value& spec, const Shape& input);
Model build_on(const Value& spec, Signals columns);
Model build(const Case& layer);

// Normal draws on the device of the tests.
at::Tensor drawn(at::IntArrayRef shape, Key key = Key(5), at::ScalarType type = at::kDouble);

// Whether the entry is somewhere in the spec.
bool shows(const Value& spec, const std::string& entry);

// A small causal language model with an output head tied to its token vectors.
Value gpt(std::int64_t vocabulary, std::int64_t width, std::int64_t heads, std::int64_t layers);

// The layers of tests/golden/model_golden.py and layers_*_golden.py under the same names, and those for which there are
// no numbers of PyTorch (Dropout draws its own masks).
const std::vector<Case>& cases();

}  // namespace trainlab::testing

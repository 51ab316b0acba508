// Params: the parameters of a trial as a recipe's function gets them. Reading a name that is not among them is an error
// there; one whose value is nil (inactive) reads as nil.
#pragma once

#include "core/callable.h"

namespace trainlab {

class Params final : public Object {
 public:
  explicit Params(Value::Map its_values) : values(std::move(its_values)) {}
  std::string_view type_name() const override { return "params"; }

  Value::Map values;  // all names
};

}  // namespace trainlab

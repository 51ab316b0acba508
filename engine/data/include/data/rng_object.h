// The random numbers of one call of a recipe's function: the argument `rng` of a transform.
#pragma once

#include "core/callable.h"
#include "core/random/stream.h"

namespace trainlab {

class RngObject final : public Object {
 public:
  explicit RngObject(Key key) : stream(key) {}
  std::string_view type_name() const override { return "rng"; }

  Stream stream;
};

}  // namespace trainlab

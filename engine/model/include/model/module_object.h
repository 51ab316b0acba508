// The argument `self` of the function of an nn.Module.
#pragma once

#include <ATen/core/Tensor.h>

#include <map>
#include <string>

#include "core/callable.h"

namespace trainlab {

class ModuleObject : public Object {
 public:
  std::string_view type_name() const override { return "module"; }

  std::map<std::string, at::Tensor> parameters;  // by name
  bool training = false;
};

}  // namespace trainlab

// Arguments for a call of any operator, made from its parameters' types: mostly what could be right, often what is not.
#pragma once

#include <ATen/core/Tensor.h>

#include <deque>
#include <string>

#include "core/random/stream.h"
#include "tensor/operators.h"
#include "valid_arguments.h"

namespace trainlab::test {

// The arguments of one call. Tensors are small and of few shapes, so that they often fit each other; indices, sizes and
// numbers are sometimes far outside of what there is. An operator that has valid_arguments() is called with one of them
// half of the time.
//
// twist() then makes one or two of them odd: NaN, infinite or empty, of another layout, dtype or number of dimensions,
// with strides of 0 or holes, huge, negative, 0, absent. What is odd is found better in a call that is right otherwise.
class MadeArguments {
 public:
  MadeArguments(const Overload& overload, Stream random);
  MadeArguments(const MadeArguments&) = delete;

  void twist(Stream random);
  const OperatorArguments& get() const { return arguments_; }
  std::string text() const;  // for a message

 private:
  OperatorArgument make(const Parameter& parameter);
  OperatorArgument number(double x);
  OperatorArgument chosen(std::initializer_list<const char*> texts);
  OperatorArgument tensor(const Parameter& parameter);
  OperatorArgument list(const Parameter& parameter);
  double integer(const std::string& name);
  double floating();
  std::vector<std::int64_t> shape();
  at::Tensor strided(const std::string& name);
  void make_odd(OperatorArgument& argument);
  double odd_number(double x);
  at::Tensor odd_tensor(const at::Tensor& tensor);
  at::Tensor other_layout(const at::Tensor& tensor);

  bool chance(double p) { return random_.uniform() < p; }
  template <class T>
  T one_of(std::initializer_list<T> all) {
    return *(all.begin() + random_.below(all.size()));
  }

  Stream random_;
  std::vector<std::int64_t> shape_;  // of most tensors of the call
  at::ScalarType dtype_;             // likewise
  bool gradients_;
  std::vector<ValidArguments> valid_;  // owns the tensors of those that are taken
  std::deque<at::Tensor> tensors_;
  OperatorArguments arguments_;
};

}  // namespace trainlab::test

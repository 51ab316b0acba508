// Calls of operators from C++ as a script makes them.
#pragma once

#include <ATen/core/Tensor.h>

#include <deque>
#include <string>
#include <vector>

#include "tensor/operators.h"

namespace trainlab::test {

// An argument that owns what it refers to.
class Given {
 public:
  Given(const at::Tensor& tensor) : tensors_{tensor} { kind_ = OperatorArgument::Kind::tensor; }
  Given(double x) : numbers_{x} { kind_ = OperatorArgument::Kind::number; }
  Given(int x) : Given(static_cast<double>(x)) {}
  Given(bool x) : boolean_(x) { kind_ = OperatorArgument::Kind::boolean; }
  Given(const char* text) : text_(text) { kind_ = OperatorArgument::Kind::text; }
  Given(std::vector<double> list) : numbers_(std::move(list)), list_(true) { kind_ = OperatorArgument::Kind::number; }
  Given(std::vector<at::Tensor> list) : tensors_(std::move(list)), list_(true) {
    kind_ = OperatorArgument::Kind::tensor;
  }
  static Given nil() { return Given(); }

  OperatorArgument argument(OperatorArguments& all) const {
    OperatorArgument a = single(0);
    if (!list_) return a;
    a = {};
    a.kind = OperatorArgument::Kind::list;
    a.first = static_cast<std::uint32_t>(all.elements.size());
    a.count = static_cast<std::uint32_t>(numbers_.size() + tensors_.size());
    for (std::size_t i = 0; i < a.count; ++i) all.elements.push_back(single(i));
    return a;
  }

 private:
  Given() = default;
  OperatorArgument single(std::size_t i) const {
    OperatorArgument a;
    a.kind = kind_;
    a.boolean = boolean_;
    a.text = text_;
    if (i < numbers_.size()) a.number = numbers_[i];
    if (i < tensors_.size()) a.tensor = &tensors_[i];
    return a;
  }

  OperatorArgument::Kind kind_ = OperatorArgument::Kind::nil;
  std::vector<double> numbers_;
  std::vector<at::Tensor> tensors_;
  std::string text_;
  bool boolean_ = false, list_ = false;
};

struct Named {
  const char* name;
  Given value;
};

struct Call {
  Call(std::string op, std::vector<Given> positional, std::vector<Named> named = {})
      : op_(std::move(op)), positional_(std::move(positional)), named_(std::move(named)) {
    for (const Given& given : positional_) arguments.positional.push_back(given.argument(arguments));
    for (const Named& given : named_) arguments.named.push_back({given.name, given.value.argument(arguments)});
  }
  Call(const Call&) = delete;

  const Operator& op() const {
    const Operator* found = find_operator(op_);
    if (!found) throw recipe_error("no operator " + op_);
    return *found;
  }
  const Overload& overload() const { return op().choose(arguments); }
  torch::jit::Stack operator()(Stream& random) const {
    torch::jit::Stack results;
    overload().call(arguments, random, results);
    return results;
  }
  at::Tensor tensor(std::uint64_t seed = 1) const {
    Stream random{Key(seed)};
    return (*this)(random).at(0).toTensor();
  }

  OperatorArguments arguments;

 private:
  std::string op_;
  std::vector<Given> positional_;
  std::vector<Named> named_;
};

}  // namespace trainlab::test

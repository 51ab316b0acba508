// ATen's operators by name, bound from the dispatcher's schemas: the arguments of a script are matched with the
// overloads of an operator, converted, and passed to the dispatcher. Knows no scripting language.
//
// Which overloads there are (operator_exclusion gives the reason for each that is left out):
//   * results are returned: overloads that write into an argument `out` are left out;
//   * arguments have a form as nil, boolean, number, text, tensor or list of these: storages, streams, quantisation
//     schemes, dictionaries, objects and dimension names have none;
//   * nothing is drawn from LibTorch's global generator: overloads with a generator argument draw from a key, and so do
//     dropout operators; others that can drop are refused when a call asks for that; the rest is left out;
//   * no files, no memory that was never written, no tensors of symbolic shapes;
//   * operators check what they are given, and argument_rule() what LibTorch leaves unchecked: inner parts of PyTorch
//     (names that begin with _, parts of backward passes, single libraries of kernels) trust their caller and are left
//     out but for a few that were looked at; sparse tensors are made of copies.
//
// The first overload that takes the arguments counts: a tensor before a number, an integer before a float, fewer
// parameters before more. Operators are made on first use and kept; thread-safe.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "core/random/stream.h"

namespace trainlab {

// One argument of a script. Refers to the caller's memory.
struct OperatorArgument {
  enum class Kind : std::uint8_t { nil, boolean, number, text, tensor, list, other };
  Kind kind = Kind::nil;
  bool boolean = false;
  std::uint32_t first = 0, count = 0;  // list: its elements in OperatorArguments::elements
  double number = 0;
  const at::Tensor* tensor = nullptr;  // undefined: it was released
  std::string_view text;               // other: a description for messages ("a function")
};

struct OperatorArguments {
  struct Named {
    std::string_view name;
    OperatorArgument value;
  };
  std::vector<OperatorArgument> positional;
  std::vector<Named> named;
  std::vector<OperatorArgument> elements;  // of all lists; lists do not nest
  bool released = false;                   // a tensor among them was released

  void clear() {
    positional.clear();
    named.clear();
    elements.clear();
    released = false;
  }
  std::string text(const OperatorArgument& argument) const;  // "a float32 tensor [2, 3]", for messages
};

// The types that a parameter takes.
enum class Takes : std::uint8_t {
  tensor,
  integer,
  boolean,
  floating,
  scalar,
  text,
  device,
  dtype,
  layout,
  memory_format,
  reduction,
  generator,
  tensors,
  optional_tensors,
  integers,
  floats,
  booleans,
  scalars
};

struct ArgumentRule;

struct Parameter {
  std::string name;
  Takes takes = Takes::tensor;
  bool optional = false;    // nil may be given
  bool required = true;     // no default
  bool by_name = false;     // not by position
  bool number_too = false;  // a tensor, for which a number may stand
  int count = 0;            // length of a list whose length is given: one value stands for the whole list
  c10::IValue fallback;
  const ArgumentRule* rule = nullptr;  // a check that LibTorch lacks; or null
};

class Overload {
 public:
  explicit Overload(const c10::OperatorHandle& handle);

  // Calls the operator; `results` then holds the results in the order of the schema. Random numbers come from `random`.
  // Raises the errors of ATen, and Error{recipe} for dropout that cannot be keyed.
  void call(const OperatorArguments& arguments, Stream& random, torch::jit::Stack& results) const;

  bool draws() const { return generator_ >= 0 || own_; }
  bool in_place() const { return in_place_; }  // changes an argument
  const std::vector<Parameter>& parameters() const { return parameters_; }
  const c10::FunctionSchema& schema() const { return handle_.schema(); }
  // "ops.sum(self, dim, keepdim = false, { dtype = nil }) → tensor"
  std::string text() const;

 private:
  friend class Operator;
  using Own = void (*)(torch::jit::Stack&, Key);

  // Why the arguments do not fit: what is wrong, a hint, and how many arguments were right.
  struct Misfit {
    std::string text;
    std::string hint;
    int fitting = 0;
  };
  bool takes(const OperatorArguments& arguments) const;
  Misfit misfit(const OperatorArguments& arguments) const;
  void check_rules(const OperatorArguments& arguments, const torch::jit::Stack& values) const;
  std::string place(std::size_t parameter, bool by_name) const;  // "argument 2 (dim)" or "'dim'"
  const OperatorArgument* given(const OperatorArguments& arguments, std::size_t parameter) const;
  bool takes_trailing(const OperatorArguments& arguments) const;
  const OperatorArgument* seed(const OperatorArguments& arguments) const;

  c10::OperatorHandle handle_;
  std::vector<Parameter> parameters_;
  std::size_t positional_ = 0;  // parameters that are taken by position
  int trailing_ = -1;           // the list parameter that takes trailing integers: view(2, 3)
  int generator_ = -1;
  int dropout_ = -1;                 // the parameter that must be 0, because its draws cannot be keyed
  int training_ = -1;                // the parameter that, if false, allows any dropout
  bool numbers_are_floats_ = false;  // the result's dtype comes from numbers alone
  bool undefined_memory_ = false;    // results are zeroed
  int compact_ = -1;                 // the tensor that is made contiguous
  int driver_ = -1;                  // of least squares: LibTorch's own choice on the CPU is replaced
  bool keeps_dtype_ = false;         // its parameter dtype, the third, is by default that of the first tensor
  bool copies_ = false;              // tensors are copied
  bool in_place_ = false;
  bool has_rules_ = false;  // a parameter has a rule
  Own own_ = nullptr;
};

class Operator {
 public:
  Operator(std::string name, std::vector<Overload> overloads)
      : name_(std::move(name)), overloads_(std::move(overloads)) {}

  const std::string& name() const { return name_; }
  const std::vector<Overload>& overloads() const { return overloads_; }

  // The overload that takes the arguments; Error{recipe} in "lab.ops.NAME" saying which argument does not fit.
  const Overload& choose(const OperatorArguments& arguments) const;

  // The error of an overload, with the operator's name and the shapes and dtypes of the tensors.
  Error explain(const Overload& overload, const OperatorArguments& arguments, const std::exception& error) const;

 private:
  Error released(const OperatorArguments& arguments) const;

  std::string name_;
  std::vector<Overload> overloads_;
};

// nullptr if there is none. Valid for ever.
const Operator* find_operator(std::string_view name);

// Names of all operators that can be called, in order.
const std::vector<std::string>& operator_names();

// Why an overload cannot be called; empty if it can.
std::string operator_exclusion(const c10::OperatorHandle& handle);

}  // namespace trainlab

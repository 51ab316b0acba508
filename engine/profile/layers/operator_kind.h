// OperatorKind: an operator of LibTorch as a profile sees it: which arguments it reads, whether it moves memory, and
// its arithmetic. Private to the room.
#pragma once

#include <c10/util/ArrayRef.h>

#include <cstdint>
#include <optional>

namespace at {
struct RecordFunction;
}
namespace c10 {
struct IValue;
}

namespace trainlab {

// Operations of one call of a matrix product, a convolution, an attention or a recurrent layer, each multiply-add
// counted as two (the convention of Flops, model/layer.h).
struct Products {
  double fixed = 0;             // operations known from the inputs alone
  double per_output_value = 0;  // operations for each value of the first output
};

struct OperatorKind {
  std::uint64_t reads = ~std::uint64_t{0};  // bit i: the values of argument i are read
  std::uint64_t writes = 0;                 // bit i: argument i is written and not returned
  // Whether the operator moves memory. False for operators that return a view of their input, and for operators that
  // return memory of unspecified content.
  bool moves = true;
  // Not null for the operators with products. The operators that this operator calls are counted as a part of it, so
  // that the products and their time stand in one row.
  Products (*products)(c10::ArrayRef<const c10::IValue> inputs) = nullptr;
};

// The kind of the operator that is being called; nullopt where the record is not of an operator. Looks at the schema,
// which is slow, so the caller keeps the result by the address of function.name(), which stays the same for an
// operator.
std::optional<OperatorKind> operator_kind(const at::RecordFunction& function);

// Bytes of the tensors in `values`, at most 64 and lists of tensors included, whose bits are set in `which`. An
// expanded tensor, which repeats its values, counts with the bytes that are in memory.
double tensor_bytes(c10::ArrayRef<const c10::IValue> values, std::uint64_t which);

}  // namespace trainlab

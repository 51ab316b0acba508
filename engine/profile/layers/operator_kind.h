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
  double fixed = 0;             // known from the inputs
  double per_output_value = 0;  // for each value of the first output
};

struct OperatorKind {
  std::uint64_t reads = ~std::uint64_t{0};  // bit i: the values of argument i are read
  std::uint64_t writes = 0;  // bit i: argument i is written and not returned
  // False for operators that give another view of their input, and for those that give memory of unspecified content.
  bool moves = true;
  // Not null for the operators with products. What such an operator calls is part of the operator, so that products
  // and the time that they take stand in one place.
  Products (*products)(c10::ArrayRef<const c10::IValue> inputs) = nullptr;
};

// The kind of the operator that is being called; nullopt where the record is not of an operator. Looks at the schema,
// which is slow: to be kept by the address of function.name(), which the operator keeps.
std::optional<OperatorKind> operator_kind(const at::RecordFunction& function);

// Bytes of the tensors in `values`, lists of tensors included, as far as `which` has their bits; there are no more than
// 64. A tensor that repeats its values has the bytes that are in memory.
double tensor_bytes(c10::ArrayRef<const c10::IValue> values, std::uint64_t which);

}  // namespace trainlab

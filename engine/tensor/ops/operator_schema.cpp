#include "operator_schema.h"

#include <ATen/core/jit_type.h>

namespace trainlab {

namespace {

std::optional<Takes> list_of(c10::TypeKind element) {
  switch (element) {
    case c10::TypeKind::TensorType: return Takes::tensors;
    case c10::TypeKind::IntType:
    case c10::TypeKind::SymIntType: return Takes::integers;
    case c10::TypeKind::FloatType: return Takes::floats;
    case c10::TypeKind::BoolType: return Takes::booleans;
    case c10::TypeKind::NumberType: return Takes::scalars;
    default: return std::nullopt;
  }
}

}  // namespace

std::optional<ScriptType> script_type(const c10::TypePtr& type) {
  switch (type->kind()) {
    case c10::TypeKind::OptionalType: {
      const auto inner = script_type(type->castRaw<c10::OptionalType>()->getElementType());
      if (!inner || inner->optional) return std::nullopt;
      return ScriptType{inner->takes, true};
    }
    case c10::TypeKind::ListType: {
      const c10::TypePtr element = type->castRaw<c10::ListType>()->getElementType();
      if (const auto* optional = element->castRaw<c10::OptionalType>()) {
        if (optional->getElementType()->kind() != c10::TypeKind::TensorType) return std::nullopt;
        return ScriptType{Takes::optional_tensors, false};
      }
      const auto takes = list_of(element->kind());
      if (!takes) return std::nullopt;
      return ScriptType{*takes, false};
    }
    case c10::TypeKind::TensorType: return ScriptType{Takes::tensor, false};
    case c10::TypeKind::IntType:
    case c10::TypeKind::SymIntType: return ScriptType{Takes::integer, false};
    case c10::TypeKind::BoolType: return ScriptType{Takes::boolean, false};
    case c10::TypeKind::FloatType: return ScriptType{Takes::floating, false};
    case c10::TypeKind::NumberType: return ScriptType{Takes::scalar, false};
    case c10::TypeKind::StringType: return ScriptType{Takes::text, false};
    case c10::TypeKind::DeviceObjType: return ScriptType{Takes::device, false};
    case c10::TypeKind::ScalarTypeType: return ScriptType{Takes::dtype, false};
    case c10::TypeKind::LayoutType: return ScriptType{Takes::layout, false};
    case c10::TypeKind::MemoryFormatType: return ScriptType{Takes::memory_format, false};
    case c10::TypeKind::GeneratorType: return ScriptType{Takes::generator, false};
    default: return std::nullopt;
  }
}

}  // namespace trainlab

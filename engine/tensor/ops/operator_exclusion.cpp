// Which operators a script cannot call, and why.
#include <ATen/core/enum_tag.h>
#include <ATen/core/jit_type.h>

#include "core/callable.h"
#include "operator_dropout.h"
#include "operator_schema.h"

namespace trainlab {

namespace {

bool is_out(const c10::Argument& argument) {
  return argument.kwarg_only() && argument.alias_info() && argument.alias_info()->isWrite();
}

bool has_generator(const c10::FunctionSchema& schema) {
  return std::any_of(schema.arguments().begin(), schema.arguments().end(), [](const c10::Argument& argument) {
    const auto type = script_type(argument.real_type());
    return type && type->takes == Takes::generator;
  });
}

bool can_drop(const c10::FunctionSchema& schema) {
  return std::any_of(schema.arguments().begin(), schema.arguments().end(), [](const c10::Argument& argument) {
    return one_of(argument.name(), {"dropout", "dropout_p"});
  });
}

// Names that begin with _ are PyTorch's inner parts, which trust their caller; these were looked at, and are what
// PyTorch's own functions call where there is no operator of a plain name.
bool reviewed_inner_part(std::string_view name) {
  return one_of(name, {"_aminmax", "_sample_dirichlet", "_standard_gamma", "_unique2", "_upsample_nearest_exact1d",
                       "_upsample_nearest_exact2d", "_upsample_nearest_exact3d"});
}

bool begins_with_any(std::string_view name, std::initializer_list<std::string_view> beginnings) {
  return std::any_of(beginnings.begin(), beginnings.end(),
                     [&](std::string_view beginning) { return name.starts_with(beginning); });
}

// Operators that a recipe could make read or write outside of its tensors, or that give it such a tensor.
std::string trusts_its_caller(std::string_view name) {
  if (name.starts_with('_') && !reviewed_inner_part(name)) return "an inner part of PyTorch, which trusts its caller";
  if (name.find("_backward") != std::string_view::npos) return "a part of backward(), which trusts what forward saved";
  if (begins_with_any(name, {"cudnn_", "fbgemm_", "miopen_", "mkldnn_", "mps_", "quantized_"}) || name == "to_mkldnn")
    return "belongs to one library of kernels";
  if (begins_with_any(name, {"slow_conv", "thnn_conv"})) return "an inner part of conv2d and conv3d";
  if (begins_with_any(name, {"batch_norm_", "native_batch_norm"})) return "an inner part of batch_norm";
  if (one_of(name, {"choose_qparams_optimized", "copy", "embedding_bag", "fused_moving_avg_obs_fake_quant", "pdist"}))
    return "ends in a signal for some arguments";
  if (name == "native_group_norm") return "an inner part of group_norm";
  if (name == "data") return "shares memory behind the back of backward(), which detach does not";
  if (one_of(name, {"ccol_indices", "col_indices", "crow_indices", "indices", "row_indices", "values"}))
    return "hands out what a sparse tensor is made of, to be written to; NAME_copy copies it";
  return "";
}

}  // namespace

std::string operator_exclusion(const c10::OperatorHandle& handle) {
  const c10::FunctionSchema& schema = handle.schema();
  const std::string_view name = base_name(handle);
  const std::string& overload = schema.overload_name();
  for (const c10::Argument& argument : schema.arguments()) {
    if (is_out(argument)) return "writes into an argument `out`; results are returned";
  }
  if (overload.find("imname") != std::string::npos || overload.find("names") != std::string::npos)
    return "dimension names";
  if (one_of(name, {"align_as", "align_tensors"})) return "dimension names";
  for (const c10::Argument& argument : schema.arguments()) {
    if (!script_type(argument.real_type()))
      return "an argument has no form in a script: " + argument.real_type()->repr_str();
  }
  for (const c10::Argument& result : schema.returns()) {
    const auto type = script_type(result.real_type());
    if (!type || type->takes == Takes::generator)
      return "a result has no form in a script: " + result.real_type()->repr_str();
  }
  if (one_of(name, {"from_file"})) return "reads files";
  if (begins_with_any(name, {"resize", "_resize", "sparse_resize"}) ||
      one_of(name, {"as_strided_", "set_", "set", "set_data"}))
    return "changes the memory behind a tensor";
  if (name.starts_with("sym_")) return "symbolic shapes";
  if (begins_with_any(name, {"quantize_per_", "q_per_", "q_scale", "q_zero_point"}) ||
      one_of(name, {"dequantize", "empty_quantized", "int_repr", "qscheme"}))
    return "makes or reads tensors of quantized dtypes, which no tensor here has; fake_quantize_… rounds numbers";
  if (std::string reason = trusts_its_caller(name); !reason.empty()) return reason;
  if (handle.hasTag(at::Tag::nondeterministic_seeded) && !has_generator(schema) && !keyed_dropout(name) &&
      !can_drop(schema)) {
    return "draws from the global generator";
  }
  return "";
}

}  // namespace trainlab

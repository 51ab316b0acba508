// Operators for which LibTorch's C++ has no shape functions: each runs on the CPU with zeros in place of values. The
// memory that the operator uses meanwhile is reported as a block that lives as long as the operator runs.
#include <ATen/Parallel.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/ops/_scaled_dot_product_attention_math.h>
#include <ATen/ops/_scaled_dot_product_flash_attention_for_cpu.h>
#include <ATen/ops/concat.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/empty_strided.h>
#include <ATen/ops/lstm_native.h>
#include <ATen/ops/mkldnn_rnn_layer.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros_like.h>
#include <torch/library.h>

#include <algorithm>
#include <mutex>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "core/callable.h"
#include "meta_device.h"
#include "tensor/memory_events.h"

namespace trainlab {
namespace {

// Measures the largest number of bytes that the CPU's tensors take beyond those from before this thread's operator.
class OperatorMemory final : public MemoryListener {
 public:
  void allocated(const void*, std::int64_t bytes, MemoryUse) noexcept override {
    now_ += bytes;
    peak = std::max(peak, now_);
  }
  void freed(const void*, std::int64_t bytes, MemoryUse) noexcept override { now_ -= bytes; }
  std::int64_t held() const { return now_; }
  std::int64_t peak = 0;

 private:
  std::int64_t now_ = 0;
};

at::Tensor with_zeros(const at::Tensor& like) {
  if (!like.defined() || !like.is_meta()) return like;
  return at::empty_strided(like.sizes(), like.strides(), like.options().device(at::kCPU)).zero_();
}

c10::IValue on_cpu(const c10::IValue& value) {
  if (value.isTensor()) return with_zeros(value.toTensor());
  if (value.isTensorList()) {
    c10::List<at::Tensor> all;
    for (const at::Tensor& one : value.toTensorVector()) all.push_back(with_zeros(one));
    return all;
  }
  if (value.isOptionalTensorList()) {
    c10::List<std::optional<at::Tensor>> all;
    for (const std::optional<at::Tensor>& one : value.toOptionalTensorVector())
      all.push_back(one ? std::optional(with_zeros(*one)) : std::nullopt);
    return all;
  }
  if (value.isDevice()) return at::Device(at::kCPU);
  return value;
}

// A tensor without its values.
struct TensorForm {
  bool is_defined = false;
  at::ScalarType type = at::kFloat;
  std::vector<std::int64_t> sizes, strides;

  explicit TensorForm(const at::Tensor& like) : is_defined(like.defined()) {
    if (!is_defined) return;
    type = like.scalar_type();
    sizes = like.sizes().vec();
    strides = like.strides().vec();
  }
  at::Tensor made() const {
    return is_defined ? at::empty_strided(sizes, strides, at::device(at::kMeta).dtype(type)) : at::Tensor();
  }
};

// The memory of an operator: the bytes that it took while it ran, and the forms of its results.
struct Outcome {
  struct Result {
    std::optional<std::size_t> same_as;  // the argument that the operator has changed and returns
    bool is_list = false;
    std::vector<TensorForm> forms;
  };
  std::int64_t while_running = 0;
  std::vector<Result> results;
};

Outcome::Result result_of(const c10::IValue& value) {
  Outcome::Result result{.same_as = {}, .is_list = value.isTensorList(), .forms = {}};
  if (!result.is_list) {
    result.forms.emplace_back(value.toTensor());
  } else {
    for (const at::Tensor& one : value.toTensorVector()) result.forms.emplace_back(one);
  }
  return result;
}

c10::IValue made(const Outcome::Result& result, const std::vector<c10::IValue>& given) {
  if (result.same_as) return given[*result.same_as];
  if (!result.is_list) return result.forms.front().made();
  c10::List<at::Tensor> all;
  for (const TensorForm& form : result.forms) all.push_back(form.made());
  return all;
}

Outcome outcome_on_cpu(const c10::OperatorHandle& op, const std::vector<c10::IValue>& given) {
  const auto& arguments = op.schema().arguments();
  const auto& returns = op.schema().returns();
  std::vector<c10::IValue> zeros;  // kept alive, so that freeing the operands is not counted for the operator
  zeros.reserve(given.size());
  for (const c10::IValue& value : given) zeros.push_back(on_cpu(value));
  torch::jit::Stack stack = zeros;
  OperatorMemory memory;
  {
    const MemoryListening listening(memory);
    op.redispatchBoxed(c10::DispatchKeySet(c10::DispatchKey::CPU), &stack);
  }
  Outcome outcome{.while_running = memory.peak - memory.held(), .results = {}};
  for (std::size_t r = 0; r < returns.size(); ++r) {
    const c10::AliasInfo* const alias = returns[r].alias_info();
    std::size_t same = 0;
    while (same < given.size() && !(alias && arguments[same].alias_info() && *arguments[same].alias_info() == *alias))
      ++same;
    Outcome::Result result =
        same < given.size() ? Outcome::Result{.same_as = same, .is_list = false, .forms = {}} : result_of(stack[r]);
    outcome.results.push_back(std::move(result));
  }
  return outcome;
}

bool add_to_key(std::string& key, const at::Tensor& tensor) {
  if (!tensor.defined()) {
    key += "-;";
    return true;
  }
  key += std::to_string(static_cast<int>(tensor.scalar_type())) + "[";
  for (const std::int64_t size : tensor.sizes()) key += std::to_string(size) + ",";
  for (const std::int64_t stride : tensor.strides()) key += ":" + std::to_string(stride);
  key += "]";
  return tensor.is_meta();
}

// Adds all of an argument to the key on which the operator's memory can depend; false where that is not known.
bool add_to_key(std::string& key, const c10::IValue& value) {
  if (value.isTensor()) return add_to_key(key, value.toTensor());
  if (value.isTensorList()) {
    key += "(";
    for (const at::Tensor& one : value.toTensorVector())
      if (!add_to_key(key, one)) return false;
    key += ")";
    return true;
  }
  if (!value.isNone() && !value.isInt() && !value.isDouble() && !value.isBool() && !value.isIntList() &&
      !value.isBoolList() && !value.isDoubleList() && !value.isString() && !value.isDevice())
    return false;
  std::ostringstream text;
  text << value << ";";
  key += text.str();
  return true;
}

// Runs the operator once for each form of its arguments: many dry runs of one model, as when a budget chooses among
// options, take the time of one.
void run_on_cpu(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  static thread_local std::unordered_map<std::string, Outcome> known;
  const std::vector<c10::IValue> given = torch::jit::pop(*stack, op.schema().arguments().size());
  std::string key = op.schema().name() + "." + op.schema().overload_name() + std::to_string(at::get_num_threads());
  const bool is_known_by_key =
      std::ranges::all_of(given, [&key](const c10::IValue& value) { return add_to_key(key, value); });
  std::optional<Outcome> own;
  if (!is_known_by_key) {
    own = outcome_on_cpu(op, given);
  } else if (!known.contains(key)) {
    known.emplace(key, outcome_on_cpu(op, given));
  }
  const Outcome& outcome = own ? *own : known.at(key);
  const MetaBlock while_running(outcome.while_running);
  for (const Outcome::Result& result : outcome.results) stack->push_back(made(result, given));
}

// Whether the operator reads a value, or its result's shape depends on values. Without values such an operator raises.
bool depends_on_values(std::string_view name) {
  static const std::set<std::string_view> names = {"aten::_local_scalar_dense",
                                                   "aten::nonzero",
                                                   "aten::masked_select",
                                                   "aten::_unique",
                                                   "aten::_unique2",
                                                   "aten::unique_dim",
                                                   "aten::bincount",
                                                   "aten::equal",
                                                   "aten::unique_consecutive",
                                                   "aten::nonzero_static",
                                                   "aten::is_set_to",
                                                   "aten::repeat_interleave"};
  return names.contains(name);
}

// Whether the operator takes tensors and returns new tensors, or changes tensors among its arguments.
bool is_plain(const c10::FunctionSchema& schema) {
  const auto is_tensor = [](const c10::Argument& one) {
    return one.type()->isSubtypeOf(*c10::TensorType::get()) || one.type()->isSubtypeOf(*c10::ListType::ofTensors());
  };
  const auto is_view = [](const c10::Argument& one) { return one.alias_info() && !one.alias_info()->isWrite(); };
  return !schema.returns().empty() && std::ranges::all_of(schema.returns(), is_tensor) &&
         std::ranges::none_of(schema.returns(), is_view) && std::ranges::any_of(schema.arguments(), is_tensor);
}

at::Tensor relu(const at::Tensor& x) { return at::empty_like(x); }

// Without dropout, and without a mask other than the causal one, the CPU computes attention in one fused kernel. On
// "meta" LibTorch would call several operators with all scores in memory.
at::Tensor attention(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                     const std::optional<at::Tensor>& mask, double dropout, bool is_causal, std::optional<double> scale,
                     bool groups_heads) {
  if (query.dim() != 4 || mask || dropout > 0 || groups_heads) {
    return std::get<0>(
        at::_scaled_dot_product_attention_math(query, key, value, mask, dropout, is_causal, {}, scale, groups_heads));
  }
  return std::get<0>(
      at::_scaled_dot_product_flash_attention_for_cpu(query, key, value, dropout, is_causal, mask, scale));
}

// The CPU uses oneDNN's kernel, for one layer and direction at a time. LibTorch's "meta" would call operators for each
// step of the sequence instead.
using States = std::tuple<at::Tensor, at::Tensor, at::Tensor>;
States lstm(const at::Tensor& input, at::TensorList start, at::TensorList weights, bool has_biases, std::int64_t layers,
            double dropout, bool training, bool both_directions, bool batch_first) {
  constexpr std::int64_t lstm_mode = 2;  // LibTorch's number for oneDNN's LSTM cell
  const std::size_t each = has_biases ? 4 : 2, directions = both_directions ? 2 : 1;
  const bool is_plain = weights.size() == each * directions * static_cast<std::size_t>(layers);
  if (input.scalar_type() != at::kFloat || input.numel() == 0 || !is_plain || (dropout > 0 && training)) {
    return at::native::lstm(input, start, weights, has_biases, layers, dropout, training, both_directions, batch_first);
  }
  at::Tensor now = (batch_first ? input.transpose(0, 1) : input).contiguous();
  const at::Tensor hidden = start[0].contiguous(), cell = start[1].contiguous();
  std::vector<at::Tensor> last_hidden, last_cell;
  for (std::size_t first = 0; first < weights.size(); first += each * directions) {
    std::vector<at::Tensor> outputs;
    for (std::size_t direction = 0; direction < directions; ++direction) {
      const auto own = weights.slice(first + direction * each, each);
      const auto place = static_cast<std::int64_t>(last_hidden.size());
      const at::Tensor first_bias = has_biases ? own[2] : at::zeros_like(own[0]);
      const at::Tensor second_bias = has_biases ? own[3] : at::zeros_like(own[1]);
      auto [output, h, c, workspace] = at::mkldnn_rnn_layer(
          now, own[0], own[1], first_bias, second_bias, hidden.select(0, place), cell.select(0, place), direction > 0,
          {}, lstm_mode, hidden.size(2), layers, has_biases, both_directions, batch_first, training);
      outputs.push_back(std::move(output));
      last_hidden.push_back(std::move(h));
      last_cell.push_back(std::move(c));
    }
    now = directions == 1 ? outputs.front() : at::concat(outputs, -1);
  }
  return {batch_first ? now.transpose(0, 1) : now, at::stack(last_hidden, 0), at::stack(last_cell, 0)};
}

}  // namespace

void register_meta_operators() {
  static std::once_flag once;
  std::call_once(once, [] {
    const auto add = [](torch::Library& library, const std::string& name) {
      library.impl(name.c_str(), torch::CppFunction::makeFromBoxedFunction<&run_on_cpu>());
    };
    static torch::Library own(torch::Library::IMPL, "aten", c10::DispatchKey::Meta, __FILE__, __LINE__);
    auto& dispatcher = c10::Dispatcher::singleton();
    for (const c10::OperatorName& name : dispatcher.getAllOpNames()) {
      if (!name.name.starts_with("aten::") || depends_on_values(name.name)) continue;
      const auto op = dispatcher.findSchema(name);
      if (!op || !op->hasKernelForDispatchKey(c10::DispatchKey::CPU) ||
          op->hasKernelForDispatchKey(c10::DispatchKey::Meta) || !is_plain(op->schema()) || name.name == "aten::relu")
        continue;
      const std::string full = name.name.substr(6) + (name.overload_name.empty() ? "" : "." + name.overload_name);
      add(own, full);
    }
    own.impl("relu", relu);  // called often, and takes no memory but its result
    // In these two operators the CPU's library chooses kernels, which take different amounts of memory.
    add(own, "convolution");
    add(own, "convolution_backward");
    // LibTorch's "meta" computes these two norms by several operators, the CPU in one kernel.
    add(own, "native_layer_norm");
    add(own, "native_group_norm");
    static torch::Library gradients(torch::Library::IMPL, "aten", c10::DispatchKey::AutogradMeta, __FILE__, __LINE__);
    // LibTorch has shape functions for the following operators, but these do not count the reordered copies that the
    // CPU makes first.
    add(gradients, "max_pool2d_with_indices_backward");
    add(gradients, "avg_pool2d_backward");
    gradients.impl("scaled_dot_product_attention", attention);
    gradients.impl("lstm.input", lstm);
  });
}

}  // namespace trainlab

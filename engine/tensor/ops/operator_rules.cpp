// Found by calling the operators with odd arguments (tests/torture/operators).
#include "operator_rules.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/isfinite.h>
#include <ATen/ops/isnan.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace trainlab {

namespace {

using Stack = torch::jit::Stack;

bool is_finite(const Stack& arguments, std::size_t place) {
  return at::isfinite(arguments[place].toTensor().detach()).all().item<bool>();
}
// A tensor or a number.
bool is_no_nan(const Stack& arguments, std::size_t place) {
  const c10::IValue& given = arguments[place];
  if (!given.isTensor()) return !std::isnan(given.toScalar().toDouble());
  return !at::isnan(given.toTensor().detach()).any().item<bool>();
}
bool is_dense(const Stack& arguments, std::size_t place) {
  return arguments[place].toTensor().layout() == at::kStrided;
}
bool is_of_written_layout(const Stack& arguments, std::size_t place) {
  const at::Layout layout = arguments[place].toTensor().layout();
  return layout == at::kStrided || layout == at::kSparse;
}
// A number, a list of numbers, or nothing. With a factor beyond these the place of a pixel fits into no whole number.
bool is_scale(const Stack& arguments, std::size_t place) {
  const c10::IValue& given = arguments[place];
  const auto holds = [](double factor) { return factor >= 1e-6 && factor <= 1e6; };
  if (given.isDouble()) return holds(given.toDouble());
  if (!given.isDoubleList()) return true;
  return std::ranges::all_of(given.toDoubleVector(), holds);
}
bool is_filled(const Stack& arguments, std::size_t place) { return arguments[place].toTensor().numel() > 0; }
bool has_first_size(const Stack& arguments, std::size_t place) {
  return arguments[place].toTensor().sizes() == arguments[0].toTensor().sizes();
}
bool is_positive(const Stack& arguments, std::size_t place) { return arguments[place].toInt() >= 1; }
bool sets_its_pivots(const Stack& arguments, std::size_t place) {
  return arguments[place].isNone() || arguments[place].toStringView() != "gelsy";
}
// In the dtype, which follows.
bool is_step(const Stack& arguments, std::size_t place) {
  const c10::IValue& dtype = arguments[place + 1];
  return dtype.isNone() || !at::isIntegralType(dtype.toScalarType(), true) ||
         std::abs(arguments[place].toScalar().toDouble()) >= 1;
}
bool is_false(const Stack& arguments, std::size_t place) { return !arguments[place].toBool(); }
template <std::int64_t last>
bool is_mode(const Stack& arguments, std::size_t place) {
  return arguments[place].toInt() >= 0 && arguments[place].toInt() <= last;
}

// The elements of a dense tensor of integers in one row; nothing for other tensors, which LibTorch refuses.
std::optional<at::Tensor> whole_numbers(const at::Tensor& tensor) {
  if (!tensor.defined() || tensor.layout() != at::kStrided || !at::isIntegralType(tensor.scalar_type(), false))
    return std::nullopt;
  return tensor.to(at::kCPU, at::kLong).contiguous();
}
std::span<const std::int64_t> elements(const at::Tensor& integers) {
  return {integers.const_data_ptr<std::int64_t>(), static_cast<std::size_t>(integers.numel())};
}

// The labels of the texts count, and what fills up the rows of shorter ones does not.
bool are_labels(const Stack& arguments, std::size_t place) {
  const at::Tensor& scores = arguments[place - 1].toTensor();
  const auto targets = whole_numbers(arguments[place].toTensor());
  if (scores.dim() == 0 || !targets) return false;
  std::vector<std::int64_t> lengths;
  if (arguments[place + 2].isTensor()) {
    const auto given = whole_numbers(arguments[place + 2].toTensor());
    if (!given) return true;
    lengths.assign(elements(*given).begin(), elements(*given).end());
  } else {
    lengths = arguments[place + 2].toIntVector();
  }
  const bool in_rows = targets->dim() == 2 && static_cast<std::size_t>(targets->size(0)) == lengths.size();
  const std::span<const std::int64_t> all = elements(*targets);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto width = in_rows ? static_cast<std::size_t>(targets->size(1)) : 0;
    if (in_rows && static_cast<std::int64_t>(i % width) >= lengths[i / width]) continue;
    if (all[i] < 0 || all[i] >= scores.size(-1)) return false;
  }
  return true;
}

// Each row of offsets rises within its segments' dimension.
bool are_offsets(const Stack& arguments, std::size_t place) {
  if (!arguments[place].isTensor()) return true;
  const at::Tensor& data = arguments[0].toTensor();
  const auto offsets = whole_numbers(arguments[place].toTensor());
  if (!offsets || offsets->dim() == 0 || offsets->dim() > data.dim()) return !offsets;
  const std::int64_t axis = offsets->dim() - 1, width = offsets->size(axis);
  if (width == 0 || offsets->sizes().slice(0, axis) != data.sizes().slice(0, axis)) return false;
  const std::span<const std::int64_t> all = elements(*offsets);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::int64_t before = i % static_cast<std::size_t>(width) == 0 ? 0 : all[i - 1];
    if (all[i] < before || all[i] > data.size(axis)) return false;
  }
  return true;
}

// A packed batch: the rows of the first steps of all sequences, then those of the second steps, and so on.
bool are_batch_sizes(const Stack& arguments, std::size_t place) {
  const at::Tensor& data = arguments[place - 1].toTensor();
  const auto sizes = whole_numbers(arguments[place].toTensor());
  if (!sizes || sizes->dim() != 1 || sizes->numel() == 0 || data.dim() == 0) return false;
  std::int64_t rows = 0, before = data.size(0);
  for (const std::int64_t size : elements(*sizes)) {
    if (size < 1 || size > before) return false;
    before = size;
    rows += size;
  }
  return rows == data.size(0);
}

// Attention of fewer heads for keys and values than for queries divides the number of the latter by that of the former.
bool has_positions(const Stack& arguments, std::size_t place) {
  const at::Tensor& tensor = arguments[place].toTensor();
  return tensor.dim() < 3 || (tensor.size(-3) > 0 && tensor.size(-2) > 0);
}
bool fits_keys(const Stack& arguments, std::size_t place) {
  const at::Tensor &keys = arguments[place - 1].toTensor(), &values = arguments[place].toTensor();
  if (keys.dim() < 3 || values.dim() < 3) return true;
  const bool grouped = arguments.back().toBool();  // enable_gqa
  return values.size(-2) == keys.size(-2) && (!grouped || values.size(-3) == keys.size(-3));
}

bool is_contiguous(const Stack& arguments, std::size_t place) {
  const at::Tensor& tensor = arguments[place].toTensor();
  return tensor.layout() == at::kStrided && tensor.is_contiguous();
}

// The two states of an LSTM, each [layers and directions, batch, features], beside packed rows and their batch sizes or
// beside a tensor of three dimensions, of which the last argument says whether the batch comes first.
bool are_states(const Stack& arguments, std::size_t place) {
  const bool packed = place == 2;
  const auto states = arguments[place].toListRef();
  if (states.size() != 2) return false;
  const at::Tensor& input = arguments[0].toTensor();
  if (!packed && input.dim() != 3) return false;
  const auto batch_sizes = packed ? whole_numbers(arguments[1].toTensor()) : std::nullopt;
  const std::int64_t batch = packed ? elements(*batch_sizes).front() : input.size(arguments.back().toBool() ? 0 : 1);
  const std::int64_t layers = arguments[place + 3].toInt(), ways = arguments[place + 6].toBool() ? 2 : 1;
  return std::ranges::all_of(states, [&](const c10::IValue& state) {
    const at::Tensor& tensor = state.toTensor();
    return tensor.dim() == 3 && tensor.size(0) == layers * ways && tensor.size(1) == batch;
  });
}
// For each layer and way: two matrices, two biases, and a third matrix where the output is smaller than the cell.
bool are_lstm_weights(const Stack& arguments, std::size_t place) {
  const auto weights = arguments[place].toListRef(), states = arguments[place - 1].toListRef();
  const bool biases = arguments[place + 1].toBool();
  const std::int64_t layers = arguments[place + 2].toInt(), ways = arguments[place + 5].toBool() ? 2 : 1;
  const std::int64_t out = states[0].toTensor().size(2), cell = states[1].toTensor().size(2);
  if (layers * ways > std::ssize(weights)) return false;
  std::vector<std::vector<std::int64_t>> shapes;
  for (std::int64_t i = 0; i < layers * ways; ++i) {
    shapes.push_back({4 * cell, i < ways ? arguments[0].toTensor().size(-1) : out * ways});
    shapes.push_back({4 * cell, out});
    if (biases) shapes.insert(shapes.end(), 2, {4 * cell});
    if (out != cell) shapes.push_back({out, cell});
  }
  return std::ranges::equal(weights, shapes, [](const c10::IValue& weight, const std::vector<std::int64_t>& shape) {
    return weight.toTensor().sizes() == at::IntArrayRef(shape);
  });
}
template <std::int64_t most>
bool are_at_most(const Stack& arguments, std::size_t place) {
  return std::ranges::all_of(arguments[place].toIntVector(), [](std::int64_t x) { return x <= most; });
}
// A transposed convolution takes memory by the square of its stride, and leaves it altogether from 32768 on.
bool are_strides(const Stack& arguments, std::size_t place) {
  const bool transposed = arguments[place + 3].toBool();
  return !transposed || are_at_most<4096>(arguments, place);
}

// The pivots of a matrix are as many as its smaller side.
bool are_lu_pivots(const Stack& arguments, std::size_t place) {
  const at::Tensor &lu = arguments[place - 1].toTensor(), &pivots = arguments[place].toTensor();
  if (lu.dim() < 2) return true;
  std::vector<std::int64_t> expected = lu.sizes().slice(0, static_cast<std::size_t>(lu.dim()) - 2).vec();
  expected.push_back(std::min(lu.size(-2), lu.size(-1)));
  return pivots.sizes() == at::IntArrayRef(expected);
}
// A block of two rows and two columns has two negative pivots.
bool are_ldl_pivots(const Stack& arguments, std::size_t place) {
  const auto pivots = whole_numbers(arguments[place].toTensor());
  if (!pivots || pivots->dim() == 0) return true;
  const std::int64_t size = pivots->size(-1);
  const std::span<const std::int64_t> all = elements(*pivots);
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i] == 0 || all[i] < -size || all[i] > size) return false;
    if (all[i] > 0) continue;
    const bool last = (i + 1) % static_cast<std::size_t>(size) == 0;
    if (last || all[i + 1] >= 0 || all[i + 1] < -size) return false;
    ++i;
  }
  return true;
}

// A product of two sparse tensors goes through the indices of both side by side.
bool has_alike_indices(const Stack& arguments, std::size_t place) {
  if (!arguments[place].isTensor()) return true;  // a number
  const at::Tensor& first = arguments[place - 1].toTensor();
  const at::Tensor& second = arguments[place].toTensor();
  return first.layout() != at::kSparse || second.layout() != at::kSparse || first.sparse_dim() == second.sparse_dim();
}

bool has_alike_layout(const Stack& arguments, std::size_t place) {
  if (!arguments[place].isTensor()) return true;  // a number
  const auto first = arguments[place - 1].toTensor().layout(), second = arguments[place].toTensor().layout();
  return first == second || first == at::kStrided || second == at::kStrided;
}

// The indices of a new tensor of a compressed layout may stay unwritten.
bool is_written_layout(const Stack& arguments, std::size_t place) {
  if (arguments[place].isNone()) return true;
  const at::Layout layout = arguments[place].toLayout();
  return layout == at::kStrided || layout == at::kSparse;
}

// The list of an operator's results does not lie in the memory of tensors, for which alone there is a limit.
constexpr std::int64_t most_results = 1 << 20;
constexpr std::size_t most_dims = 64, most_matrices = 1024;

bool gives_few_parts(const Stack& arguments, std::size_t place) {
  const c10::IValue& parts = arguments[place];
  if (parts.isInt()) return parts.toInt() <= most_results;
  const at::Tensor& tensor = parts.toTensor();  // a number, or where the parts begin
  if (tensor.dim() > 0) return tensor.numel() < most_results;
  const auto number = whole_numbers(tensor);
  return !number || number->item<std::int64_t>() <= most_results;
}
// The size of the dimension at place `dim` of the arguments; 0 for one that there is not, which LibTorch refuses.
std::int64_t size_along(const Stack& arguments, std::size_t dim) {
  const at::Tensor& tensor = arguments[0].toTensor();
  const std::int64_t given = arguments[dim].toInt();
  return given >= -tensor.dim() && given < tensor.dim() ? tensor.size(given) : 0;
}
bool gives_few_pieces(const Stack& arguments, std::size_t place) {
  const std::int64_t size = arguments[place].toInt();
  return size < 1 || size_along(arguments, place + 1) / size < most_results;
}
bool gives_few_slices(const Stack& arguments, std::size_t place) {
  return size_along(arguments, place) <= most_results;
}
// A dimension of size 0 has as many chunks as are wished.
bool gives_few_chunks(const Stack& arguments, std::size_t place) {
  const std::int64_t size = size_along(arguments, place + 1);
  return arguments[place].toInt() <= most_results || (size > 0 && size <= most_results);
}
bool gives_few_dims(const Stack& arguments, std::size_t place) {
  const c10::IValue& dims = arguments[place];
  return dims.isInt() ? dims.toInt() <= static_cast<std::int64_t>(most_dims) : dims.toListRef().size() <= most_dims;
}
bool are_few_matrices(const Stack& arguments, std::size_t place) {
  return arguments[place].toListRef().size() <= most_matrices;
}

constexpr ArgumentRule finite{"elements that are neither NaN nor infinite", is_finite};
constexpr ArgumentRule no_nan{"no NaN, for which LibTorch computes nothing and returns what memory holds", is_no_nan};
constexpr ArgumentRule filled{"at least one element", is_filled};
constexpr ArgumentRule first_size{"a tensor of the size of the first one", has_first_size};
constexpr ArgumentRule dense{"a dense tensor", is_dense};
constexpr ArgumentRule indices{"a sparse tensor with as many sparse dimensions as the first one has",
                               has_alike_indices};
constexpr ArgumentRule layout{"a dense tensor or one of the sparse layout of the first one", has_alike_layout};
constexpr ArgumentRule written_layout{"\"strided\" or \"sparse_coo\"", is_written_layout};
constexpr ArgumentRule written_self{"a tensor of layout strided or sparse_coo", is_of_written_layout};
constexpr ArgumentRule step{"a step of at least 1 in a dtype of whole numbers", is_step};
constexpr ArgumentRule scale{"a factor from 0.000001 to 1000000", is_scale};
constexpr ArgumentRule positive{"at least 1", is_positive};
constexpr ArgumentRule checked{"false, because a kernel reads outside of the tensors if nothing checks the lengths",
                               is_false};
constexpr ArgumentRule driver{
    "\"gelsd\", \"gelss\" or \"gels\", because LibTorch's gelsy begins with pivots that nobody has set",
    sets_its_pivots};
constexpr ArgumentRule interpolation{"0 (bilinear), 1 (nearest) or 2 (bicubic)", is_mode<2>};
constexpr ArgumentRule interpolation_3d{"0 (trilinear) or 1 (nearest)", is_mode<1>};
constexpr ArgumentRule padding{"0 (zeros), 1 (border) or 2 (reflection)", is_mode<2>};
constexpr ArgumentRule labels{"labels from 0 up to, without, the size of the last dimension of log_probs", are_labels};
constexpr ArgumentRule offsets{
    "offsets that rise from at least 0 to at most the size of the segmented dimension, for each row of the data",
    are_offsets};
constexpr ArgumentRule batch_sizes{
    "the sizes of the steps of a packed batch: integers of at least 1, none above the one before, whose sum is the "
    "number of rows of data",
    are_batch_sizes};
constexpr ArgumentRule keys{"at least one head (dimension -3) and one position (dimension -2)", has_positions};
constexpr ArgumentRule values{"as many positions (dimension -2) as key has, and with enable_gqa as many heads",
                              fits_keys};
constexpr ArgumentRule contiguous{"a contiguous tensor", is_contiguous};
constexpr ArgumentRule states{
    "two states [num_layers (times 2 if bidirectional), batch, features] beside an input of three dimensions, or "
    "beside "
    "the rows of a packed batch",
    are_states};
constexpr ArgumentRule lstm_weights{
    "for each layer and direction the weights [4 · cell, input] and [4 · cell, output], with has_biases two biases "
    "[4 · cell], and where the two states differ in size a projection [output, cell]",
    are_lstm_weights};
constexpr ArgumentRule small{"numbers of at most 65536", are_at_most<65536>};
constexpr ArgumentRule stride{"numbers of at most 4096", are_at_most<4096>};
constexpr ArgumentRule stride_if_transposed{"numbers of at most 4096 for a transposed convolution", are_strides};
constexpr ArgumentRule lu_pivots{"pivots for the matrices", are_lu_pivots};
constexpr ArgumentRule ldl_pivots{"pivots as linalg_ldl_factor gives them", are_ldl_pivots};
constexpr ArgumentRule parts{"a number of parts of at most 1048576", gives_few_parts};
constexpr ArgumentRule chunks{"a number of parts of at most 1048576", gives_few_chunks};
constexpr ArgumentRule pieces{"a size with which there are at most 1048576 parts", gives_few_pieces};
constexpr ArgumentRule slices{"a dimension of at most 1048576 elements", gives_few_slices};
constexpr ArgumentRule dims{"at most 64, the most dimensions of a tensor", gives_few_dims};
constexpr ArgumentRule matrices{"at most 1024 matrices", are_few_matrices};

}  // namespace

const ArgumentRule* argument_rule(std::string_view operator_name, std::string_view parameter) {
  using Place = std::pair<std::string_view, std::string_view>;
  static const std::map<Place, const ArgumentRule*> all{
      {{"add", "other"}, &layout},
      {{"add_", "other"}, &layout},
      {{"arange", "step"}, &step},
      {{"binary_cross_entropy", "target"}, &first_size},
      {{"cartesian_prod", "tensors"}, &dims},
      {{"chain_matmul", "matrices"}, &matrices},
      {{"chunk", "chunks"}, &chunks},
      {{"col2im", "dilation"}, &small},
      {{"col2im", "kernel_size"}, &small},
      {{"col2im", "output_size"}, &small},
      {{"col2im", "padding"}, &small},
      {{"col2im", "stride"}, &small},
      {{"combinations", "r"}, &dims},
      {{"conv_transpose1d", "stride"}, &stride},
      {{"conv_transpose2d", "stride"}, &stride},
      {{"conv_transpose3d", "stride"}, &stride},
      {{"convolution", "stride"}, &stride_if_transposed},
      {{"ctc_loss", "targets"}, &labels},
      {{"dsplit", "sections"}, &parts},
      {{"grid_sampler", "interpolation_mode"}, &interpolation},
      {{"grid_sampler", "padding_mode"}, &padding},
      {{"grid_sampler_2d", "interpolation_mode"}, &interpolation},
      {{"grid_sampler_2d", "padding_mode"}, &padding},
      {{"grid_sampler_3d", "interpolation_mode"}, &interpolation_3d},
      {{"grid_sampler_3d", "padding_mode"}, &padding},
      {{"gru", "batch_sizes"}, &batch_sizes},
      {{"hsplit", "sections"}, &parts},
      {{"linalg_eigvals", "self"}, &finite},
      {{"linalg_ldl_solve", "pivots"}, &ldl_pivots},
      {{"linalg_lstsq", "b"}, &filled},
      {{"linalg_lstsq", "driver"}, &driver},
      {{"linalg_multi_dot", "tensors"}, &matrices},
      {{"lstm", "batch_sizes"}, &batch_sizes},
      {{"lstm", "hx"}, &states},
      {{"lstm", "params"}, &lstm_weights},
      {{"lu_unpack", "LU_pivots"}, &lu_pivots},
      {{"meshgrid", "tensors"}, &dims},
      {{"mul", "other"}, &indices},
      {{"mul_", "other"}, &indices},
      {{"multiply", "other"}, &indices},
      {{"multiply_", "other"}, &indices},
      {{"multi_margin_loss", "self"}, &filled},
      {{"multilabel_margin_loss", "self"}, &filled},
      {{"multilabel_margin_loss_forward", "self"}, &filled},
      {{"native_channel_shuffle", "groups"}, &positive},
      {{"native_channel_shuffle", "self"}, &dense},
      {{"range", "step"}, &step},
      {{"rnn_relu", "batch_sizes"}, &batch_sizes},
      {{"rnn_tanh", "batch_sizes"}, &batch_sizes},
      {{"rrelu_with_noise", "noise"}, &contiguous},
      {{"rrelu_with_noise_", "noise"}, &contiguous},
      {{"rrelu_with_noise_functional", "noise"}, &contiguous},
      {{"scaled_dot_product_attention", "key"}, &keys},
      {{"scaled_dot_product_attention", "value"}, &values},
      {{"segment_reduce", "offsets"}, &offsets},
      {{"segment_reduce", "unsafe"}, &checked},
      {{"split", "split_size"}, &pieces},
      {{"split_copy", "split_size"}, &pieces},
      {{"tensor_split", "sections"}, &parts},
      {{"tensor_split", "tensor_indices_or_sections"}, &parts},
      {{"unbind", "dim"}, &slices},
      {{"unbind_copy", "dim"}, &slices},
      {{"unflatten_dense_tensors", "flat"}, &dense},
      {{"unsafe_chunk", "chunks"}, &chunks},
      {{"unsafe_split", "split_size"}, &pieces},
      {{"vsplit", "sections"}, &parts},
  };
  if (operator_name.find("upsample_") != std::string_view::npos && parameter.starts_with("scale")) return &scale;
  if (operator_name.find("_polynomial_") != std::string_view::npos && parameter == "x") return &no_nan;
  if (operator_name.starts_with("new_") && parameter == "self") return &written_self;
  if (parameter == "layout" && !operator_name.starts_with("sparse_") && !operator_name.starts_with("to"))
    return &written_layout;
  const auto found = all.find({operator_name, parameter});
  return found == all.end() ? nullptr : found->second;
}

}  // namespace trainlab

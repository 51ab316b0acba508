#include "valid_arguments.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/eye.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>

#include <functional>
#include <map>

namespace trainlab::test {

namespace {

using All = std::vector<ValidArguments>;
using Numbers = std::vector<double>;
using Tensors = std::vector<at::Tensor>;

at::Tensor floats(std::vector<std::int64_t> sizes) {
  std::int64_t count = 1;
  for (const std::int64_t size : sizes) count *= size;
  return at::arange(count).to(at::kFloat).mul(0.1).view(sizes);
}
at::Tensor integers(std::vector<std::int64_t> values) { return at::tensor(values, at::TensorOptions(at::kLong)); }
at::Tensor pivots(std::vector<std::int64_t> values) { return integers(std::move(values)).to(at::kInt); }
at::Tensor grid(std::vector<std::int64_t> sizes) { return floats(std::move(sizes)).sub(0.9); }

All ctc() {
  const at::Tensor scores = floats({5, 1, 3}).log_softmax(2);
  return {{{scores, integers({1, 2}).view({1, 2}), Numbers{5}, Numbers{2}}, {}},
          {{scores, integers({1, 2}).view({1, 2}), integers({5}), integers({2}), 0}, {}},
          {{scores.expand({5, 2, 3}), integers({1, 2, 1}), Numbers{5, 4}, Numbers{2, 1}, 0, "sum", true}, {}}};
}
All segments() {
  return {{{floats({4}), "sum"}, {{"lengths", integers({1, 3})}}},
          {{floats({4, 2}), "max"}, {{"lengths", integers({1, 3})}, {"unsafe", true}}},
          {{floats({2, 4}), "mean"}, {{"offsets", integers({0, 1, 4, 0, 2, 4}).view({2, 3})}, {"axis", 1}}},
          {{floats({4}), "prod"}, {{"offsets", integers({0, 1, 4})}}}};
}
All packed(std::int64_t gates, bool cell) {
  const Tensors weights{floats({gates * 2, 3}), floats({gates * 2, 2}), floats({gates * 2}), floats({gates * 2})};
  const Tensors both{floats({1, 2, 2}), floats({1, 2, 2})};
  const Given hidden = cell ? Given(both) : Given(both[0]);
  return {{{floats({3, 3}), integers({2, 1}), hidden, weights, true, 1, 0, false, false}, {}},
          {{floats({4, 2, 3}), hidden, weights, true, 1, 0, false, false, false}, {}}};
}
All along_dim(bool source) {
  All all{{{floats({3, 2}), 0, integers({0, 2})}, {}}};
  if (source) all[0].positional.emplace_back(floats({2, 2}));
  return all;
}
All scattered(bool source) {
  All all{{{floats({3, 2}), 0, integers({0, 2, 1, 0}).view({2, 2})}, {}}};
  if (source) all[0].positional.emplace_back(floats({2, 2}));
  return all;
}
All unpooled(std::int64_t dims) {
  std::vector<std::int64_t> sizes{1};
  sizes.resize(static_cast<std::size_t>(dims) + 1, 2);
  const at::Tensor values = floats(sizes);
  const at::Tensor places = at::arange(values.numel()).view(sizes);
  if (dims == 2) return {{{values, places, Numbers{4, 4}}, {}}};
  return {{{values, places, Numbers{4, 4, 4}, Numbers{2, 2, 2}, Numbers{0, 0, 0}}, {}}};
}
All fractional(std::int64_t dims) {
  std::vector<std::int64_t> sizes{1, 1};
  sizes.resize(static_cast<std::size_t>(dims) + 2, 6);
  const Numbers kernel(static_cast<std::size_t>(dims), 2), output(static_cast<std::size_t>(dims), 3);
  return {{{floats(sizes), kernel, output, floats({1, 1, dims})}, {}}};
}
All resized(std::int64_t dims, bool corners) {
  std::vector<std::int64_t> sizes{1, 1};
  sizes.resize(static_cast<std::size_t>(dims) + 2, 3);
  ValidArguments one{{floats(sizes), Numbers(static_cast<std::size_t>(dims), 5)}, {}};
  if (corners) one.positional.emplace_back(false);
  for (std::int64_t i = 0; i < dims; ++i) one.positional.emplace_back(1.5);
  return {one};
}
All convolved(std::int64_t dims, bool transposed) {
  std::vector<std::int64_t> sizes{1, 2}, kernel{2, 2};
  sizes.resize(static_cast<std::size_t>(dims) + 2, 5);
  kernel.resize(static_cast<std::size_t>(dims) + 2, 3);
  const auto each = [&](double x) { return Given(Numbers(static_cast<std::size_t>(dims), x)); };
  if (transposed) return {{{floats(sizes), floats(kernel), floats({2}), each(1), each(0), each(0), 1, each(1)}, {}}};
  return {{{floats(sizes), floats(kernel), floats({2}), each(1), each(0), each(1), 1}, {}}};
}

using Table = std::map<std::string, std::function<All()>>;

Table losses() {
  const auto classes = [] { return All{{{floats({2, 3}), integers({0, 2}), floats({3})}, {}}}; };
  const auto images = [] {
    return All{{{floats({1, 3, 2, 2}), integers({0, 1, 2, 0}).view({1, 2, 2}), floats({3}), "mean"}, {}}};
  };
  const auto labels = [] { return All{{{floats({1, 3}), integers({0, 2, -1}).view({1, 3})}, {}}}; };
  return {{"ctc_loss", ctc},
          {"nll_loss", classes},
          {"nll_loss_nd", images},
          {"nll_loss2d", images},
          {"cross_entropy_loss", images},
          {"multi_margin_loss",
           [] {
             return All{{{floats({2, 3}), integers({0, 2}), 1, 1, floats({3})}, {}}};
           }},
          {"multilabel_margin_loss", labels}};
}

Table indexed() {
  const auto with_value = [] { return All{{{floats({3, 2}), 0, integers({0, 2}), 1}, {}}}; };
  const auto reduced = [] {
    return All{{{floats({3, 2}), 0, integers({0, 2}), floats({2, 2}), "prod"}, {}},
               {{floats({3, 2}), 0, integers({0, 2, 1, 0}).view({2, 2}), floats({2, 2}), "sum"}, {}}};
  };
  const auto renormed = [] { return All{{{floats({4, 3}), integers({0, 3}), 1, 2}, {}}}; };
  const auto placed = [] {
    return All{{{floats({3, 2}), Tensors{integers({0, 2}), integers({1, 0})}, floats({2}), true}, {}}};
  };
  const auto put = [] { return All{{{floats({3, 2}), integers({0, 5}), floats({2}), true}, {}}}; };
  return {
      {"index_select", [] { return along_dim(false); }},
      {"index_add", [] { return along_dim(true); }},
      {"index_add_", [] { return along_dim(true); }},
      {"index_copy", [] { return along_dim(true); }},
      {"index_copy_", [] { return along_dim(true); }},
      {"index_fill", with_value},
      {"index_fill_", with_value},
      {"index_reduce", reduced},
      {"index_reduce_", reduced},
      {"scatter_reduce", reduced},
      {"scatter_reduce_", reduced},
      {"gather", [] { return scattered(false); }},
      {"scatter", [] { return scattered(true); }},
      {"scatter_", [] { return scattered(true); }},
      {"scatter_add", [] { return scattered(true); }},
      {"scatter_add_", [] { return scattered(true); }},
      {"embedding",
       [] {
         return All{{{floats({4, 3}), integers({0, 3}), -1, false, false}, {}}};
       }},
      {"embedding_renorm", renormed},
      {"embedding_renorm_", renormed},
      {"index",
       [] {
         return All{{{floats({3, 2}), Tensors{integers({0, 2}), integers({1, 0})}}, {}}};
       }},
      {"index_put", placed},
      {"index_put_", placed},
      {"put", put},
      {"put_", put},
      {"take",
       [] {
         return All{{{floats({3, 2}), integers({0, 5})}, {}}};
       }},
      {"take_along_dim",
       [] {
         return All{{{floats({3, 2}), integers({0, 2}).view({2, 1}), 0}, {}}};
       }},
      {"one_hot",
       [] {
         return All{{{integers({0, 3}), 4}, {}}};
       }},
      {"bincount",
       [] {
         return All{{{integers({0, 3}), floats({2}), 5}, {}}};
       }},
      {"searchsorted",
       [] {
         return All{{{floats({4}), floats({2})}, {{"side", "right"}, {"sorter", integers({0, 1, 2, 3})}}}};
       }},
      {"histogramdd",
       [] {
         return All{{{floats({5, 2}), Numbers{2, 3}, Numbers{0, 1, 0, 1}, floats({5})}, {}},
                    {{floats({5, 2}), Tensors{floats({3}), floats({4})}, Given::nil(), floats({5})}, {}}};
       }},
      {"repeat_interleave",
       [] {
         return All{{{integers({2, 0, 1})}, {{"output_size", 3}}},
                    {{floats({3, 2}), integers({2, 0, 1}), 0}, {{"output_size", 3}}}};
       }},
      {"nonzero_static",
       [] {
         return All{{{floats({3, 2})}, {{"size", 3}, {"fill_value", -1}}}};
       }},
      {"max_unpool2d", [] { return unpooled(2); }},
      {"max_unpool3d", [] { return unpooled(3); }},
      {"segment_reduce", segments},
      {"tril_indices",
       [] {
         return All{{{4, 3, 1}, {}}};
       }},
      {"triu_indices",
       [] {
         return All{{{4, 3, 1}, {}}};
       }},
      {"unflatten_dense_tensors",
       [] {
         return All{{{floats({5}), Tensors{floats({3}), floats({2})}}, {}}};
       }},
      {"einsum",
       [] {
         return All{{{"ij,jk,kl->il", Tensors{floats({2, 3}), floats({3, 2}), floats({2, 2})}},
                     {{"path", Numbers{0, 1, 0, 1}}}}};
       }},
      {"slice_inverse",
       [] {
         return All{{{floats({2, 2}), floats({4, 2}), 0, 1, 3, 1}, {}}};
       }},
      {"as_strided",
       [] {
         return All{{{floats({6}), Numbers{2, 2}, Numbers{2, 1}, 1}, {}}};
       }},
      {"as_strided_scatter",
       [] {
         return All{{{floats({6}), floats({2, 2}), Numbers{2, 2}, Numbers{2, 1}, 1}, {}}};
       }},
      {"fake_quantize_per_channel_affine",
       [] {
         return All{{{floats({2, 3}), at::ones({2}), pivots({0, 0}), 0, 0, 255}, {}}};
       }},
  };
}

Table matrices() {
  const auto solved = [] {
    return All{{{at::eye(3), pivots({1, 3, 3}), floats({3, 1})}, {}},
               {{at::eye(3).expand({2, 3, 3}), pivots({1, 3, 3, 2, 2, 3}).view({2, 3}), floats({2, 3, 1})}, {}}};
  };
  const auto indefinite = [] {
    return All{{{at::eye(3), pivots({1, 3, 3}), floats({3, 1})}, {}},
               {{at::eye(3), pivots({-2, -2, 3}), floats({3, 1})}, {}}};
  };
  const auto unpacked = [] { return All{{{floats({3, 3}), pivots({1, 3, 3})}, {}}}; };
  return {
      {"linalg_ldl_solve", indefinite},
      {"linalg_lu_solve", solved},
      {"lu_solve",
       [] {
         return All{{{floats({3, 1}), at::eye(3), pivots({1, 3, 3})}, {}}};
       }},
      {"lu_unpack", unpacked},
      {"ormqr",
       [] {
         return All{{{floats({3, 2}), floats({2}), floats({3, 2}), true, false}, {}}};
       }},
      {"orgqr",
       [] {
         return All{{{floats({3, 2}), floats({2})}, {}}};
       }},
      {"linalg_householder_product",
       [] {
         return All{{{floats({3, 2}), floats({2})}, {}}};
       }},
      {"cholesky_solve",
       [] {
         return All{{{floats({3, 1}), at::eye(3), true}, {}}};
       }},
      {"triangular_solve",
       [] {
         return All{{{floats({3, 1}), at::eye(3), true}, {}}};
       }},
      {"cdist",
       [] {
         return All{{{floats({3, 2}), floats({4, 2}), 2, 1}, {}}};
       }},
      {"sparse_coo_tensor",
       [] {
         return All{{{integers({0, 2, 1, 0}).view({2, 2}), floats({2}), Numbers{3, 2}}, {{"is_coalesced", true}}}};
       }},
      {"sparse_csr_tensor",
       [] {
         return All{{{integers({0, 1, 2}), integers({1, 0}), floats({2}), Numbers{2, 2}}, {}}};
       }},
      {"sparse_csc_tensor",
       [] {
         return All{{{integers({0, 1, 2}), integers({1, 0}), floats({2}), Numbers{2, 2}}, {}}};
       }},
      {"sparse_compressed_tensor",
       [] {
         return All{{{integers({0, 1, 2}), integers({1, 0}), floats({2}), Numbers{2, 2}}, {{"layout", "sparse_csr"}}}};
       }},
      {"sparse_sampled_addmm",
       [] {
         return All{{{at::eye(3).to_sparse_csr(), floats({3, 2}), floats({2, 3})}, {}}};
       }},
      {"hspmm",
       [] {
         return All{{{at::eye(3).to_sparse(), floats({3, 2})}, {}}};
       }},
      {"smm",
       [] {
         return All{{{at::eye(3).to_sparse(), floats({3, 2})}, {}}};
       }},
      {"sspaddmm",
       [] {
         return All{{{at::eye(3).to_sparse(), at::eye(3).to_sparse(), floats({3, 3})}, {}}};
       }},
      {"sparse_mask",
       [] {
         return All{{{floats({3, 3}), at::eye(3).to_sparse()}, {}}};
       }},
      {"copy_sparse_to_sparse_",
       [] {
         return All{{{at::eye(3).to_sparse(), at::eye(3).to_sparse()}, {}}};
       }},
      {"add",
       [] {
         return All{{{at::eye(3).to_sparse(), at::eye(3).to_sparse()}, {}}};
       }},
      {"mm",
       [] {
         return All{{{at::eye(3).to_sparse_csr(), floats({3, 2})}, {}}};
       }},
      {"addmm", [] {
         return All{{{floats({3, 2}), at::eye(3).to_sparse(), floats({3, 2})}, {}}};
       }}};
}

Table layers() {
  const auto noisy = [] { return All{{{floats({2, 3}), at::ones({2, 3}), 0.1, 0.3, true}, {}}}; };
  return {
      {"grid_sampler",
       [] {
         return All{{{floats({1, 1, 4, 4}), grid({1, 3, 3, 2}), 0, 0, false}, {}}};
       }},
      {"grid_sampler_2d",
       [] {
         return All{{{floats({1, 1, 4, 4}), grid({1, 3, 3, 2}), 2, 1, true}, {}}};
       }},
      {"grid_sampler_3d",
       [] {
         return All{{{floats({1, 1, 3, 3, 3}), grid({1, 2, 2, 2, 3}), 0, 0, false}, {}}};
       }},
      {"affine_grid_generator",
       [] {
         return All{{{floats({1, 2, 3}), Numbers{1, 1, 3, 3}, false}, {}}};
       }},
      {"scaled_dot_product_attention",
       [] {
         const at::Tensor heads = floats({1, 2, 3, 4});
         return All{
             {{heads, heads, heads, at::zeros({3, 3})}, {}},
             {{heads, heads.narrow(1, 0, 1), heads.narrow(1, 0, 1), Given::nil(), 0, true}, {{"enable_gqa", true}}}};
       }},
      {"fractional_max_pool2d", [] { return fractional(2); }},
      {"fractional_max_pool3d", [] { return fractional(3); }},
      {"upsample_nearest1d", [] { return resized(1, false); }},
      {"upsample_nearest2d", [] { return resized(2, false); }},
      {"upsample_nearest3d", [] { return resized(3, false); }},
      {"_upsample_nearest_exact1d", [] { return resized(1, false); }},
      {"_upsample_nearest_exact2d", [] { return resized(2, false); }},
      {"_upsample_nearest_exact3d", [] { return resized(3, false); }},
      {"upsample_linear1d", [] { return resized(1, true); }},
      {"upsample_bilinear2d", [] { return resized(2, true); }},
      {"upsample_bicubic2d", [] { return resized(2, true); }},
      {"upsample_trilinear3d", [] { return resized(3, true); }},
      {"conv1d", [] { return convolved(1, false); }},
      {"conv2d", [] { return convolved(2, false); }},
      {"conv3d", [] { return convolved(3, false); }},
      {"conv_transpose1d", [] { return convolved(1, true); }},
      {"conv_transpose2d", [] { return convolved(2, true); }},
      {"conv_transpose3d", [] { return convolved(3, true); }},
      {"conv_tbc",
       [] {
         return All{{{floats({4, 1, 2}), floats({3, 2, 2}), floats({2}), 1}, {}}};
       }},
      {"im2col",
       [] {
         return All{{{floats({1, 2, 4, 4}), Numbers{2, 2}, Numbers{1, 1}, Numbers{0, 0}, Numbers{1, 1}}, {}}};
       }},
      {"col2im",
       [] {
         return All{
             {{floats({1, 8, 9}), Numbers{4, 4}, Numbers{2, 2}, Numbers{1, 1}, Numbers{0, 0}, Numbers{1, 1}}, {}}};
       }},
      {"batch_norm",
       [] {
         return All{
             {{floats({2, 3}), floats({3}), floats({3}), at::zeros({3}), at::ones({3}), true, 0.1, 0.1, false}, {}}};
       }},
      {"instance_norm",
       [] {
         return All{
             {{floats({2, 3, 4}), floats({3}), floats({3}), at::zeros({3}), at::ones({3}), true, 0.1, 0.1, false}, {}}};
       }},
      {"layer_norm",
       [] {
         return All{{{floats({2, 3}), Numbers{3}, floats({3}), floats({3})}, {}}};
       }},
      {"rms_norm",
       [] {
         return All{{{floats({2, 3}), Numbers{3}, floats({3})}, {}}};
       }},
      {"bilinear",
       [] {
         return All{{{floats({2, 3}), floats({2, 4}), floats({5, 3, 4}), floats({5})}, {}}};
       }},
      {"rrelu_with_noise", noisy},
      {"rrelu_with_noise_", noisy},
      {"rrelu_with_noise_functional", noisy},
      {"lstm", [] { return packed(4, true); }},
      {"gru", [] { return packed(3, false); }},
      {"rnn_tanh", [] { return packed(1, false); }},
      {"rnn_relu", [] { return packed(1, false); }},
      {"pixel_shuffle",
       [] {
         return All{{{floats({1, 4, 2, 2}), 2}, {}}};
       }},
      {"pixel_unshuffle",
       [] {
         return All{{{floats({1, 1, 4, 4}), 2}, {}}};
       }},
      {"channel_shuffle",
       [] {
         return All{{{floats({1, 4, 2, 2}), 2}, {}}};
       }},
  };
}

}  // namespace

std::vector<ValidArguments> valid_arguments(const std::string& operator_name) {
  static const std::vector<Table> tables{losses(), indexed(), matrices(), layers()};
  for (const Table& table : tables) {
    if (const auto found = table.find(operator_name); found != table.end()) return found->second();
  }
  return {};
}

}  // namespace trainlab::test

// Operators from the dispatcher's schemas: which there are, which overload takes what, keyed draws, errors.
#include "tensor/operators.h"

#include <ATen/core/enum_tag.h>
#include <ATen/ops/add.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cos.h>
#include <ATen/ops/div.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/eye.h>
#include <ATen/ops/full.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/sin.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>

#include <c10/util/Exception.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <map>
#include <set>

#include "operator_support.h"
#include "support/stand_in_device.h"

namespace trainlab::operators_test {

using trainlab::test::Call;
using trainlab::test::Given;
using trainlab::test::Named;
using trainlab::test::on_test_device;

TEST_CASE("every schema of ATen is either callable or left out for a known reason") {
  // Reasons as the header gives them, with the most overloads that each may hide: more of them want a look.
  const std::map<std::string, int> known{
      {"writes into an argument `out`; results are returned", 1300},
      {"dimension names", 110},
      {"an argument has no form in a script", 20},
      {"a result has no form in a script", 10},
      {"reads files", 2},
      {"changes the memory behind a tensor", 20},
      {"an inner part of PyTorch, which trusts its caller", 700},
      {"a part of backward(), which trusts what forward saved", 120},
      {"belongs to one library of kernels", 70},
      {"an inner part of conv2d and conv3d", 10},
      {"ends in a signal for some arguments", 6},
      {"an inner part of batch_norm", 10},
      {"an inner part of group_norm", 1},
      {"shares memory behind the back of backward(), which detach does not", 1},
      {"hands out what a sparse tensor is made of, to be written to; NAME_copy copies it", 8},
      {"symbolic shapes", 10},
      {"makes or reads tensors of quantized dtypes, which no tensor here has; fake_quantize_… rounds numbers", 20},
      {"draws from the global generator", 20}};
  std::map<std::string, int> excluded;
  int callable = 0;
  std::set<std::string> names;
  c10::Dispatcher& dispatcher = c10::Dispatcher::singleton();
  for (const c10::OperatorName& name : dispatcher.getAllOpNames()) {
    const auto handle = dispatcher.findSchema(name);
    if (!handle || name.name.compare(0, 6, "aten::") != 0) continue;
    const std::string reason = operator_exclusion(*handle);
    if (reason.empty()) {
      ++callable;
      names.insert(name.name.substr(6));
    } else {
      ++excluded[reason.substr(0, reason.find(':'))];
    }
  }
  for (const auto& [reason, count] : excluded) {
    CAPTURE(reason, count);
    REQUIRE(known.contains(reason));
    CHECK(count <= known.at(reason));
    WARN(count << " left out: " << reason);
  }
  WARN(callable << " overloads of " << names.size() << " operators are callable");
  CHECK(callable > 1150);
  REQUIRE(operator_names() == std::vector<std::string>(names.begin(), names.end()));
  std::size_t overloads = 0;
  for (const std::string& name : operator_names()) {
    const Operator* op = find_operator(name);
    REQUIRE(op);
    overloads += op->overloads().size();
    for (const Overload& overload : op->overloads()) {
      CAPTURE(overload.text());
      // What draws at random has a generator of ours or is computed here, or must be told not to draw.
      const bool seeded = overload.schema().arguments().size() > 0 && overload.draws();
      if (seeded) CHECK(overload.text().find("seed = nil") != std::string::npos);
    }
  }
  CHECK(overloads == static_cast<std::size_t>(callable));
}

TEST_CASE("of several overloads the one that fits is chosen") {
  const at::Tensor t = at::ones({2, 3}, on_test_device());
  const auto chosen = [](const Call& call) { return call.overload().schema().overload_name(); };
  CHECK(chosen(Call("add", {t, t})) == "Tensor");
  CHECK(chosen(Call("eq", {t, 2})) == "Scalar");
  CHECK(chosen(Call("sum", {t})).empty());
  CHECK(chosen(Call("sum", {t, 1})) == "dim_IntList");
  CHECK(chosen(Call("sum", {t}, {{"dim", 1}})) == "dim_IntList");
  CHECK(chosen(Call("max", {t})).empty());
  CHECK(chosen(Call("max", {t, 0})) == "dim");
  CHECK(chosen(Call("max", {t, t})) == "other");
  CHECK(chosen(Call("pow", {2, t})) == "Scalar");
  CHECK(chosen(Call("div", {t, t}, {{"rounding_mode", "floor"}})) == "Tensor_mode");
  CHECK(chosen(Call("to", {t, "float64"})) == "dtype");
  CHECK(chosen(Call("to", {t, "cpu", "float64"})) == "device");
  CHECK(chosen(Call("to", {t, "cpu"})) == "device");
  CHECK(chosen(Call("to", {t, t})) == "other");
  CHECK(chosen(Call("split", {t, 1})) == "Tensor");
  CHECK(chosen(Call("randn", {2, 3})) == "generator");
  CHECK(chosen(Call("arange", {5})).empty());
  CHECK(chosen(Call("arange", {1, 5, 2})) == "start_step");
}

TEST_CASE("values are converted as the schema says") {
  const at::Tensor t = at::arange(6, on_test_device(at::kLong)).view({2, 3});
  CHECK(Call("view", {t, 3, 2}).tensor().sizes() == at::IntArrayRef({3, 2}));
  CHECK(Call("permute", {t, 1, 0}).tensor().sizes() == at::IntArrayRef({3, 2}));
  CHECK(Call("zeros", {std::vector<double>{2, 2}}, {{"dtype", "int64"}}).tensor().scalar_type() == at::kLong);
  CHECK(Call("full", {std::vector<double>{2}, 3}).tensor().scalar_type() == at::kFloat);
  CHECK(Call("add", {t, 2}).tensor().scalar_type() == at::kLong);
  CHECK(Call("add", {t, 0.5}).tensor().scalar_type() == at::kFloat);
  CHECK(Call("conv2d",
             {at::ones({1, 1, 4, 4}, on_test_device()), at::ones({1, 1, 2, 2}, on_test_device()), Given::nil(), 2})
            .tensor()
            .sizes() == at::IntArrayRef({1, 1, 2, 2}));
  CHECK(Call("cat", {std::vector<at::Tensor>{t, t}}, {{"dim", 1}}).tensor().sizes() == at::IntArrayRef({2, 6}));
  CHECK(Call("to", {t, "cpu"}).tensor().scalar_type() == at::kLong);
  CHECK(Call("empty", {3}).tensor().equal(at::zeros({3})));
}

TEST_CASE("a number beside a tensor gives what ATen's overload for numbers gives") {
  for (const at::ScalarType type : {at::kFloat, at::kDouble, at::kHalf, at::kInt, at::kBool}) {
    for (const at::Tensor& t :
         {at::arange(1, 5, on_test_device(at::kLong)).to(type), at::ones({}, on_test_device()).to(type)}) {
      for (const double x : {2.0, 0.1, -1e300, 16777217.0}) {
        CAPTURE(type, t.dim(), x);
        const bool whole = x == 2 || x == 16777217;
        const at::Scalar number = whole ? at::Scalar(static_cast<std::int64_t>(x)) : at::Scalar(x);
        const auto same = [](const at::Tensor& a, const at::Tensor& b) {
          // A GPU multiplies by the inverse of a number, which it takes in the number's own type.
          const bool equal = test::test_device().is_cuda() ? a.allclose(b, 3e-7, 0) : a.equal(b);
          return a.scalar_type() == b.scalar_type() && equal;
        };
        CHECK(same(Call("mul", {t, x}).tensor(), at::mul(t, number)));
        CHECK(same(Call("add", {t, x}).tensor(), at::add(t, number)));
        CHECK(same(Call("div", {t, x}).tensor(), at::div(t, number)));
      }
    }
  }
}

TEST_CASE("draws are those of the stream, and of a seed where one is given") {
  const at::Tensor p = at::ones({64}, on_test_device()).mul(0.5);
  const auto cases = [&](std::uint64_t seed) {
    std::vector<at::Tensor> drawn;
    drawn.push_back(Call("randn", {64}).tensor(seed));
    drawn.push_back(Call("rand_like", {p}).tensor(seed));
    drawn.push_back(Call("randint", {100, std::vector<double>{64}}).tensor(seed));
    drawn.push_back(Call("randperm", {64}).tensor(seed));
    drawn.push_back(Call("bernoulli", {p}).tensor(seed));
    drawn.push_back(Call("multinomial", {p, 8}).tensor(seed));
    drawn.push_back(Call("dropout", {p, 0.5, true}).tensor(seed));
    drawn.push_back(Call("alpha_dropout", {p, 0.5, true}).tensor(seed));
    drawn.push_back(Call("native_dropout", {p, 0.5, true}).tensor(seed));
    drawn.push_back(Call("feature_dropout", {p.view({8, 8}), 0.5, true}).tensor(seed));
    drawn.push_back(Call("rrelu", {p.neg(), 0.1, 0.3, true}).tensor(seed));
    drawn.push_back(Call("normal_", {p.clone(), 0, 1}).tensor(seed));
    drawn.push_back(Call("uniform_", {p.clone()}).tensor(seed));
    drawn.push_back(Call("exponential_", {p.clone()}).tensor(seed));
    return drawn;
  };
  const auto first = cases(1), again = cases(1), other = cases(2);
  for (std::size_t i = 0; i < first.size(); ++i) {
    CAPTURE(i);
    CHECK(first[i].equal(again[i]));
    CHECK_FALSE(first[i].equal(other[i]));
  }
  const auto seeded = [](std::uint64_t stream) { return Call("randn", {8}, {{"seed", 3}}).tensor(stream); };
  CHECK(seeded(1).equal(seeded(2)));
}

TEST_CASE("a seed is an integer from 0 to 2^53") {
  for (const double seed : {-1.0, 0.5, 1e300, std::nan("")}) {
    CAPTURE(seed);
    CHECK_THROWS_WITH(Call("randn", {8}, {{"seed", seed}}).tensor(),
                      Catch::Contains("'seed': expected an integer from 0 to 2^53, found"));
  }
  CHECK_THROWS_WITH(Call("randn", {8}, {{"seed", "x"}}).tensor(), Catch::Contains("'seed': expected an integer"));
  CHECK_NOTHROW(Call("randn", {8}, {{"seed", 9007199254740992.0}}).tensor());
}

TEST_CASE("a list that the schema gives a length has it") {
  const at::Tensor t = at::ones({2, 3, 3}, on_test_device());
  CHECK_THROWS_WITH(Call("reflection_pad3d", {t, std::vector<double>{}}).tensor(),
                    Catch::Contains("argument 2 (padding): expected a list of 6 integers, found an empty list"));
  CHECK_THROWS_WITH(Call("reflection_pad2d", {t, std::vector<double>{1, 1}}).tensor(),
                    Catch::Contains("expected a list of 4 integers, found a list of 2 numbers"));
  CHECK(Call("reflection_pad2d", {t, std::vector<double>{1, 1, 1, 1}}).tensor().sizes() == at::IntArrayRef({2, 5, 5}));
  // Where the default is an empty list, that may be given; where the length is 1, any is meant.
  CHECK_NOTHROW(Call("max_pool2d", {t, std::vector<double>{2, 2}, std::vector<double>{}}).tensor());
  CHECK(Call("sum", {t, std::vector<double>{0, 1}}).tensor().sizes() == at::IntArrayRef({3}));
}

TEST_CASE("operators that trust their caller cannot be called") {
  for (const char* name :
       {"_reshape_alias", "_sparse_coo_tensor_unsafe", "_sparse_csr_tensor_unsafe", "_unsafe_index",
        "_nested_view_from_buffer", "_fused_adam_", "_foreach_add_", "_thnn_fused_lstm_cell",
        "embedding_dense_backward", "max_pool2d_with_indices_backward", "mkldnn_convolution", "quantized_lstm_cell",
        "slow_conv3d_forward", "data", "set_", "as_strided_", "resize_", "values"}) {
    CAPTURE(name);
    CHECK(find_operator(name) == nullptr);
  }
}

TEST_CASE("no result is a sparse tensor behind which to_dense would write") {
  const at::Tensor sparse = at::ones({1, 20, 3}).to_sparse(1), index = at::zeros({1, 1}, at::kLong);
  const auto refused = [](const char* op, std::vector<Given> arguments) {
    CAPTURE(op);
    CHECK_THROWS_WITH(
        Call(op, std::move(arguments)).tensor(),
        Catch::Contains("the result would be a sparse tensor whose elements are parts of a larger tensor"));
  };
  refused("select", {sparse, 1, 0});
  refused("sparse_coo_tensor", {index, at::ones({1, 20, 3}).select(1, 0), std::vector<double>{1, 3}});
  CHECK(Call("select", {sparse, 0, 0}).tensor().sizes() == at::IntArrayRef({20, 3}));
  CHECK(Call("sparse_coo_tensor", {index, at::ones({1, 3}), std::vector<double>{1, 3}}).tensor()._nnz() == 1);
}

TEST_CASE("equal least squares give equal bytes, also where a matrix has less than full rank") {
  for (int i = 0; i < 50; ++i) {
    at::Tensor matrix = at::sin(at::arange(25 * i, 25 * (i + 1)).to(at::kFloat)).reshape({5, 5});
    if (i % 2 == 0) matrix.select(1, 2).copy_(matrix.select(1, 0));
    const at::Tensor right = at::cos(at::arange(10).to(at::kFloat)).reshape({5, 2});
    const at::Tensor first = Call("linalg_lstsq", {matrix, right}).tensor();
    CHECK(at::equal(Call("linalg_lstsq", {matrix, right}).tensor(), first));
    CHECK(at::equal(Call("linalg_lstsq", {matrix, right}, {{"driver", "gelsd"}}).tensor(), first));
  }
  CHECK_THROWS_WITH(Call("linalg_lstsq", {at::eye(2), at::eye(2)}, {{"driver", "gelsy"}}).tensor(),
                    Catch::Contains("LibTorch's gelsy begins with pivots that nobody has set"));
  // The rank would stay unwritten.
  CHECK_THROWS_WITH(Call("linalg_lstsq", {at::ones({1, 0, 3}), at::ones({0, 3})}).tensor(),
                    Catch::Contains("(b): expected at least one element"));
}

TEST_CASE("operators of quantized dtypes are left out, because no tensor of a recipe has such a dtype") {
  for (const char* name : {"quantize_per_tensor", "quantize_per_channel", "quantize_per_tensor_dynamic", "int_repr",
                           "dequantize", "empty_quantized", "q_scale", "q_per_channel_axis", "qscheme"}) {
    CAPTURE(name);
    CHECK(find_operator(name) == nullptr);
  }
  CHECK(find_operator("fake_quantize_per_tensor_affine") != nullptr);
}

TEST_CASE("arguments with which LibTorch would end the process are refused") {
  const auto refused = [](const char* op, std::vector<Given> arguments, const char* message) {
    CHECK_THROWS_WITH(Call(op, std::move(arguments)).tensor(), Catch::Contains(message));
  };
  const at::Tensor x = at::ones({3, 3}), images = at::ones({1, 4, 2, 2});
  for (const char* row : {"range", "arange"}) {
    CHECK_THROWS_WITH(Call(row, {1, 3, 0.1}, {{"dtype", "int64"}}).tensor(),
                      Catch::Contains("(step): expected a step of at least 1 in a dtype of whole numbers"));
  }
  CHECK(Call("range", {1, 3, 1.5}, {{"dtype", "int64"}}).tensor().numel() == 3);
  CHECK(Call("arange", {1, 2, 0.25}).tensor().numel() == 4);
  for (const double wrong : {std::nan(""), HUGE_VAL}) {
    refused("linalg_eigvals", {x.mul(wrong)},
            "argument 1 (self): expected elements that are neither NaN nor infinite, found a tensor float32 [3, 3]");
  }
  CHECK(Call("linalg_eigvals", {x}).tensor().numel() == 3);
  refused("lu_unpack", {x, at::zeros({0}, at::kInt)},
          "argument 2 (LU_pivots): expected pivots for the matrices, found a tensor int32 [0]");
  refused("native_channel_shuffle", {images, 0}, "argument 2 (groups): expected at least 1, found 0");
  refused("native_channel_shuffle", {images.to_sparse(), 2},
          "argument 1 (self): expected a dense tensor, found a tensor");
  CHECK(Call("native_channel_shuffle", {images, 2}).tensor().sizes() == images.sizes());
  refused("unflatten_dense_tensors", {at::ones({2, 0}).to_sparse_csr(), std::vector<at::Tensor>{at::ones({2, 0})}},
          "argument 1 (flat): expected a dense tensor, found a tensor sparse_csr float32 [2, 0]");
  for (const char* made : {"new_empty", "new_zeros", "new_ones", "new_full"}) {
    std::vector<Given> arguments{x.to_sparse_csr(), std::vector<double>{4, 4}};
    if (std::string(made) == "new_full") arguments.emplace_back(2);
    refused(made, arguments, "argument 1 (self): expected a tensor of layout strided or sparse_coo, found a tensor");
  }
  CHECK(Call("new_zeros", {x.to_sparse(), std::vector<double>{4, 4}}).tensor()._nnz() == 0);
  const std::vector<double> size{5, 5};
  for (const double wrong : {1e-300, 0.0, -1.0, std::nan(""), HUGE_VAL})
    refused("upsample_bicubic2d", {images, size, false, wrong, 1.5},
            "argument 4 (scales_h): expected a factor from 0.000001 to 1000000, found");
  refused("_upsample_nearest_exact3d", {at::ones({1, 1, 3, 3, 3}), std::vector<double>{5, 5, 5}, 1.5, 1.5, 1e-300},
          "argument 5 (scales_w): expected a factor from 0.000001 to 1000000, found 1e-300");
  CHECK(Call("upsample_bicubic2d", {images, size, false, 2.5, 2.5}).tensor().sizes() == at::IntArrayRef({1, 4, 5, 5}));
  refused("binary_cross_entropy", {at::ones({}), at::ones({1, 2, 0})},
          "argument 2 (target): expected a tensor of the size of the first one, found a tensor float32 [1, 2, 0]");
  refused("soft_margin_loss", {x, x, 4}, R"(argument 3 (reduction): expected "none", "mean" or "sum", found 4)");
  for (const char* loss : {"multi_margin_loss", "multilabel_margin_loss", "multilabel_margin_loss_forward"}) {
    std::vector<Given> arguments{at::ones({0, 3}), at::zeros({0, 3}, at::kLong)};
    if (std::string_view(loss).ends_with("_forward")) arguments.emplace_back("mean");
    refused(loss, arguments, "argument 1 (self): expected at least one element, found a tensor float32 [0, 3]");
  }
  refused("add", {x.to_sparse_csr(), x.to_sparse()},
          "argument 2 (other): expected a dense tensor or one of the sparse layout of the first one");
  for (const char* product : {"mul", "mul_", "multiply", "multiply_"}) {
    CAPTURE(product);
    refused(product, {x.to_sparse(), x.to_sparse(1)},
            "argument 2 (other): expected a sparse tensor with as many sparse dimensions as the first one has");
    CHECK(Call(product, {x.mul(3).to_sparse(), x.to_sparse()}).tensor().to_dense().equal(x.mul(3)));
    CHECK(Call(product, {x.to_sparse(), 3}).tensor().to_dense().equal(x.mul(3)));
  }
}

TEST_CASE("labels, pivots, offsets, lengths and modes with which a kernel would leave the memory are refused") {
  const auto refused = [](const char* op, std::vector<Given> arguments, std::vector<Named> named, const char* message) {
    CAPTURE(op);
    CHECK_THROWS_WITH(Call(op, std::move(arguments), std::move(named)).tensor(), Catch::Contains(message));
  };
  const auto list = [](std::vector<std::int64_t> values) { return at::tensor(values, at::TensorOptions(at::kLong)); };
  const auto pivots = [&](std::vector<std::int64_t> values) { return list(std::move(values)).to(at::kInt); };
  using Numbers = std::vector<double>;

  const at::Tensor scores = at::zeros({20, 1, 3}).log_softmax(2);
  for (const std::int64_t label : {std::int64_t{1'000'000'000'000}, std::int64_t{3}, std::int64_t{-1}}) {
    refused("ctc_loss", {scores, list({label, 1}).view({1, 2}), Numbers{20}, Numbers{2}}, {},
            "argument 2 (targets): expected labels from 0 up to, without, the size of the last dimension");
    refused("ctc_loss", {scores, list({1, label}), list({20}), list({2})}, {}, "argument 2 (targets): expected labels");
  }
  // Numbers behind the labels of a shorter text do not count, and labels may have strides.
  const at::Tensor loss = Call("ctc_loss", {scores, list({1, -1}).view({1, 2}), Numbers{20}, Numbers{1}}).tensor();
  CHECK(loss.equal(Call("ctc_loss", {scores, list({1}).view({1, 1}), Numbers{20}, Numbers{1}}).tensor()));
  const at::Tensor two = scores.expand({20, 2, 3}), same = list({1}).expand({3});
  CHECK(Call("ctc_loss", {two, same, Numbers{20, 20}, Numbers{2, 1}})
            .tensor()
            .equal(Call("ctc_loss", {two, same.clone(), Numbers{20, 20}, Numbers{2, 1}}).tensor()));

  const at::Tensor x = at::eye(3), b = at::ones({3, 1});
  for (const auto& wrong : {pivots({100'000'000, 1, 1}), pivots({0, 1, 1}), pivots({1, 1, -1}), pivots({-1, 2, 3}),
                            pivots({-2, -2, -2}), pivots({-2, -4, 3})}) {
    refused("linalg_ldl_solve", {x, wrong, b}, {}, "argument 2 (pivots): expected pivots as linalg_ldl_factor gives");
  }
  CHECK(Call("linalg_ldl_solve", {x, pivots({1, 2, 3}), b}).tensor().equal(b));
  const at::Tensor swap = at::eye(2).flip(0);
  Stream random{Key(1)};
  const torch::jit::Stack factor = Call("linalg_ldl_factor", {swap})(random);
  CHECK(factor.at(1).toTensor().lt(0).all().item<bool>());
  CHECK(Call("linalg_ldl_solve", {factor.at(0).toTensor(), factor.at(1).toTensor(), at::eye(2)}).tensor().equal(swap));
  refused("lu_unpack", {x, pivots({1, 2})}, {}, "argument 2 (LU_pivots): expected pivots for the matrices");

  for (const auto& wrong : {list({0, 9'999'999'999}), list({-1, 4}), list({2, 1}), list({})}) {
    refused("segment_reduce", {at::ones({4}), "sum"}, {{"offsets", wrong}}, "'offsets': expected offsets that rise");
  }
  refused("segment_reduce", {at::ones({4}), "sum"}, {{"lengths", list({9})}, {"unsafe", true}},
          "'unsafe': expected false");
  CHECK(Call("segment_reduce", {at::ones({4}), "sum"}, {{"offsets", list({0, 1, 4})}})
            .tensor()
            .equal(at::tensor({1.F, 3.F})));

  for (const char* make : {"new_ones", "new_zeros", "new_empty", "zeros_like"}) {
    std::vector<Given> given{x};
    if (std::string(make) != "zeros_like") given.emplace_back(Numbers{1, 2, 4});
    refused(make, given, {{"layout", "sparse_csr"}}, "'layout': expected \"strided\" or \"sparse_coo\"");
  }
  refused("randn", {Numbers{3, 3}}, {{"layout", "sparse_csc"}}, "'layout': expected \"strided\" or \"sparse_coo\"");
  for (const char* polynomial : {"special_chebyshev_polynomial_t", "special_shifted_chebyshev_polynomial_w"}) {
    refused(polynomial, {at::full({2}, std::nan("")), 2}, {}, "(x): expected no NaN");
    refused(polynomial, {std::nan(""), at::full({2}, 2.F)}, {}, "(x): expected no NaN");
    CHECK(Call(polynomial, {at::zeros({2}), 2}).tensor().isfinite().all().item<bool>());
  }
  CHECK(Call("to_sparse", {x}, {{"layout", "sparse_csr"}}).tensor().layout() == at::kSparseCsr);

  const at::Tensor image = at::ones({1, 1, 4, 4}), places = at::zeros({1, 2, 2, 2});
  for (const int mode : {-1, 3, 1000}) {
    for (const char* sampler : {"grid_sampler", "grid_sampler_2d"}) {
      refused(sampler, {image, places, mode, 0, false}, {}, "(interpolation_mode): expected 0 (bilinear)");
      refused(sampler, {image, places, 0, mode, false}, {}, "(padding_mode): expected 0 (zeros)");
    }
    refused("grid_sampler_3d", {image.unsqueeze(2), at::zeros({1, 1, 2, 2, 3}), mode, 0, false}, {},
            "(interpolation_mode): expected 0 (trilinear) or 1 (nearest)");
  }
  CHECK(Call("grid_sampler_2d", {image, places, 1, 1, false}).tensor().equal(at::ones({1, 1, 2, 2})));

  const at::Tensor heads = at::ones({1, 2, 3, 4});
  const auto attention = [&](const at::Tensor& key, const at::Tensor& value, const char* message) {
    refused("scaled_dot_product_attention", {heads, key, value}, {{"enable_gqa", true}}, message);
  };
  attention(heads.narrow(1, 0, 0), heads.narrow(1, 0, 0), "argument 2 (key): expected at least one head");
  attention(heads.narrow(2, 0, 0), heads.narrow(2, 0, 0), "argument 2 (key): expected at least one head");
  attention(heads, heads.narrow(1, 0, 1), "argument 3 (value): expected as many positions");
  attention(heads, heads.narrow(2, 0, 1), "argument 3 (value): expected as many positions");

  const std::vector<at::Tensor> weights{at::ones({2, 3}), at::ones({2, 2})};
  for (const auto& wrong : {list({}), list({1, 2}), list({3, 3}), list({2, 0, 1}), list({1, 1})}) {
    refused("rnn_tanh", {at::ones({3, 3}), wrong, at::ones({1, 2, 2}), weights, false, 1, 0, false, false}, {},
            "argument 2 (batch_sizes): expected the sizes of the steps of a packed batch");
  }
  const auto lstm = [&](const at::Tensor& input, std::vector<at::Tensor> states, const at::Tensor& matrix, bool first,
                        const char* message) {
    const std::vector<at::Tensor> matrices{matrix, at::ones({8, 2})};
    refused("lstm", {input, std::move(states), matrices, false, 1, 0, false, false, first}, {}, message);
  };
  const at::Tensor steps = at::ones({4, 2, 3}), state = at::ones({1, 2, 2}), matrix = at::ones({8, 3});
  lstm(steps, {state}, matrix, false, "argument 2 (hx): expected two states [num_layers");
  lstm(steps, {state, state}, matrix, true, "argument 2 (hx): expected two states");
  lstm(steps.unsqueeze(0), {state, state}, matrix, false, "argument 2 (hx): expected two states");
  lstm(steps, {state, state}, at::ones({0, 3}), false, "argument 3 (params): expected for each layer and direction");
  lstm(steps, {state, state}, at::ones({8, 4}), false, "argument 3 (params): expected for each layer and direction");
  const Numbers one{1, 1}, none{0, 0};
  refused("col2im", {at::ones({1, 8, 9}), Numbers{4, 4}, Numbers{2, 2}, one, Numbers{2147483648., 0}, one}, {},
          "argument 5 (padding): expected numbers of at most 65536");
  CHECK(Call("col2im", {at::ones({1, 8, 9}), Numbers{4, 4}, Numbers{2, 2}, one, none, one}).tensor().numel() == 32);
  const Numbers wide{65536}, nothing{0};
  const at::Tensor signal = at::ones({5, 2, 2}), kernel = at::ones({2, 2, 3});
  refused("conv_transpose1d", {signal, kernel, Given::nil(), wide}, {},
          "argument 4 (stride): expected numbers of at most 4096");
  refused("conv_transpose2d", {signal.unsqueeze(2), kernel.unsqueeze(2), Given::nil(), Numbers{1, 32768}}, {},
          "argument 4 (stride): expected numbers of at most 4096");
  const auto convolution = [&](bool transposed) {
    return Call("convolution", {signal, kernel, Given::nil(), wide, Numbers{transposed ? 0. : 1.}, Numbers{1},
                                transposed, nothing, 1});
  };
  CHECK_THROWS_WITH(convolution(true).tensor(), Catch::Contains("at most 4096 for a transposed convolution"));
  CHECK(convolution(false).tensor().numel() == 10);
  refused("rrelu_with_noise_", {at::ones({2, 3}), at::ones({1}).expand({2, 3}), 0.1, 0.3, true}, {},
          "argument 2 (noise): expected a contiguous tensor");
}

TEST_CASE("the number of results has a limit, because what holds them is no memory of tensors") {
  const at::Tensor x = at::ones({4, 4}), long_one = at::ones({1}).expand({1 << 21});
  const auto refused = [](const char* op, std::vector<Given> arguments, const char* message) {
    CAPTURE(op);
    CHECK_THROWS_WITH(Call(op, std::move(arguments)).tensor(), Catch::Contains(message));
  };
  const double many = 2147483648.;
  refused("tensor_split", {x, many},
          "argument 2 (sections): expected a number of parts of at most 1048576, found 2147483648");
  refused("tensor_split", {x, at::full({}, many).to(at::kLong)},
          "(tensor_indices_or_sections): expected a number of parts");
  refused("tensor_split", {x, long_one.to(at::kLong)}, "(tensor_indices_or_sections): expected a number of parts");
  refused("hsplit", {at::ones({2, 0}), many}, "argument 2 (sections): expected a number of parts");
  for (const char* chunk : {"chunk", "unsafe_chunk"}) {
    refused(chunk, {at::ones({0}), many}, "argument 2 (chunks): expected a number of parts");
    refused(chunk, {long_one, many}, "argument 2 (chunks): expected a number of parts");
  }
  for (const char* split : {"split", "split_copy", "unsafe_split"})
    refused(split, {long_one, 1},
            "argument 2 (split_size): expected a size with which there are at most 1048576 parts");
  refused("unbind", {long_one, 0}, "argument 2 (dim): expected a dimension of at most 1048576 elements");
  refused("combinations", {x.view({16}), many}, "argument 2 (r): expected at most 64");
  for (const char* product : {"meshgrid", "cartesian_prod"})
    refused(product, {std::vector<at::Tensor>(65, at::ones({1}))}, "argument 1 (tensors): expected at most 64");
  refused("linalg_multi_dot", {std::vector<at::Tensor>(1025, x)},
          "argument 1 (tensors): expected at most 1024 matrices");
  Stream random{Key(1)};
  CHECK(Call("chunk", {x, many})(random).at(0).toTensorVector().size() == 4);
  CHECK(Call("unbind", {x})(random).at(0).toTensorVector().size() == 4);
  CHECK(Call("combinations", {x.view({16}), 2}).tensor().size(0) == 120);
}

TEST_CASE("sparse tensors check their indices, and keep them to themselves") {
  const at::Tensor indices = at::ones({1, 1}, at::kLong), values = at::ones({1});
  const Call made("sparse_coo_tensor", {indices, values, std::vector<double>{4}});
  const at::Tensor sparse = made.tensor();
  indices.fill_(100'000'000);
  CHECK(sparse.to_dense().equal(at::arange(4).eq(1).to(at::kFloat)));
  CHECK_THROWS(made.tensor());
  const at::Tensor rows = at::arange(3), columns = at::ones({2}, at::kLong).mul(7);
  CHECK_THROWS(Call("sparse_csr_tensor", {rows, columns, at::ones({2}), std::vector<double>{2, 2}}).tensor());
}

TEST_CASE("operators do not write LibTorch's warnings to standard error") {
  struct Heard final : c10::WarningHandler {
    void process(const c10::Warning& /*warning*/) override { ++count; }
    int count = 0;
  } heard;
  const c10::WarningUtils::WarningHandlerGuard guard(&heard);
  c10::WarningUtils::set_warnAlways(true);
  Call("lu_solve", {at::ones({2, 1}), at::eye(2), at::ones({2}, at::kInt)}).tensor();  // it is deprecated
  c10::WarningUtils::set_warnAlways(false);
  CHECK(heard.count == 0);
}

TEST_CASE("the median of an expanded tensor is that of its copy") {
  const at::Tensor x = at::arange(25, on_test_device(at::kLong)).view({1, 5, 5}).expand({3, 5, 5});
  CHECK(Call("median", {x, 0}).tensor().equal(x[0]));
  const at::Tensor y = at::arange(25, on_test_device(at::kLong)).to(at::kFloat).view({1, 1, 5, 5}).expand({3, 1, 5, 5});
  CHECK(Call("nanmedian", {y, 0}).tensor().equal(y[0]));
}

TEST_CASE("no operator moves the global generator") {
  const auto state = [] { return at::Generator(at::globalContext().defaultGenerator(at::kCPU)).get_state(); };
  const at::Tensor before = state().clone();
  const at::Tensor t = at::ones({4, 4}, on_test_device());
  for (const char* name : {"dropout", "alpha_dropout", "feature_dropout", "feature_alpha_dropout", "native_dropout"})
    Call(name, {t, 0.5, true}).tensor();
  for (const char* name : {"rand", "randn"}) Call(name, {4}).tensor();
  for (const char* name : {"rand_like", "randn_like", "bernoulli", "multinomial"}) {
    if (std::string(name) == "multinomial")
      Call(name, {t, 2}).tensor();
    else
      Call(name, {t}).tensor();
  }
  CHECK(state().equal(before));
  CHECK_THROWS_WITH(Call("scaled_dot_product_attention", {t, t, t, Given::nil(), 0.1}).tensor(),
                    Catch::Contains("'dropout_p' must be 0"));
  const std::vector<at::Tensor> hidden{at::zeros({1, 1, 2}, on_test_device()), at::zeros({1, 1, 2}, on_test_device())};
  const std::vector<at::Tensor> weights{at::ones({8, 4}, on_test_device()), at::ones({8, 2}, on_test_device())};
  const auto lstm = [&](double p, bool train) {
    Call("lstm", {t.view({4, 1, 4}), hidden, weights, false, 1, p, train, false, false}).tensor();
  };
  CHECK_THROWS_WITH(lstm(0.5, true), Catch::Contains("'dropout' must be 0"));
  CHECK_NOTHROW(lstm(0.5, false));
}

TEST_CASE("the moments of keyed dropout are right") {
  const at::Tensor x = at::ones({200'000}, on_test_device());
  const at::Tensor dropped = Call("dropout", {x, 0.3, true}).tensor();
  CHECK(dropped.mean().item<double>() == Approx(1).margin(0.01));
  CHECK(dropped.eq(0).sum().item<double>() / 2e5 == Approx(0.3).margin(0.005));
  // Alpha dropout keeps mean 0 and variance 1.
  const at::Tensor alpha = Call("alpha_dropout", {Call("randn", {200'000}).tensor(7), 0.2, true}).tensor();
  CHECK(alpha.mean().item<double>() == Approx(0).margin(0.02));
  CHECK(alpha.var().item<double>() == Approx(1).margin(0.03));
  const at::Tensor channels = Call("feature_dropout", {at::ones({50, 20, 3, 3}, on_test_device()), 0.5, true}).tensor();
  CHECK(channels.sum({2, 3}).remainder(18).eq(0).all().item<bool>());
}

}  // namespace trainlab::operators_test

// Operators from the dispatcher's schemas: which there are, which overload takes what, keyed draws, errors.
#include "tensor/operators.h"

#include <ATen/core/enum_tag.h>
#include <ATen/ops/add.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/div.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <map>
#include <set>

#include "operator_support.h"
#include "support/stand_in_device.h"

namespace trainlab::operators_test {

using trainlab::test::Call;
using trainlab::test::Given;
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
      {"shares memory behind the back of backward(), which detach does not", 1},
      {"hands out what a sparse tensor is made of, to be written to; NAME_copy copies it", 8},
      {"symbolic shapes", 10},
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
          return a.scalar_type() == b.scalar_type() && a.equal(b);
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

TEST_CASE("arguments with which LibTorch would end the process are refused") {
  const auto refused = [](const char* op, std::vector<Given> arguments, const char* message) {
    CHECK_THROWS_WITH(Call(op, std::move(arguments)).tensor(), Catch::Contains(message));
  };
  const at::Tensor x = at::ones({3, 3}), images = at::ones({1, 4, 2, 2});
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
  for (const char* product : {"mul", "mul_", "multiply", "multiply_"}) {
    CAPTURE(product);
    refused(product, {x.to_sparse(), x.to_sparse(1)},
            "argument 2 (other): expected a sparse tensor with as many sparse dimensions as the first one has");
    CHECK(Call(product, {x.mul(3).to_sparse(), x.to_sparse()}).tensor().to_dense().equal(x.mul(3)));
    CHECK(Call(product, {x.to_sparse(), 3}).tensor().to_dense().equal(x.mul(3)));
  }
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

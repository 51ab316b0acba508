// Gradients of operators called as a script calls them, against central differences in float64.
#include <ATen/ops/concat.h>
#include <ATen/ops/empty.h>

#include <catch2/catch.hpp>
#include <functional>

#include "operator_support.h"
#include "support/stand_in_device.h"
#include "tensor/random.h"
#include "tensor/types.h"

namespace trainlab::gradients_test {

using trainlab::test::Call;
using trainlab::test::Given;
using trainlab::test::on_test_device;

namespace {

using Inputs = std::vector<at::Tensor>;

struct Case {
  std::string name;
  std::vector<Shape> shapes;                                   // of the inputs
  std::function<std::vector<Given>(const Inputs&)> arguments;  // empty: the inputs
  double low = 0.2, high = 0.8;                                // of their values
};

at::Tensor values(const Shape& shape, std::uint64_t key, double low, double high) {
  const at::Tensor tensor = at::empty(shape, on_test_device(at::kDouble));
  fill_uniform(tensor, Key(key), low, high);
  return tensor;
}

// A number of the operator's first result, whose elements all count differently.
at::Tensor loss(const Case& c, const Inputs& inputs) {
  const std::vector<Given> arguments =
      c.arguments ? c.arguments(inputs) : std::vector<Given>(inputs.begin(), inputs.end());
  const at::Tensor result = Call(c.name, arguments).tensor();
  return result.mul(values(result.sizes().vec(), 99, -1, 1)).sum();
}

void check(const Case& c) {
  CAPTURE(c.name);
  Inputs inputs, directions;
  for (std::size_t i = 0; i < c.shapes.size(); ++i) {
    inputs.push_back(values(c.shapes[i], i + 1, c.low, c.high).requires_grad_());
    directions.push_back(values(c.shapes[i], i + 50, -1, 1));
  }
  loss(c, inputs).backward();
  double analytic = 0;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    REQUIRE(inputs[i].grad().defined());
    analytic += inputs[i].grad().mul(directions[i]).sum().item<double>();
  }
  constexpr double h = 1e-6;
  const auto moved = [&](double by) {
    Inputs there;
    for (std::size_t i = 0; i < inputs.size(); ++i) there.push_back(inputs[i].detach().add(directions[i].mul(by)));
    return loss(c, there).item<double>();
  };
  CHECK(analytic == Approx((moved(h) - moved(-h)) / (2 * h)).epsilon(1e-5).margin(1e-7));
}

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const char* name :
       {"exp",  "exp2",    "expm1",      "log",      "log2",    "log10",      "log1p",     "sin",      "cos",
        "tan",  "asin",    "acos",       "atan",     "sinh",    "cosh",       "tanh",      "asinh",    "atanh",
        "sqrt", "rsqrt",   "square",     "abs",      "neg",     "reciprocal", "sigmoid",   "relu",     "gelu",
        "silu", "mish",    "elu",        "selu",     "celu",    "leaky_relu", "hardswish", "softplus", "log_sigmoid",
        "erf",  "erfc",    "erfinv",     "lgamma",   "digamma", "sinc",       "logit",     "sum",      "mean",
        "prod", "var",     "std",        "norm",     "t",       "flatten",    "trace",     "tril",     "triu",
        "det",  "inverse", "matrix_exp", "diagonal", "amax",    "amin"}) {
    all.push_back({name, {{3, 3}}, {}});
  }
  all.push_back({"acosh", {{3, 3}}, {}, 1.2, 2});
  const auto with = [](std::vector<Given> rest) {
    return [rest = std::move(rest)](const Inputs& in) {
      std::vector<Given> arguments(in.begin(), in.end());
      arguments.insert(arguments.end(), rest.begin(), rest.end());
      return arguments;
    };
  };
  for (const char* name : {"softmax", "log_softmax", "cumsum", "cumprod", "logcumsumexp", "logsumexp", "glu"})
    all.push_back({name, {{3, 4}}, with({1})});
  for (const char* name :
       {"add", "sub", "mul", "div", "pow", "atan2", "hypot", "maximum", "minimum", "logaddexp", "kron"})
    all.push_back({name, {{3, 3}, {3, 3}}, {}});
  for (const char* name :
       {"mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "kl_div", "binary_cross_entropy_with_logits"})
    all.push_back({name, {{3, 3}, {3, 3}}, {}});
  all.push_back({"matmul", {{3, 4}, {4, 2}}, {}});
  all.push_back({"bmm", {{2, 3, 4}, {2, 4, 2}}, {}});
  all.push_back({"dot", {{5}, {5}}, {}});
  all.push_back({"outer", {{3}, {4}}, {}});
  all.push_back({"addmm", {{3, 2}, {3, 4}, {4, 2}}, {}});
  all.push_back({"baddbmm", {{2, 3, 2}, {2, 3, 4}, {2, 4, 2}}, {}});
  all.push_back({"linear", {{3, 4}, {2, 4}, {2}}, {}});
  all.push_back({"lerp", {{3}, {3}, {3}}, {}});
  all.push_back({"addcdiv", {{3}, {3}, {3}}, {}});
  all.push_back({"cosine_similarity", {{3, 4}, {3, 4}}, {}});
  all.push_back({"conv1d", {{2, 2, 6}, {3, 2, 3}, {3}}, {}});
  all.push_back({"conv2d", {{1, 2, 5, 5}, {3, 2, 3, 3}, {3}}, with({2, 1})});
  all.push_back({"conv_transpose2d", {{1, 2, 3, 3}, {2, 3, 2, 2}}, {}});
  all.push_back({"avg_pool2d", {{1, 2, 4, 4}}, with({2})});
  all.push_back({"max_pool2d", {{1, 2, 4, 4}}, with({2})});
  all.push_back({"adaptive_avg_pool2d", {{1, 2, 5, 5}}, with({2})});
  all.push_back({"upsample_bilinear2d", {{1, 2, 3, 3}}, with({std::vector<double>{5, 5}, false})});
  all.push_back({"layer_norm", {{3, 4}, {4}, {4}}, [](const Inputs& in) {
                   return std::vector<Given>{in[0], std::vector<double>{4}, in[1], in[2]};
                 }});
  all.push_back({"rms_norm", {{3, 4}, {4}}, [](const Inputs& in) {
                   return std::vector<Given>{in[0], std::vector<double>{4}, in[1]};
                 }});
  all.push_back({"group_norm", {{2, 4, 3}, {4}, {4}}, [](const Inputs& in) {
                   return std::vector<Given>{in[0], 2, in[1], in[2]};
                 }});
  all.push_back({"cat", {{2, 3}, {2, 2}}, [](const Inputs& in) { return std::vector<Given>{in, 1}; }});
  all.push_back({"stack", {{2, 3}, {2, 3}}, [](const Inputs& in) { return std::vector<Given>{in}; }});
  all.push_back({"scaled_dot_product_attention", {{1, 2, 3, 4}, {1, 2, 3, 4}, {1, 2, 3, 4}}, {}});
  all.push_back({"pad", {{2, 3}}, with({std::vector<double>{1, 2}, "constant", 0.5})});
  all.push_back({"flip", {{2, 3}}, with({std::vector<double>{1}})});
  all.push_back({"roll", {{2, 3}}, with({1, 1})});
  all.push_back({"repeat", {{2, 3}}, with({2, 1})});
  all.push_back({"clamp", {{3, 3}}, with({0.3, 0.6})});
  all.push_back({"slice", {{4, 3}}, with({0, 1, 3})});
  return all;
}

}  // namespace

TEST_CASE("gradients of a hundred operators") {
  const std::vector<Case> all = cases();
  REQUIRE(all.size() >= 100);
  for (const Case& c : all) check(c);
}

}  // namespace trainlab::gradients_test

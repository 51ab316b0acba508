// Layers without golden numbers against their formulas.
#include <catch2/catch.hpp>

#include <ATen/ops/concat.h>
#include <ATen/ops/convolution.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "cases.h"
#include "core/callable.h"
#include "support/stand_in_device.h"

namespace trainlab::closed_forms_test {

using namespace trainlab::testing;
using trainlab::test::on_test_device;
using trainlab::test::test_device;
using List = Value::List;

namespace {

const std::array keys = {Key(1)};

ModelState state_of(const Model& model) { return model.initial_state(keys, at::kDouble, test_device(), false); }

// The output for a batch x.
at::Tensor run(const Value& layer, const at::Tensor& x) {
  const Model model = build(layer, x.sizes().slice(1).vec());
  const at::Tensor y = model.forward(x, {state_of(model), false, {}}).detach();
  CHECK(y.sizes().slice(1).vec() == model.output());
  return y;
}

double difference(const at::Tensor& a, const at::Tensor& b) {
  REQUIRE(a.sizes() == b.sizes());
  return a.sub(b).abs().max().item<double>();
}

at::Tensor indices(const std::vector<std::int64_t>& values) {
  const at::Tensor out = at::empty({static_cast<std::int64_t>(values.size())}, at::kLong);
  std::copy(values.begin(), values.end(), out.mutable_data_ptr<std::int64_t>());
  return out.to(test_device());
}

// x along an axis after padding: element i of the result is x's element place(i).
at::Tensor moved(const at::Tensor& x, std::int64_t axis, std::int64_t before, std::int64_t after,
                 const std::function<std::int64_t(std::int64_t)>& place) {
  std::vector<std::int64_t> places;
  for (std::int64_t i = -before; i < x.size(axis) + after; ++i) places.push_back(place(i));
  return x.index_select(axis, indices(places));
}

// A matrix of weights [outputs, inputs], in float64.
at::Tensor matrix(std::int64_t rows, std::int64_t columns,
                  const std::function<double(std::int64_t row, std::int64_t column)>& weight) {
  const at::Tensor out = at::empty({rows, columns}, at::kDouble);
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < columns; ++j) out.mutable_data_ptr<double>()[i * columns + j] = weight(i, j);
  return out.to(test_device());
}

double triangle(double x) { return std::max(0.0, 1 - std::abs(x)); }

// Keys 1981, "Cubic convolution interpolation for digital image processing", with its parameter a.
double cubic(double x, double a) {
  x = std::abs(x);
  if (x < 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? (((x - 5) * x + 8) * x - 4) * a : 0;
}

// The weights of an interpolation from n to m elements whose kernel is as wide as the output's elements.
at::Tensor antialiased(std::int64_t n, std::int64_t m, double support, const std::function<double(double)>& kernel) {
  const double scale = static_cast<double>(n) / static_cast<double>(m), width = std::max(scale, 1.0);
  return matrix(m, n, [&](std::int64_t i, std::int64_t j) {
    const double center = scale * (static_cast<double>(i) + 0.5);
    const auto first = std::max<std::int64_t>(0, static_cast<std::int64_t>(center - support * width + 0.5));
    const auto end = std::min<std::int64_t>(n, static_cast<std::int64_t>(center + support * width + 0.5));
    const auto weight = [&](std::int64_t k) { return kernel((static_cast<double>(k) - center + 0.5) / width); };
    double sum = 0;
    for (std::int64_t k = first; k < end; ++k) sum += weight(k);
    return j >= first && j < end ? weight(j) / sum : 0;
  });
}

}  // namespace

TEST_CASE("Hardtanh and Softsign are their formulas") {
  const at::Tensor x = drawn({4, 50});
  CHECK(at::equal(run(nn("Hardtanh"), x), x.clamp(-1, 1)));
  CHECK(at::equal(run(nn("Hardtanh", {-0.5, 2}), x), x.clamp(-0.5, 2)));
  CHECK(difference(run(nn("Softsign"), x), x.div(x.abs().add(1))) < 1e-15);
}

TEST_CASE("Unflatten divides an axis, and Flatten joins it again") {
  const at::Tensor x = drawn({4, 3, 12});
  CHECK(at::equal(run(nn("Unflatten", {1, List{3, 4}}), x), x.view({4, 3, 3, 4})));
  CHECK(at::equal(run(nn("Unflatten", {-1, List{-1, 2, 3}}), x), x.view({4, 3, 2, 2, 3})));
  CHECK(at::equal(run(sequential({nn("Unflatten", {1, List{3, 4}}), nn("Flatten", {1, 2})}), x), x));
}

TEST_CASE("adaptive max pools take the largest of each part") {
  const std::vector<Shape> inputs = {{2, 3, 7}, {2, 3, 5, 7}, {2, 3, 4, 5, 7}};
  const std::vector<std::int64_t> parts = {3, 2, 4};
  for (std::size_t axes = 1; axes <= 3; ++axes) {
    const at::Tensor x = drawn(inputs[axes - 1]);
    at::Tensor expected = x;
    List sizes;
    for (std::size_t i = 0; i < axes; ++i) {
      sizes.emplace_back(parts[i]);
      const auto axis = static_cast<std::int64_t>(i) + 2;
      const std::int64_t n = x.size(axis), m = parts[i];
      std::vector<at::Tensor> largest;
      for (std::int64_t k = 0; k < m; ++k)
        largest.push_back(expected.slice(axis, k * n / m, ((k + 1) * n + m - 1) / m).amax(axis));
      expected = at::stack(largest, axis);
    }
    CHECK(at::equal(run(nn("AdaptiveMaxPool" + std::to_string(axes) + "d", {sizes}), x), expected));
  }
}

TEST_CASE("pads take their values from a number, from the edge, or from beyond it") {
  const std::vector<Shape> inputs = {{2, 3, 4}, {2, 3, 4, 5}, {2, 3, 4, 5, 3}};
  for (std::size_t axes = 1; axes <= 3; ++axes) {
    const std::string end = "Pad" + std::to_string(axes) + "d";
    const at::Tensor x = drawn(inputs[axes - 1]);
    at::Tensor repeated = x, mirrored = x, ones = at::ones_like(x);
    List given;
    for (std::size_t i = 0; i < axes; ++i) {  // from the last axis
      const std::int64_t before = i == 1 ? 0 : 2, after = 1, axis = x.dim() - 1 - static_cast<std::int64_t>(i);
      given.insert(given.end(), {before, after});
      const std::int64_t last = x.size(axis) - 1;
      repeated = moved(repeated, axis, before, after, [&](auto k) { return std::clamp<std::int64_t>(k, 0, last); });
      mirrored = moved(mirrored, axis, before, after, [&](auto k) { return last - std::abs(last - std::abs(k)); });
      Shape edge = ones.sizes().vec();
      const auto zeros = [&](std::int64_t n) {
        edge[static_cast<std::size_t>(axis)] = n;
        return at::zeros(edge, ones.options());
      };
      ones = at::concat({zeros(before), ones, zeros(after)}, axis);
    }
    CHECK(at::equal(run(nn("Replication" + end, {given}), x), repeated));
    CHECK(at::equal(run(nn("Reflection" + end, {given}), x), mirrored));
    CHECK(at::equal(run(nn("Zero" + end, {given}), x), repeated.mul(ones)));
    CHECK(difference(run(nn("Constant" + end, {given, -1.5}), x), repeated.mul(ones).add(ones.sub(1).mul(1.5))) <
          1e-15);
  }
}

TEST_CASE("Unfold makes a convolution a product of matrices, and Fold adds the windows up") {
  const at::Tensor x = drawn({2, 3, 7, 6}), weight = drawn({4, 3, 3, 2}, Key(6));
  const Value::Map options = {{"dilation", List{1, 2}}, {"padding", List{1, 0}}, {"stride", List{2, 1}}};
  const at::Tensor columns = run(nn("Unfold", {List{3, 2}}, options), x);
  const at::Tensor expected =
      at::convolution(x, weight, std::nullopt, {2, 1}, {1, 0}, {1, 2}, false, {0, 0}, 1).flatten(2);
  CHECK(difference(weight.flatten(1).matmul(columns), expected) < 1e-12);

  Value::Map back = options;
  const Value fold = nn("Fold", {List{7, 6}, List{3, 2}}, back);
  // Each pixel as often as windows hold it.
  const at::Tensor times = run(fold, run(nn("Unfold", {List{3, 2}}, options), at::ones_like(x)));
  CHECK(difference(run(fold, columns), x.mul(times)) < 1e-12);
  const Value patches = sequential({nn("Unfold", {2}, {{"stride", 2}}), nn("Fold", {List{8, 6}, 2}, {{"stride", 2}})});
  const at::Tensor whole = drawn({2, 3, 8, 6});
  CHECK(at::equal(run(patches, whole), whole));
}

TEST_CASE("a plain recurrent layer is its recursion, over several layers and both directions") {
  const at::Tensor x = drawn({3, 6, 2});
  for (const std::string nonlinearity : {"tanh", "relu"}) {
    const Value::Map options = {{"nonlinearity", nonlinearity}, {"num_layers", 2}, {"bidirectional", true}};
    const Model model = build(nn("RNN", {4}, options), {6, 2});
    const ModelState state = state_of(model);
    const auto parameter = [&](const std::string& name) {
      for (std::size_t i = 0; i < state.parameters.size(); ++i)
        if (model.parameters()[i].name == name) return state.parameters[i].detach();
      FAIL("no parameter " << name);
      return at::Tensor();
    };
    at::Tensor sequence = x;
    for (const std::string layer : {"_l0", "_l1"}) {
      std::vector<at::Tensor> directions;
      for (const std::string direction : {"", "_reverse"}) {
        const std::string end = layer + direction;
        at::Tensor h = at::zeros({3, 4}, x.options());
        std::vector<at::Tensor> states(6);
        for (std::size_t t = 0; t < 6; ++t) {
          const std::size_t at_step = direction.empty() ? t : 5 - t;
          const at::Tensor sum = at::linear(sequence.select(1, static_cast<std::int64_t>(at_step)),
                                            parameter("weight_ih" + end), parameter("bias_ih" + end))
                                     .add(at::linear(h, parameter("weight_hh" + end), parameter("bias_hh" + end)));
          h = nonlinearity == "tanh" ? sum.tanh() : sum.relu();
          states[at_step] = h;
        }
        directions.push_back(at::stack(states, 1));
      }
      sequence = at::concat(directions, 2);
    }
    CHECK(difference(model.forward(x, {state, false, {}}).detach(), sequence) < 1e-12);
    // W·x and U·h of 4 units: of 2 and 8 inputs and 4 states, in both directions.
    CHECK(model.flops().forward == 2.0 * 6 * 2 * 4 * ((2 + 4) + (8 + 4)));
    Value::Map last = options;
    last["output"] = "last";
    const Model shorter = build(nn("RNN", {4}, last), {6, 2});
    CHECK(difference(shorter.forward(x, {state, false, {}}).detach(),
                     at::concat({sequence.select(1, 5).narrow(1, 0, 4), sequence.select(1, 0).narrow(1, 4, 4)}, 1)) <
          1e-12);
  }
}

TEST_CASE("cells step by step are the recurrent layer over the sequence") {
  const at::Tensor x = drawn({3, 6, 2});
  for (const std::string kind : {"LSTM", "GRU", "RNN"}) {
    const Model layer = build(nn(kind, {4}), {6, 2});
    const ModelState state = state_of(layer);
    const std::int64_t width = kind == "LSTM" ? 8 : 4;
    Value::Map options = {{"state", "s"}};
    if (kind == "LSTM") options["output"] = "state";
    const auto spec = std::make_shared<Spec>(Spec{registry().check(nn(kind + "Cell", {4}, options), "model"), {}});
    const Model cell(Options(registry(), spec, "model"), Signals{{"x", {.shape = {2}}}, {"s", {.shape = {width}}}});
    const at::Tensor expected = layer.forward(x, {state, false, {}}).detach();
    at::Tensor s = at::zeros({3, width}, x.options());
    for (std::int64_t t = 0; t < 6; ++t) {
      INFO(kind << " step " << t);
      const std::vector<at::Tensor> columns = {x.select(1, t), s};
      s = cell.forward(columns, {state, false, {}}).detach();  // the parameters have one order
      CHECK(difference(s.narrow(1, 0, 4), expected.select(1, t)) < 1e-12);
    }
    CHECK(cell.flops().forward * 6 == layer.flops().forward);
    // Without a state, the first step.
    const Model first = build(nn(kind + "Cell", {4}), {2});
    CHECK(difference(first.forward(x.select(1, 0), {state, false, {}}).detach(), expected.select(1, 0)) < 1e-12);
  }
}

TEST_CASE("interpolation: cubic, and with kernels as wide as the output's elements") {
  const at::Tensor x = drawn({2, 3, 9, 8});
  const auto both = [&](const at::Tensor& rows, const at::Tensor& columns) {
    return rows.matmul(x).matmul(columns.t());
  };
  const auto resized = [&](const char* mode, bool antialias, std::int64_t height, std::int64_t width) {
    return run(nn("Upsample", {}, {{"size", List{height, width}}, {"mode", mode}, {"antialias", antialias}}), x);
  };
  const auto linear = [](std::int64_t n, std::int64_t m) { return antialiased(n, m, 1, triangle); };
  const auto keys_half = [](std::int64_t n, std::int64_t m) {
    return antialiased(n, m, 2, [](double d) { return cubic(d, -0.5); });
  };
  for (const auto& [height, width] : std::vector<std::pair<std::int64_t, std::int64_t>>{{4, 3}, {13, 16}}) {
    CHECK(difference(resized("linear", true, height, width), both(linear(9, height), linear(8, width))) < 1e-12);
    CHECK(difference(resized("cubic", true, height, width), both(keys_half(9, height), keys_half(8, width))) < 1e-12);
  }
  CHECK(at::equal(run(nn("Upsample", {List{2, 3}}), x), x.repeat_interleave(2, 2).repeat_interleave(3, 3)));
  // PyTorch's bicubic takes a = −0.75, and elements beyond the edge are those of the edge.
  const auto plain = [](std::int64_t n, std::int64_t m) {
    return matrix(m, n, [=](std::int64_t i, std::int64_t j) {
      const double place = static_cast<double>(n) / static_cast<double>(m) * (static_cast<double>(i) + 0.5) - 0.5;
      double sum = 0;
      for (std::int64_t k = -3; k < n + 3; ++k)
        if (std::clamp<std::int64_t>(k, 0, n - 1) == j) sum += cubic(place - static_cast<double>(k), -0.75);
      return sum;
    });
  };
  CHECK(difference(resized("cubic", false, 13, 16), both(plain(9, 13), plain(8, 16))) < 1e-12);
}

}  // namespace trainlab::closed_forms_test

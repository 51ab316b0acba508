// Measures a member axis in layers other than nn.Linear: one forward and backward pass of a layer alone, and of stacks
// of members by the operators that take several weights at once, on one thread. Attention has a member axis, and
// convolutions and recurrent layers have none, because of these figures.
//
//   bench_stacks
//
// A line {"layer", "alone_us", "stack_us": {"2": …}} for each size of a layer: medians, a stack's by member. A line of
// a convolution also has "bits": whether a member's output and gradients are the same bytes in stacks of 2, 8 and 32.
#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/baddbmm.h>
#include <ATen/ops/bmm.h>
#include <ATen/ops/conv2d.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/linspace.h>
#include <ATen/ops/lstm.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/scaled_dot_product_attention.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "core/clock.h"
#include "core/statistics.h"

namespace {

using Tensors = std::vector<at::Tensor>;

constexpr std::int64_t batch = 32;
constexpr std::array<std::int64_t, 4> stacks = {2, 4, 8, 32};

at::Tensor leaf(at::IntArrayRef shape) { return at::randn(shape).mul_(0.1).requires_grad_(true); }

Tensors gradients(const at::Tensor& y, const Tensors& of) { return torch::autograd::grad({y.sum()}, of); }

double microseconds(const std::function<void()>& pass) {
  constexpr int warm = 3, rounds = 31;
  std::vector<double> all;
  for (int i = -warm; i < rounds; ++i) {
    const double begin = trainlab::steady_seconds();
    pass();
    if (i >= 0) all.push_back(1e6 * (trainlab::steady_seconds() - begin));
  }
  return trainlab::upper_median(std::move(all));
}

// `pass` of 0 members is the layer alone.
void print(const std::string& layer, const std::function<std::function<void()>(std::int64_t)>& pass,
           const std::string& more = "") {
  std::printf("{\"layer\": \"%s\", \"alone_us\": %.0f, \"stack_us\": {", layer.c_str(), microseconds(pass(0)));
  for (const std::int64_t members : stacks) {
    std::printf("%s\"%ld\": %.0f", members == stacks[0] ? "" : ", ", members,
                microseconds(pass(members)) / static_cast<double>(members));
  }
  std::printf("}%s}\n", more.c_str());
}

// A convolution of 3 × 3 over `size` × `size`; members are groups of channels.
struct Convolution {
  std::int64_t in, out, size;

  std::function<void()> pass(std::int64_t members) const {
    const std::int64_t groups = std::max<std::int64_t>(members, 1);
    const at::Tensor images = at::randn({batch, groups * in, size, size});
    // Alone as nn.Conv2d has it, which is the faster order for a single model.
    const at::Tensor x = members == 0 ? images.contiguous(at::MemoryFormat::ChannelsLast) : images;
    const at::Tensor weight = leaf({groups * out, in, 3, 3}), bias = leaf({groups * out});
    return [=] { gradients(at::conv2d(x, weight, bias, 1, 1, 1, groups), {weight, bias}); };
  }

  Tensors member(std::int64_t members) const {
    at::Tensor x = at::randn({batch, members, in, size, size}), weight = at::randn({members, out, in, 3, 3});
    x.select(1, 0).copy_(at::linspace(-1, 1, batch * in * size * size).view({batch, in, size, size}).sin());
    weight[0].copy_(at::linspace(-1, 1, out * in * 9).view({out, in, 3, 3}).cos());
    const at::Tensor all = x.view({batch, members * in, size, size}).requires_grad_(true);
    const at::Tensor weights = weight.view({members * out, in, 3, 3}).requires_grad_(true);
    const at::Tensor y = at::conv2d(all, weights, at::linspace(-1, 1, out).repeat({members}), 1, 1, 1, members);
    const Tensors slopes = gradients(y.mul(y), {all, weights});
    return {y.detach().narrow(1, 0, out), slopes[0].narrow(1, 0, in), slopes[1].narrow(0, 0, out)};
  }

  bool keeps_bits() const {
    const Tensors first = member(2);
    for (const std::int64_t members : {8, 32}) {
      const Tensors other = member(members);
      for (std::size_t i = 0; i < first.size(); ++i)
        if (!first[i].equal(other[i])) return false;
    }
    return true;
  }
};

// Self-attention with its projections; members are samples to the attention itself.
struct Attention {
  std::int64_t positions, width, heads;

  at::Tensor split(const at::Tensor& x, std::int64_t part) const {
    return x.narrow(-1, part * width, width).unflatten(-1, {heads, width / heads}).transpose(1, 2);
  }
  at::Tensor attend(const at::Tensor& all) const {
    return at::scaled_dot_product_attention(split(all, 0), split(all, 1), split(all, 2)).transpose(1, 2);
  }

  std::function<void()> pass(std::int64_t members) const {
    if (members == 0) {
      const at::Tensor x = leaf({batch, positions, width});
      const at::Tensor in = leaf({3 * width, width}), out = leaf({width, width}), bias = leaf({width});
      return [=, *this] {
        const at::Tensor joined = attend(at::linear(x, in)).reshape({batch, positions, width});
        gradients(at::linear(joined, out, bias), {x, in, out, bias});
      };
    }
    const at::Tensor x = leaf({members, batch * positions, width});
    const at::Tensor in = leaf({members, 3 * width, width}), out = leaf({members, width, width});
    const at::Tensor bias = leaf({members, 1, width});
    return [=, *this] {
      const at::Tensor all = at::bmm(x, in.transpose(1, 2)).view({members * batch, positions, 3 * width});
      const at::Tensor joined = attend(all).reshape({members, batch * positions, width});
      gradients(at::baddbmm(bias, joined, out.transpose(1, 2)), {x, in, out, bias});
    };
  }
};

// An LSTM; with members step by step, by products that have a member axis.
struct Lstm {
  std::int64_t length, in, size;

  std::function<void()> pass(std::int64_t members) const {
    if (members == 0) {
      const at::Tensor x = at::randn({batch, length, in}), zero = at::zeros({1, batch, size});
      const Tensors weights = {leaf({4 * size, in}), leaf({4 * size, size}), leaf({4 * size}), leaf({4 * size})};
      return [=] {
        const std::array start = {zero, zero};
        gradients(std::get<0>(at::lstm(x, start, weights, true, 1, 0.0, false, false, true)), weights);
      };
    }
    const at::Tensor x = at::randn({members, batch * length, in}), zero = at::zeros({members, batch, size});
    const Tensors weights = {leaf({members, 4 * size, in}), leaf({members, 4 * size, size}),
                             leaf({members, 1, 4 * size})};
    return [=, *this] {
      const at::Tensor inputs = at::baddbmm(weights[2], x, weights[0].transpose(1, 2));
      at::Tensor hidden = zero, cell = zero;
      Tensors states;
      for (const at::Tensor& step : inputs.view({members, batch, length, 4 * size}).unbind(2)) {
        const Tensors gates = at::baddbmm(step, hidden, weights[1].transpose(1, 2)).chunk(4, -1);
        cell = gates[1].sigmoid() * cell + gates[0].sigmoid() * gates[2].tanh();
        hidden = gates[3].sigmoid() * cell.tanh();
        states.push_back(hidden);
      }
      gradients(at::stack(states, 2), weights);
    };
  }
};

std::string numbers(std::initializer_list<std::int64_t> all) {
  std::string text;
  for (const std::int64_t number : all) text += " " + std::to_string(number);
  return text;
}

}  // namespace

int main() {
  at::set_num_threads(1);
  for (const Convolution& one : {Convolution{1, 8, 8}, {8, 8, 8}, {8, 16, 8}, {16, 32, 8}, {8, 16, 14}, {16, 32, 14}}) {
    print(
        "conv channels, channels, size" + numbers({one.in, one.out, one.size}),
        [&](std::int64_t members) { return one.pass(members); },
        std::string(", \"bits\": ") + (one.keeps_bits() ? "\"equal\"" : "\"differ\""));
  }
  for (const Attention& one : {Attention{8, 16, 2}, {16, 32, 4}, {16, 64, 4}, {64, 64, 4}}) {
    print("attention positions, features, heads" + numbers({one.positions, one.width, one.heads}),
          [&](std::int64_t members) { return one.pass(members); });
  }
  for (const Lstm& one : {Lstm{8, 8, 16}, {8, 8, 32}, {20, 32, 64}, {50, 1, 32}}) {
    print("lstm length, features, state" + numbers({one.length, one.in, one.size}),
          [&](std::int64_t members) { return one.pass(members); });
  }
  return 0;
}

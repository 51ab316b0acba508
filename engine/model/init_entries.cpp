// init.*: initial values of parameters, by their shape.
#include <ATen/ops/diag.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/linalg_qr.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/sign.h>

#include <cmath>
#include <numbers>

#include "core/random/stream.h"
#include "init.h"
#include "model/initial.h"
#include "tensor/random.h"

namespace trainlab {

namespace {

// Values that one output reads, and outputs that one input goes to, of weights [out, in, kernel…].
struct Fans {
  double in, out;
};

Fans fans_of(const Options& options, const Shape& shape) {
  if (shape.size() < 2) {
    throw options
        .error("",
               options.entry().name + " needs a parameter of two or more axes, found one of shape " + shape_text(shape))
        .hint("init.zeros, init.uniform and the like are for biases; patterns such as \"*.weight\" leave them out");
  }
  double places = 1;
  for (std::size_t i = 2; i < shape.size(); ++i) places *= static_cast<double>(shape[i]);
  return {static_cast<double>(shape[1]) * places, static_cast<double>(shape[0]) * places};
}

// torch.nn.init.calculate_gain.
double gain_of(const Options& options) {
  const std::string& name = options.string("nonlinearity");
  if (name == "relu") return std::sqrt(2.0);
  if (name == "leaky_relu") {
    const double slope = options.number("a");
    return std::sqrt(2.0 / (1.0 + slope * slope));
  }
  if (name == "tanh") return 5.0 / 3.0;
  if (name == "selu") return 0.75;
  return 1.0;
}

Initializer normal(double mean, double deviation) {
  return [=](const at::Tensor& out, Key key) { fill_normal(out, key, mean, deviation); };
}

Initializer uniform(double low, double high) {
  return [=](const at::Tensor& out, Key key) { fill_uniform(out, key, low, high); };
}

double kaiming_deviation(const Options& options, const Shape& shape) {
  const Fans fans = fans_of(options, shape);
  return gain_of(options) / std::sqrt(options.string("mode") == "fan_in" ? fans.in : fans.out);
}

double xavier_deviation(const Options& options, const Shape& shape) {
  const Fans fans = fans_of(options, shape);
  return options.number("gain") * std::sqrt(2.0 / (fans.in + fans.out));
}

// Draws that fall outside are drawn again.
Initializer truncated_normal(double mean, double deviation, double low, double high) {
  return [=](const at::Tensor& out, Key key) {
    const at::Tensor values = at::empty(out.sizes(), at::kDouble);
    Stream stream(key);
    double* data = values.mutable_data_ptr<double>();
    for (std::int64_t i = 0; i < values.numel(); ++i) {
      do {
        data[i] = mean + deviation * stream.normal();
      } while (data[i] < low || data[i] > high);
    }
    out.copy_(values);
  };
}

// Q of a normal matrix, with the signs that make it uniform over orthogonal matrices (Mezzadri 2007, section 5).
Initializer orthogonal(double gain) {
  return [gain](const at::Tensor& out, Key key) {
    const std::int64_t rows = out.size(0), columns = out.numel() / rows;
    const at::Tensor drawn = at::empty({std::max(rows, columns), std::min(rows, columns)}, at::kDouble);
    fill_normal(drawn, key, 0, 1);
    const auto [q, r] = at::linalg_qr(drawn);
    const at::Tensor signed_q = q.mul(at::diag(r).sign());
    out.copy_((rows < columns ? signed_q.t() : signed_q).mul(gain).reshape(out.sizes()));
  };
}

Option nonlinearity_option() {
  return Option("nonlinearity", "the activation that follows, for the gain")
      .choice({"relu", "leaky_relu", "tanh", "selu", "linear"})
      .or_default("relu");
}

Entry kaiming(std::string name, std::string doc) {
  return Entry(std::move(name), "init", std::move(doc))
      .with(Option("mode",
                   "\"fan_in\" keeps the variance of activations in the forward pass, \"fan_out\" that of gradients in "
                   "the backward pass")
                .choice({"fan_in", "fan_out"})
                .or_default("fan_in"))
      .with(nonlinearity_option())
      .with(Option("a", "negative slope of leaky_relu").number().or_default(0.01))
      .note(
          "He et al. 2015, equation 10. The gain is √2 for relu, √(2/(1 + a²)) for leaky_relu, 5/3 for tanh, 3/4 for "
          "selu, "
          "1 for linear.");
}

Entry xavier(std::string name, std::string doc) {
  return Entry(std::move(name), "init", std::move(doc))
      .with(Option("gain", "factor of the values").number().more_than(0).or_default(1.0).positional())
      .note("Glorot and Bengio 2010, equation 16.");
}

Option mean_option() { return Option("mean", "the mean").number().or_default(0.0); }
Option std_option() {
  return Option("std", "the standard deviation").number().more_than(0).or_default(0.02).positional();
}

void add(Registry& registry, Entry entry, Initializer (*make)(const Options&, const Shape&)) {
  registry.add(std::move(entry), InitFactory(make));
}

}  // namespace

void register_init_entries(Registry& registry) {
  add(registry, Entry("init.zeros", "init", "All zeros.").example("init.zeros()"),
      [](const Options&, const Shape&) { return constant(0); });
  add(registry, Entry("init.ones", "init", "All ones.").example("init.ones()"),
      [](const Options&, const Shape&) { return constant(1); });
  add(registry,
      Entry("init.constant", "init", "Sets every element to one value.")
          .with(Option("value", "the value").number().required().positional())
          .example("init.constant(0.1)"),
      [](const Options& options, const Shape&) { return constant(options.number("value")); });
  add(registry,
      Entry("init.normal", "init", "Normal draws.").with(std_option()).with(mean_option()).example("init.normal(0.02)"),
      [](const Options& options, const Shape&) { return normal(options.number("mean"), options.number("std")); });
  add(registry,
      Entry("init.uniform", "init", "Uniform draws of low ≤ value < high.")
          .with(Option("low", "smallest value").number().or_default(0.0).positional())
          .with(Option("high", "upper end, not included").number().or_default(1.0).positional())
          .example("init.uniform(-0.1, 0.1)"),
      [](const Options& options, const Shape&) {
        if (options.number("low") >= options.number("high")) {
          throw options.error("high", "expected more than low = " + number_text(options.number("low")) + ", found " +
                                          number_text(options.number("high")));
        }
        return uniform(options.number("low"), options.number("high"));
      });
  add(registry,
      Entry("init.truncated_normal", "init", "Normal draws; values outside low … high are drawn again.")
          .with(std_option())
          .with(mean_option())
          .with(Option("low", "smallest value").number().or_default(-2.0))
          .with(Option("high", "largest value").number().or_default(2.0))
          .example("init.truncated_normal(0.02)"),
      [](const Options& options, const Shape&) {
        const double mean = options.number("mean"), deviation = options.number("std");
        const double low = options.number("low"), high = options.number("high");
        // Within four deviations of the mean at least one draw in some thousand is kept.
        if (low >= high || low > mean + 4 * deviation || high < mean - 4 * deviation || high - low < 1e-3 * deviation) {
          throw options.error("low", "expected low … high to hold part of the draws, found " + number_text(low) +
                                         " … " + number_text(high) + " for mean " + number_text(mean) + " and std " +
                                         number_text(deviation));
        }
        return truncated_normal(mean, deviation, low, high);
      });
  add(registry,
      kaiming("init.kaiming_normal", "Normal draws with standard deviation gain/√fan.")
          .example("init.kaiming_normal()"),
      [](const Options& options, const Shape& shape) { return normal(0, kaiming_deviation(options, shape)); });
  add(registry,
      kaiming("init.kaiming_uniform", "Uniform draws with standard deviation gain/√fan.")
          .example("init.kaiming_uniform { nonlinearity = \"linear\" }"),
      [](const Options& options, const Shape& shape) {
        const double bound = std::sqrt(3.0) * kaiming_deviation(options, shape);
        return uniform(-bound, bound);
      });
  add(registry,
      xavier("init.xavier_normal", "Normal draws with standard deviation gain·√(2/(fan_in + fan_out)).")
          .example("init.xavier_normal()"),
      [](const Options& options, const Shape& shape) { return normal(0, xavier_deviation(options, shape)); });
  add(registry,
      xavier("init.xavier_uniform", "Uniform draws with standard deviation gain·√(2/(fan_in + fan_out)).")
          .example("init.xavier_uniform()"),
      [](const Options& options, const Shape& shape) {
        const double bound = std::sqrt(3.0) * xavier_deviation(options, shape);
        return uniform(-bound, bound);
      });
  add(registry,
      Entry("init.orthogonal", "init", "A random orthogonal matrix: rows or columns of unit length at right angles.")
          .with(Option("gain", "factor of the values").number().more_than(0).or_default(1.0).positional())
          .example("init.orthogonal()")
          .note("A weight of more than two axes counts as a matrix [first axis, all other axes]. Saxe et al. 2013."),
      [](const Options& options, const Shape& shape) {
        fans_of(options, shape);
        return orthogonal(options.number("gain"));
      });
}

}  // namespace trainlab

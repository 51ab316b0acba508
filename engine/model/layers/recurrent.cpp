// nn.LSTM, nn.GRU and nn.RNN: recurrent layers over [length, features].
#include <ATen/core/grad_mode.h>
#include <ATen/ops/concat.h>
#include <ATen/ops/gru.h>
#include <ATen/ops/lstm.h>
#include <ATen/ops/rnn_relu.h>
#include <ATen/ops/rnn_tanh.h>
#include <ATen/ops/zeros.h>

#include "dropout.h"
#include "init.h"
#include "model/layer.h"
#include "tensor/no_torch_warnings.h"

namespace trainlab {

namespace {

enum class Cell { lstm, gru, plain };

template <Cell cell>
class Recurrent final : public Layer {
 public:
  Recurrent(const Options& options, LayerContext& context)
      : size_(options.integer("hidden_size")),
        layers_(options.integer("num_layers")),
        directions_(options.boolean("bidirectional") ? 2 : 1),
        bias_(options.boolean("bias")),
        last_(options.string("output") == "last"),
        relu_(cell == Cell::plain && options.string("nonlinearity") == "relu"),
        input_needs_gradient_(context.input_needs_gradient()) {
    const Shape& input = context.input();
    if (input.size() != 2) throw context.shape_error("an input of [length, features]");
    length_ = input[0];
    if (length_ < 1 || input[1] < 1) throw context.shape_error("an input of at least one step and one feature");
    output = last_ ? Shape{directions_ * size_} : Shape{length_, directions_ * size_};
    for (std::int64_t layer = 0; layer < layers_; ++layer) {
      drops_.emplace_back(options.number("dropout"), context, "dropout" + std::to_string(layer));
      const std::int64_t in = layer == 0 ? input[1] : directions_ * size_;
      for (std::int64_t direction = 0; direction < directions_; ++direction) {
        const std::string end = "_l" + std::to_string(layer) + (direction > 0 ? "_reverse" : "");
        const Initializer start = uniform_by_fan_in(size_);
        slots_.push_back(context.parameter("weight_ih" + end, {gates * size_, in}, start));
        slots_.push_back(context.parameter("weight_hh" + end, {gates * size_, size_}, start));
        if (!bias_) continue;
        slots_.push_back(context.parameter("bias_ih" + end, {gates * size_}, start, false));
        slots_.push_back(context.parameter("bias_hh" + end, {gates * size_}, start, false));
      }
      const double inputs = 2.0 * static_cast<double>(length_ * directions_ * gates * size_) * static_cast<double>(in);
      const double states = inputs / static_cast<double>(in) * static_cast<double>(size_);
      flops_.forward += inputs + states;
      flops_.backward += 2 * (inputs + states);
      if (layer == 0 && !input_needs_gradient_) flops_.backward -= inputs;
    }
  }

  at::Tensor forward(const at::Tensor& x, const Pass& pass) const override {
    std::vector<at::Tensor> weights;
    for (const std::size_t slot : slots_) weights.push_back(pass.weight(slot));
    if (layers_ == 1 || !drops_[0].acts(pass)) return run(pass.operand(x), weights, layers_);
    // The operator's dropout between its layers draws from the global generator: layer by layer with our own.
    const std::size_t each = weights.size() / static_cast<std::size_t>(layers_);
    at::Tensor y = pass.operand(x);
    for (std::int64_t layer = 0; layer < layers_; ++layer) {
      const auto begin = weights.begin() + static_cast<std::ptrdiff_t>(each) * layer;
      const bool is_last = layer + 1 == layers_;
      y = run(y, {begin, begin + static_cast<std::ptrdiff_t>(each)}, 1, is_last);
      if (!is_last) y = drops_[static_cast<std::size_t>(layer)](y, pass);
    }
    return y;
  }

  // The operators take no member axis, and steps of matrix products that have one are slower than the operators in
  // stacks of less than eight members (tools/bench/figures/bench_stacks.cpp).
  bool stackable() const override { return false; }
  Flops flops() const override { return flops_; }

  // Estimate: the input of each layer, its gates before and after their functions, and its states.
  void count_kept(KeptMemory& memory) const override {
    memory.keep_current();
    const double states = static_cast<double>(length_ * directions_ * size_);
    const double each = (cell == Cell::lstm ? 4 + 1 + 1 : cell == Cell::gru ? 4 + 1 : 1 + 1) * states;
    memory.extra_bytes(each * static_cast<double>(layers_) * memory.element_bytes());
    memory.produce(output);
  }

 private:
  static constexpr std::int64_t gates = cell == Cell::lstm ? 4 : cell == Cell::gru ? 3 : 1;

  // x: [B, length, …] → the sequence [B, length, directions·size], or the last states [B, directions·size] where these
  // are asked for and this is the end.
  at::Tensor run(const at::Tensor& x, const std::vector<at::Tensor>& weights, std::int64_t layers,
                 bool end = true) const {
    // cuDNN can compute gradients only where it was told that it trains; with a dropout of 0, nothing else depends on
    // it.
    const bool trains = at::GradMode::is_enabled();
    // cuDNN copies weights that do not lie one behind the other, and LibTorch says so each time.
    const NoTorchWarnings quiet;
    const at::Tensor zero = at::zeros({layers * directions_, x.size(0), size_}, x.options());
    at::Tensor sequence, state;
    if constexpr (cell == Cell::lstm) {
      const std::array start = {zero, zero};
      std::tie(sequence, state, std::ignore) =
          at::lstm(x, start, weights, bias_, layers, 0.0, trains, directions_ == 2, true);
    } else if constexpr (cell == Cell::plain) {
      std::tie(sequence, state) =
          relu_ ? at::rnn_relu(x, zero, weights, bias_, layers, 0.0, trains, directions_ == 2, true)
                : at::rnn_tanh(x, zero, weights, bias_, layers, 0.0, trains, directions_ == 2, true);
    } else {
      std::tie(sequence, state) = at::gru(x, zero, weights, bias_, layers, 0.0, trains, directions_ == 2, true);
    }
    if (!end || !last_) return sequence;
    if (directions_ == 1) return state.select(0, layers - 1);
    return at::concat({state.select(0, 2 * layers - 2), state.select(0, 2 * layers - 1)}, -1);
  }

  std::int64_t size_, layers_, directions_;
  bool bias_, last_, relu_, input_needs_gradient_;
  std::int64_t length_ = 0;
  std::vector<KeyedDropout> drops_;  // after each layer but the last
  std::vector<std::size_t> slots_;
  Flops flops_;
};

Entry recurrent(std::string name, std::string doc) {
  return Entry(std::move(name), "layer", std::move(doc))
      .with(Option("hidden_size", "number of features of the state").integer().at_least(1).positional().required())
      .with(Option("num_layers", "number of layers; each layer reads the states of the layer before")
                .integer()
                .at_least(1)
                .at_most(1000)
                .or_default(1))
      .with(Option("bidirectional",
                   "a second pass reads the sequence backwards; the states of both directions are joined")
                .boolean()
                .or_default(false))
      .with(Option("output",
                   "\"sequence\": the states of all steps, [length, hidden_size]; \"last\": the state of the last "
                   "step, [hidden_size]")
                .choice({"sequence", "last"})
                .or_default("sequence"))
      .with(dropout_option("dropout", "probability that a state is zeroed between layers in training").or_default(0.0))
      .with(Option("bias", "adds learned biases").boolean().or_default(true));
}

}  // namespace

void register_recurrent(Registry& registry) {
  registry.add(recurrent("nn.LSTM", "Long short-term memory over [length, features].")
                   .example("nn.LSTM(64, { num_layers = 2, output = \"last\" })")
                   .note("Weights start uniform in ±1/√hidden_size and states at 0, as PyTorch's do. The last state of "
                         "the backward direction is its state at the first step. Hochreiter and Schmidhuber 1997."),
               layer_kind<Recurrent<Cell::lstm>>({.width = "hidden_size"}));
  registry.add(recurrent("nn.GRU", "Gated recurrent units over [length, features].")
                   .example("nn.GRU(64, { bidirectional = true })")
                   .note("Weights start uniform in ±1/√hidden_size and states at 0, as PyTorch's do. Cho et al. 2014."),
               layer_kind<Recurrent<Cell::gru>>({.width = "hidden_size"}));
  registry.add(recurrent("nn.RNN", "A plain recurrent layer over [length, features]: h ← f(W·x + b + U·h + c).")
                   .with(Option("nonlinearity", "the function f").choice({"tanh", "relu"}).or_default("tanh"))
                   .example("nn.RNN(64, { nonlinearity = \"relu\" })")
                   .note("Weights start uniform in ±1/√hidden_size and states at 0, as PyTorch's do. Elman 1990."),
               layer_kind<Recurrent<Cell::plain>>({.width = "hidden_size"}));
}

}  // namespace trainlab

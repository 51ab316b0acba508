// nn.LSTMCell, nn.GRUCell and nn.RNNCell: one step of a recurrent layer.
#include <ATen/ops/concat.h>
#include <ATen/ops/gru_cell.h>
#include <ATen/ops/lstm_cell.h>
#include <ATen/ops/rnn_relu_cell.h>
#include <ATen/ops/rnn_tanh_cell.h>
#include <ATen/ops/zeros.h>

#include <array>
#include <optional>

#include "init.h"
#include "model/layer.h"

namespace trainlab {

namespace {

enum class Step { lstm, gru, plain };

template <Step step>
class RecurrentCell final : public Layer {
 public:
  RecurrentCell(const Options& options, LayerContext& context)
      : size_(options.integer("hidden_size")),
        gives_cell_(step == Step::lstm && options.string("output") == "state"),
        relu_(step == Step::plain && options.string("nonlinearity") == "relu") {
    const Shape& input = context.input();
    if (input.size() != 1 || input[0] < 1) throw context.shape_error("an input of [features], one step");
    output = {gives_cell_ ? 2 * size_ : size_};
    bool state_needs_gradient = false;
    if (options.given("state")) {
      const auto [source, signal] = context.named(options.string("state"));
      const Shape wanted = {step == Step::lstm ? 2 * size_ : size_};
      if (signal.integers || signal.shape != wanted) {
        throw context.error("expected the state \"" + options.string("state") + "\" to be floating-point numbers of " +
                            shape_text(wanted) + ", found " + (signal.integers ? "integers of " : "") +
                            shape_text(signal.shape));
      }
      state_ = source;
      state_needs_gradient = signal.needs_gradient;
    }
    const Initializer start = uniform_by_fan_in(size_);
    weights_ = {context.parameter("weight_ih", {gates * size_, input[0]}, start),
                context.parameter("weight_hh", {gates * size_, size_}, start)};
    if (options.boolean("bias")) {
      biases_ = {context.parameter("bias_ih", {gates * size_}, start, false),
                 context.parameter("bias_hh", {gates * size_}, start, false)};
    }
    const double inputs = 2.0 * static_cast<double>(gates * size_ * input[0]);
    const double states = 2.0 * static_cast<double>(gates * size_ * size_);
    flops_.forward = inputs + states;
    flops_.backward = (context.input_needs_gradient() ? 2 : 1) * inputs + (state_needs_gradient ? 2 : 1) * states;
  }

  at::Tensor forward(const at::Tensor& x, const Pass& pass) const override {
    const auto bias = [&](std::size_t i) {
      return biases_ ? std::optional<at::Tensor>(pass.weight((*biases_)[i])) : std::nullopt;
    };
    const at::Tensor in = pass.operand(x), inputs = pass.weight(weights_[0]), states = pass.weight(weights_[1]);
    const at::Tensor given = state_ ? pass.operand(pass.named(*state_)) : at::Tensor();
    const auto part = [&](std::int64_t i) {
      return given.defined() ? given.narrow(1, i * size_, size_) : at::zeros({in.size(0), size_}, in.options());
    };
    const at::Tensor hidden = part(0);
    if constexpr (step == Step::lstm) {
      const std::array<at::Tensor, 2> before = {hidden, part(1)};
      const auto [now, cell] = at::lstm_cell(in, before, inputs, states, bias(0), bias(1));
      return gives_cell_ ? at::concat({now, cell}, 1) : now;
    } else if constexpr (step == Step::gru) {
      return at::gru_cell(in, hidden, inputs, states, bias(0), bias(1));
    } else {
      return relu_ ? at::rnn_relu_cell(in, hidden, inputs, states, bias(0), bias(1))
                   : at::rnn_tanh_cell(in, hidden, inputs, states, bias(0), bias(1));
    }
  }

  bool stackable() const override { return false; }  // the operators take no member axis
  Flops flops() const override { return flops_; }

  // Estimate: the input, the gates, and the states before and after.
  void count_kept(KeptMemory& memory) const override {
    memory.keep_current();
    const std::int64_t kept = (step == Step::lstm ? 4 + 2 : step == Step::gru ? 4 + 1 : 1 + 1) * size_;
    memory.extra_bytes(static_cast<double>(kept) * memory.element_bytes());
    memory.produce(output);
  }

 private:
  static constexpr std::int64_t gates = step == Step::lstm ? 4 : step == Step::gru ? 3 : 1;

  std::int64_t size_;
  bool gives_cell_, relu_;
  std::optional<Source> state_;
  std::array<std::size_t, 2> weights_ = {};
  std::optional<std::array<std::size_t, 2>> biases_;
  Flops flops_;
};

Entry cell_entry(std::string name, std::string doc, const std::string& state) {
  return Entry(std::move(name), "layer", std::move(doc))
      .with(Option("hidden_size", "number of features of the state").integer().at_least(1).positional().required())
      .with(Option("state",
                   "name of the column or nn.Branch with the state before the step, " + state + " (default: zeros)")
                .string())
      .with(Option("bias", "adds learned biases").boolean().or_default(true));
}

}  // namespace

void register_recurrent_cell(Registry& registry) {
  const std::string sources = "Weights start uniform in ±1/√hidden_size, as PyTorch's do.";
  registry.add(cell_entry("nn.LSTMCell", "One step of nn.LSTM: [features] becomes [hidden_size].",
                          "[2·hidden_size], h and after it c")
                   .with(Option("output", "\"hidden\": h, [hidden_size]; \"state\": h and after it c, [2·hidden_size]")
                             .choice({"hidden", "state"})
                             .or_default("hidden"))
                   .example("nn.LSTMCell(64, { state = \"state\", output = \"state\" })")
                   .note("For loops written by hand: lab.build(nn.LSTMCell(64, { state = \"s\", output = \"state\" }), "
                         "{ input = { x = { 8 }, s = { 128 } } }):forward(x, s). " +
                         sources),
               layer_kind<RecurrentCell<Step::lstm>>({.width = "hidden_size"}));
  registry.add(cell_entry("nn.GRUCell", "One step of nn.GRU: [features] becomes [hidden_size].", "[hidden_size]")
                   .example("nn.GRUCell(64, { state = \"h\" })")
                   .note(sources),
               layer_kind<RecurrentCell<Step::gru>>({.width = "hidden_size"}));
  registry.add(cell_entry("nn.RNNCell", "One step of nn.RNN: [features] becomes [hidden_size].", "[hidden_size]")
                   .with(Option("nonlinearity", "the function of a step").choice({"tanh", "relu"}).or_default("tanh"))
                   .example("nn.RNNCell(64, { state = \"h\" })")
                   .note(sources),
               layer_kind<RecurrentCell<Step::plain>>({.width = "hidden_size"}));
}

}  // namespace trainlab

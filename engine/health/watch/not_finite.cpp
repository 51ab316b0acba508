#include "not_finite.h"

#include <ATen/ops/isfinite.h>
#include <fmt/format.h>

#include "model/layer_listener.h"

namespace trainlab {
namespace {

std::int64_t lost_values(const at::Tensor& tensor) {
  if (!tensor.defined() || !tensor.is_floating_point()) return 0;
  return tensor.numel() - at::isfinite(tensor.detach()).sum().item<std::int64_t>();
}

// Finds the first layer, in the order of the forward pass, whose output is not finite.
class FirstLost final : public LayerListener {
 public:
  FirstLost() : before_(listen_to_layers(this)) {}
  ~FirstLost() { listen_to_layers(before_); }

  void passed(const Layer& layer, const at::Tensor& input, const at::Tensor& output, const Pass&) override {
    if (is_found() || !layer.children().empty()) return;
    const std::int64_t lost = lost_values(output);
    if (lost == 0) return;
    path = layer.path;
    lost_inputs = lost_values(input);
    inputs = input.defined() ? input.numel() : 0;
    lost_outputs = lost;
    outputs = output.numel();
  }
  bool is_found() const { return outputs > 0; }

  std::string path;
  std::int64_t lost_inputs = 0, inputs = 0, lost_outputs = 0, outputs = 0;

 private:
  LayerListener* before_;
};

}  // namespace

NotFinite find_origin(const StepFacts& facts, std::span<const std::string> names) {
  FirstLost first;
  (*facts.repeat_forward)();
  NotFinite lost{.step = facts.step, .origin = "loss", .path = first.path, .text = "the loss is not finite"};
  if (first.lost_inputs > 0) {
    lost.origin = "input";
    lost.text = fmt::format("{} of {} values of the batch", first.lost_inputs, first.inputs);
    return lost;
  }
  if (!first.is_found()) return lost;
  lost.origin = "layer";
  lost.text = fmt::format("{} of {} outputs of a layer are not finite, while its inputs and all weights are",
                          first.lost_outputs, first.outputs);
  for (std::size_t i = 0; i < facts.weights.size() && i < names.size(); ++i) {
    if (lost_values(facts.weights[i]) == 0) continue;
    lost.origin = "weights";
    lost.text =
        fmt::format("the weights {} are not finite since the previous step, whose gradients were not finite", names[i]);
    break;
  }
  return lost;
}

}  // namespace trainlab

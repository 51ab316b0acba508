#include "not_finite.h"

#include <ATen/ops/abs.h>
#include <ATen/ops/isfinite.h>
#include <ATen/ops/masked_select.h>
#include <ATen/ops/max.h>
#include <ATen/ops/median.h>
#include <fmt/format.h>

#include "model/layer_listener.h"

namespace trainlab {
namespace {

std::int64_t lost_values(const at::Tensor& tensor) {
  if (!tensor.defined() || !tensor.is_floating_point()) return 0;
  return tensor.numel() - at::isfinite(tensor.detach()).sum().item<std::int64_t>();
}

// Values of a batch are enormous where they are this many times as large as the median of its values that are not 0.
// Numbers that stand for missing values are (1e20, or the largest number of the type); columns in different units, such
// as a share and a time in seconds since 1970, are not.
constexpr double enormous = 1e12;

// Finds the layer that gets the batch, and the first layer, in the order of the forward pass, whose output is not
// finite.
class FirstLost final : public LayerListener {
 public:
  FirstLost() : before_(listen_to_layers(this)) {}
  ~FirstLost() { listen_to_layers(before_); }

  void passed(const Layer& layer, const at::Tensor& input, const at::Tensor& output, const Pass&) override {
    if (is_found() || !layer.children().empty()) return;
    if (!batch.defined() && input.defined() && input.is_floating_point()) {
      batch = input.detach();
      first_path = layer.path;
    }
    const std::int64_t lost = lost_values(output);
    if (lost == 0) return;
    path = layer.path;
    lost_inputs = lost_values(input);
    inputs = input.defined() ? input.numel() : 0;
    lost_outputs = lost;
    outputs = output.numel();
  }
  bool is_found() const { return outputs > 0; }

  at::Tensor batch;
  std::string first_path;
  std::string path;
  std::int64_t lost_inputs = 0, inputs = 0, lost_outputs = 0, outputs = 0;

 private:
  LayerListener* before_;
};

// Whether the batch has enormous values.
std::optional<NotFinite> outliers_of(const FirstLost& first, std::int64_t step) {
  if (!first.batch.defined() || first.batch.numel() == 0) return std::nullopt;
  const at::Tensor sizes = first.batch.abs();
  const auto largest = sizes.max().item<double>();
  const at::Tensor others = sizes.masked_select(sizes.gt(0));
  const double usual = others.numel() > 0 ? others.median().item<double>() : 0;
  if (!(largest > enormous * usual)) return std::nullopt;
  return NotFinite{.step = step,
                   .origin = "input",
                   .path = first.first_path,
                   .text = fmt::format("values of the batch go up to {:.2g}, where {:.2g} is usual", largest, usual)};
}

}  // namespace

std::optional<NotFinite> find_outliers(const StepFacts& facts) {
  const FirstLost first;
  (*facts.repeat_forward)();
  return outliers_of(first, facts.step);
}

NotFinite find_origin(const StepFacts& facts, std::span<const std::string> names) {
  FirstLost first;
  (*facts.repeat_forward)();
  NotFinite lost{.step = facts.step, .origin = "loss", .path = first.path, .text = "the loss is not finite"};
  if (first.lost_inputs > 0) {
    lost.origin = "input";
    lost.text = fmt::format("{} of {} values of the batch are not finite", first.lost_inputs, first.inputs);
    return lost;
  }
  if (std::optional<NotFinite> outliers = outliers_of(first, facts.step)) return *std::move(outliers);
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

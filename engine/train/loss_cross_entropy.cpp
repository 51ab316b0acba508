// Cross-entropy of class scores (logits) and labels: PyTorch's definition, on at::cross_entropy_loss.
#include <ATen/core/Reduction.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/tensor.h>

#include "head.h"
#include "losses.h"

namespace trainlab {

namespace {

class CrossEntropy final : public Loss {
 public:
  CrossEntropy(double smoothing, at::Tensor weight) : smoothing_(smoothing), weight_(std::move(weight)) {}

  LossValue operator()(const at::Tensor& out, const at::Tensor& target, std::int64_t members) const override {
    if (members == 0) {
      const at::Tensor value = entropy(out, target, at::Reduction::Mean);
      if (!weight_.defined()) return {value, {}};
      return {value, weight_.index_select(0, target).sum()};
    }
    // All members in one call over M·B rows, then a sum for each.
    const std::int64_t batch = out.size(1);
    const at::Tensor labels = (target.dim() == 1 ? target.expand({members, batch}) : target).reshape({members * batch});
    const at::Tensor each = entropy(out.flatten(0, 1), labels, at::Reduction::None).view({members, batch});
    if (!weight_.defined()) return {each.mean(1), {}};
    const at::Tensor total = weight_.index_select(0, labels).view({members, batch}).sum(1);
    return {each.sum(1).div(total), total};
  }

 private:
  at::Tensor entropy(const at::Tensor& out, const at::Tensor& target, at::Reduction::Reduction reduction) const {
    constexpr std::int64_t no_label_is_ignored = -100;
    return at::cross_entropy_loss(out, target, weight_, reduction, no_label_is_ignored, smoothing_);
  }

  double smoothing_;
  at::Tensor weight_;  // [C] or undefined
};

std::unique_ptr<Loss> make_cross_entropy(const Options& options, const Head& head) {
  require_class_scores(options, head);
  at::Tensor weight;
  if (options.has("weight")) {
    const std::vector<double> values = options.numbers("weight");
    const auto classes = static_cast<std::size_t>(head.output[0]);
    if (values.size() != classes) {
      throw options.error("weight", "expected " + std::to_string(classes) + " numbers, one per class, found " +
                                        std::to_string(values.size()));
    }
    double sum = 0;
    for (const double value : values) sum += value;
    if (!(sum > 0)) throw options.error("weight", "expected at least one class with a weight above 0");
    weight = at::tensor(values, at::TensorOptions().dtype(at::kDouble)).to(head.device, head.float_type);
  }
  return std::make_unique<CrossEntropy>(options.number("label_smoothing"), std::move(weight));
}

}  // namespace

void register_cross_entropy(Registry& registry) {
  registry.add(Entry("loss.cross_entropy", "loss", "Cross-entropy of one score (logit) per class and the label.")
                   .with(Option("label_smoothing", "share of the target that is spread evenly over all classes")
                             .number()
                             .at_least(0)
                             .less_than(1)
                             .or_default(0.0))
                   .with(Option("weight", "a weight per class; the mean is then divided by the weights of the labels")
                             .number()
                             .at_least(0)
                             .many())
                   .example("loss.cross_entropy { label_smoothing = 0.1 }")
                   .note("Equals torch.nn.CrossEntropyLoss with reduction \"mean\". The model ends with as many "
                         "outputs as the data has classes, without a softmax."),
               LossFactory{make_cross_entropy});
}

}  // namespace trainlab

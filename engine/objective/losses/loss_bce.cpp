// Binary cross-entropy of logits.
#include <ATen/core/Reduction.h>
#include <ATen/ops/binary_cross_entropy_with_logits.h>
#include <ATen/ops/tensor.h>

#include "mean.h"
#include "objective/head.h"
#include "objective/losses.h"

namespace trainlab {

namespace {

class BinaryCrossEntropy final : public Loss {
 public:
  BinaryCrossEntropy(const Head& head, double smoothing, at::Tensor pos_weight)
      : target_column_(head.target_column),
        mixes_labels_(head.mixes_labels),
        smoothing_(smoothing),
        pos_weight_(std::move(pos_weight)),
        mean_(head) {}

  LossValue operator()(const at::Tensor& out, const BatchView& batch) const override {
    at::Tensor wanted = target_like(out, share_of_one(mixes_labels_, batch.columns[target_column_]));
    if (smoothing_ > 0) wanted = wanted.mul(1 - smoothing_).add(smoothing_ / 2);
    if (mean_.plain(batch)) return {{entropy(out, wanted, at::Reduction::Mean), {}}};
    return mean_(entropy(out, wanted, at::Reduction::None), batch);
  }

 private:
  at::Tensor entropy(const at::Tensor& out, const at::Tensor& target, at::Reduction::Reduction reduction) const {
    return at::binary_cross_entropy_with_logits(out, target, /*weight=*/{}, pos_weight_, reduction);
  }

  std::size_t target_column_;
  bool mixes_labels_;
  double smoothing_;
  at::Tensor pos_weight_;  // broadcast over one sample's outputs, or undefined
  SampleMean mean_;
};

std::unique_ptr<Loss> make_bce(const Options& options, const Head& y_head) {
  const Head head = with_target(options, y_head);
  // Several logits per sample are as many questions of yes or no, each with a target of its own.
  const bool several = head.classes == 0 && head.output == head.target && element_count(head.output) > 1;
  if (!several) require_binary(options, head);
  at::Tensor pos_weight;
  if (options.has("pos_weight")) {
    const std::vector<double> values = options.numbers("pos_weight");
    const auto outputs = static_cast<std::size_t>(head.output[0]);
    if (values.size() != 1 && (values.size() != outputs || head.output.size() > 1)) {
      throw options.error("pos_weight",
                          "expected a number" +
                              (head.output.size() == 1 ? " or " + std::to_string(outputs) + " of them, one per output"
                                                       : std::string()) +
                              ", found " + std::to_string(values.size()));
    }
    pos_weight = at::tensor(values, at::TensorOptions().dtype(at::kDouble)).to(head.device, head.float_type);
  }
  return std::make_unique<BinaryCrossEntropy>(head, options.number("label_smoothing"), std::move(pos_weight));
}

}  // namespace

void register_loss_bce(Registry& registry) {
  registry.add(
      loss_entry("bce_with_logits", "Binary cross-entropy of one logit per question and a target of 0 or 1.")
          .with(Option("label_smoothing", "share of the target that is spread evenly over 0 and 1")
                    .number()
                    .at_least(0)
                    .less_than(1)
                    .or_default(0.0))
          .with(Option("pos_weight",
                       "weight of targets that are 1: a number for all outputs, or a number for each output")
                    .number()
                    .more_than(0)
                    .many())
          .example("loss.bce_with_logits { pos_weight = 3 }")
          .note("Equals torch.nn.BCEWithLogitsLoss with reduction \"mean\". The model ends with nn.Linear(1) and no "
                "sigmoid; the target is a label of two "
                "classes or a number from 0 to 1, of shape [] or [1]; of shape [H, W] with outputs [1, H, W]. With k "
                "outputs the target has k numbers, or any shape that outputs and targets share."),
      LossKind{.make = make_bce, .applies = "sigmoid", .is_never_negative = true});
}

}  // namespace trainlab

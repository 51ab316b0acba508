// Binary cross-entropy of logits.
#include <ATen/core/Reduction.h>
#include <ATen/ops/binary_cross_entropy_with_logits.h>
#include <ATen/ops/tensor.h>

#include "head.h"
#include "losses.h"

namespace trainlab {

namespace {

class BinaryCrossEntropy final : public Loss {
 public:
  explicit BinaryCrossEntropy(at::Tensor pos_weight) : pos_weight_(std::move(pos_weight)) {}

  LossValue operator()(const at::Tensor& out, const at::Tensor& target, std::int64_t members) const override {
    const at::Tensor wanted = target_like(out, target);
    if (members == 0) return {entropy(out, wanted, at::Reduction::Mean), {}};
    return {entropy(out, wanted, at::Reduction::None).flatten(1).mean(1), {}};
  }

 private:
  at::Tensor entropy(const at::Tensor& out, const at::Tensor& target, at::Reduction::Reduction reduction) const {
    return at::binary_cross_entropy_with_logits(out, target, /*weight=*/{}, pos_weight_, reduction);
  }

  at::Tensor pos_weight_;  // broadcast over one sample's outputs, or undefined
};

std::unique_ptr<Loss> make_bce(const Options& options, const Head& head) {
  // Several logits per sample are as many questions of yes or no, each with a target of its own.
  const bool several = head.classes == 0 && head.output.size() == 1 && head.output[0] > 1 && head.output == head.target;
  if (!several) require_binary(options, head);
  at::Tensor pos_weight;
  if (options.has("pos_weight")) {
    const std::vector<double> values = options.numbers("pos_weight");
    const auto outputs = static_cast<std::size_t>(head.output[0]);
    if (values.size() != 1 && values.size() != outputs) {
      throw options.error("pos_weight", "expected a number or " + std::to_string(outputs) +
                                            " of them, one per output, found " + std::to_string(values.size()));
    }
    pos_weight = at::tensor(values, at::TensorOptions().dtype(at::kDouble)).to(head.device, head.float_type);
  }
  return std::make_unique<BinaryCrossEntropy>(std::move(pos_weight));
}

}  // namespace

void register_bce(Registry& registry) {
  registry.add(
      Entry("loss.bce_with_logits", "loss", "Binary cross-entropy of one logit per question and a target of 0 or 1.")
          .with(Option("pos_weight", "weight of the targets of 1, one for all outputs or one per output")
                    .number()
                    .more_than(0)
                    .many())
          .example("loss.bce_with_logits { pos_weight = 3 }")
          .note("Equals torch.nn.BCEWithLogitsLoss with reduction \"mean\". The model ends with nn.Linear(1) and no "
                "sigmoid; the target is a label of two "
                "classes or a number from 0 to 1, of shape [] or [1]. With k outputs the target has k numbers."),
      LossFactory{make_bce});
}

}  // namespace trainlab

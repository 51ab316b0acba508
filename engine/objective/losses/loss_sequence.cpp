// Losses of distributions and of sequences without alignment: KL divergence, CTC.
#include <ATen/core/Reduction.h>
#include <ATen/ops/ctc_loss.h>
#include <ATen/ops/full.h>
#include <ATen/ops/kl_div.h>
#include <ATen/ops/log_softmax.h>

#include "mean.h"
#include "objective/head.h"
#include "objective/losses.h"

namespace trainlab {

namespace {

class KlDivergence final : public Loss {
 public:
  KlDivergence(const Options& options, const Head& head)
      : target_column_(head.target_column), log_target_(options.boolean("log_target")), mean_(head) {
    if (head.classes > 0 || head.output != head.target || head.output.empty()) {
      throw head_error(options, "distributions as targets, shaped like the output", head,
                       head.classes > 0 ? "for class labels use \"nll\" or \"cross_entropy\"" : "");
    }
  }

  LossValue operator()(const at::Tensor& out, const BatchView& batch) const override {
    const at::Tensor wanted = target_like(out, batch.columns[target_column_]);
    const at::Tensor each = at::kl_div(out, wanted, at::Reduction::None, log_target_);
    return mean_(each.flatten(batch.members > 0 ? 2 : 1).sum(-1), batch);
  }

 private:
  std::size_t target_column_;
  bool log_target_;
  SampleMean mean_;
};

// Graves et al., "Connectionist temporal classification" (2006).
class Ctc final : public Loss {
 public:
  Ctc(const Options& options, const Head& head)
      : target_column_(head.target_column),
        blank_(options.integer("blank")),
        zero_infinity_(options.boolean("zero_infinity")),
        mean_(head) {
    if (head.output.size() != 2 || head.target.size() != 1 || head.target_type != at::kLong) {
      throw head_error(options, "scores of shape [T, C] and labels of shape [S] (int64)", head, "");
    }
    if (blank_ >= head.output[1]) {
      throw options.error(
          "blank", "expected a class below " + std::to_string(head.output[1]) + ", found " + std::to_string(blank_));
    }
    if (options.given("lengths")) lengths_column_ = column_of(options, "lengths", head, options.string("lengths"));
  }

  LossValue operator()(const at::Tensor& out, const BatchView& batch) const override {
    const at::Tensor scores = batch.members > 0 ? out.flatten(0, 1) : out;  // [N, T, C]
    const at::Tensor logs = at::log_softmax(scores, -1).transpose(0, 1);
    const at::Tensor labels = over_members(batch.columns[target_column_], batch, 1);  // [N, S]
    // LibTorch reads past the scores for a label that is no class.
    if (labels.lt(0).logical_or(labels.ge(scores.size(2))).any().item<bool>()) {
      throw recipe_error("ctc: expected labels from 0 to " + std::to_string(scores.size(2) - 1) + ", found one from " +
                         std::to_string(labels.min().item<std::int64_t>()) + " to " +
                         std::to_string(labels.max().item<std::int64_t>()));
    }
    const at::Tensor target_lengths = labels.ne(blank_).sum(-1);
    const at::Tensor input_lengths =
        lengths_column_ ? over_members(batch.columns[*lengths_column_], batch, 0).to(at::kLong).reshape({-1})
                        : at::full({scores.size(0)}, scores.size(1), labels.options());
    const at::Tensor each =
        at::ctc_loss(logs, labels, input_lengths, target_lengths, blank_, at::Reduction::None, zero_infinity_);
    return mean_(each.div(target_lengths.clamp_min(1)), batch);
  }

 private:
  // A column [B, …] or [M, B, …] with `rank` axes of a sample, as [M·B, …].
  static at::Tensor over_members(const at::Tensor& column, const BatchView& batch, std::int64_t rank) {
    if (batch.members == 0) return column;
    if (column.dim() >= rank + 2) return column.flatten(0, 1);
    Shape shape = column.sizes().vec();
    shape.insert(shape.begin(), batch.members);
    return column.expand(shape).flatten(0, 1);
  }

  std::size_t target_column_;
  std::optional<std::size_t> lengths_column_;
  std::int64_t blank_;
  bool zero_infinity_;
  SampleMean mean_;
};

}  // namespace

void register_loss_sequence(Registry& registry) {
  registry.add(loss_entry("kl_div", "Kullback–Leibler divergence of log-probabilities from target distributions.")
                   .with(Option("log_target", "the targets are log-probabilities too").boolean().or_default(false))
                   .example("loss.kl_div { target = \"teacher\" }")
                   .note("Equals torch.nn.KLDivLoss with reduction \"batchmean\": Σ t (log t − x), mean by sample. The "
                         "model ends with nn.LogSoftmax()."),
               loss_kind<KlDivergence>());
  registry.add(
      loss_entry("ctc", "Connectionist temporal classification: labels of a sequence without their places.")
          .with(Option("blank", "class that stands for \"no label\" and pads targets at their end")
                    .integer()
                    .at_least(0)
                    .or_default(0))
          .with(
              Option("lengths", "column with the number of steps of each sample (default: T for all samples)").string())
          .with(Option("zero_infinity",
                       "a target that is too long for its sequence counts as a loss of 0 instead of infinity")
                    .boolean()
                    .or_default(false))
          .example("loss.ctc()")
          .note("Equals torch.nn.CTCLoss with reduction \"mean\" of the scores' log-softmax: each loss divided "
                "by its target's length, mean by sample. Outputs [T, C] are scores, targets [S] labels, "
                "filled up with the blank."),
      loss_kind<Ctc>());
}

}  // namespace trainlab

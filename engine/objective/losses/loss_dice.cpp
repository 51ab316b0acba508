// Soft Dice loss of segmentations.
#include <ATen/ops/softmax.h>
#include <ATen/ops/zeros_like.h>

#include "class_scores.h"
#include "mean.h"
#include "objective/losses.h"

namespace trainlab {

namespace {

// Milletari et al., "V-Net" (2016), section 3, with probabilities and targets added plainly in the denominator.
class Dice final : public Loss {
 public:
  Dice(const Options& options, const Head& head)
      : scores_(options, head, ClassScores::Single::allowed), smooth_(options.number("smooth")), mean_(head) {
    if (head.target.size() < (has_shares(head) ? 2 : 1)) {
      throw head_error(options, "labels at several positions, targets such as [H, W]", head,
                       "for one label per sample use \"cross_entropy\"");
    }
  }

  LossValue operator()(const at::Tensor& out, const BatchView& batch) const override {
    const ClassScores::Pair pair = scores_.arrange(out, batch);
    at::Tensor probability = at::softmax(pair.scores, 1), wanted = pair.target;
    if (!pair.distribution()) {
      at::Tensor label = wanted.unsqueeze(1);
      if (scores_.ignores()) {
        const at::Tensor valid = label.ne(scores_.ignored());
        label = label.mul(valid);
        probability = probability.mul(valid);
        wanted = at::zeros_like(pair.scores).scatter(1, label, 1).mul(valid);
      } else {
        wanted = at::zeros_like(pair.scores).scatter(1, label, 1);
      }
    }
    probability = by_sample(probability, batch);
    wanted = by_sample(wanted, batch);
    const at::Tensor both = probability.mul(wanted).sum(1), all = probability.sum(1).add(wanted.sum(1));
    const at::Tensor overlap = both.mul(2).add(smooth_).div(all.add(smooth_));  // [M·B, classes]
    return mean_(overlap.mean(-1).neg().add(1), batch);
  }

 private:
  // [N, C, …] or [N·positions, C] as [M·B, positions, C]; of one logit the class 1 alone.
  at::Tensor by_sample(const at::Tensor& x, const BatchView& batch) const {
    const std::int64_t samples = batch.size * (batch.members > 0 ? batch.members : 1);
    const at::Tensor last = (x.dim() > 2 ? x.movedim(1, -1) : x).reshape({samples, -1, scores_.classes()});
    return scores_.single() ? last.narrow(-1, 1, 1) : last;
  }

  ClassScores scores_;
  double smooth_;
  SampleMean mean_;
};

}  // namespace

void register_loss_dice(Registry& registry) {
  registry.add(
      loss_entry("dice", "Dice loss: one minus the overlap of predicted and true regions.")
          .with(Option("smooth", "added to numerator and denominator").number().more_than(0).or_default(1.0))
          .with(ignore_index_option())
          .example("loss.dice()")
          .note("1 − (2 Σ p t + smooth) / (Σ p + Σ t + smooth) of each class and sample, averaged over both; p "
                "by softmax from scores [C, H, W] or [H, W, C] for labels [H, W], by sigmoid from one logit "
                "[1, H, W] (Milletari et al. 2016, but no squares in the denominator)."),
      loss_kind<Dice>({.takes_classes = true}));
}

}  // namespace trainlab

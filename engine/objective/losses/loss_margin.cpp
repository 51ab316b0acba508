// Losses of margins and angles: hinge, triplets of embeddings, cosine.
#include <ATen/ops/cdist.h>
#include <ATen/ops/cosine_embedding_loss.h>
#include <ATen/ops/eye.h>
#include <ATen/ops/ones.h>

#include "class_scores.h"
#include "mean.h"
#include "objective/losses.h"

namespace trainlab {

namespace {

// Crammer and Singer's sum over the wrong classes as PyTorch's MultiMarginLoss has it: Σ max(0, margin − s_y + s_j)^p /
// C.
class Hinge final : public Loss {
 public:
  Hinge(const Options& options, const Head& head)
      : scores_(options, head, ClassScores::Single::allowed),
        margin_(options.number("margin")),
        squared_(options.boolean("squared")),
        weight_(class_weights(options, head, scores_.classes())),
        mean_(head) {}

  LossValue operator()(const at::Tensor& out, const BatchView& batch) const override {
    const ClassScores::Pair pair = scores_.arrange(out, batch);
    at::Tensor each;
    if (pair.distribution()) {  // the cost of every class as the label, [N, C, …]
      each = cost(pair.scores.unsqueeze(1).sub(pair.scores.unsqueeze(2)), 2).mul(pair.target);
      if (weight_.defined()) each = each.mul(weight_.view(broadcast(each)));
      each = each.sum(1);
    } else {
      const at::Tensor label = pair.scores.gather(1, pair.target.unsqueeze(1));
      each = cost(pair.scores.sub(label), 1);
      if (weight_.defined()) each = each.mul(weight_.index_select(0, pair.target.flatten()).view_as(pair.target));
    }
    return mean_(each, batch);
  }

 private:
  // of_others: scores of all classes minus that of the label, along axis `dim`; the label itself adds margin^p, which
  // is taken off again. With one logit the mean is over the one other class.
  at::Tensor cost(const at::Tensor& of_others, std::int64_t dim) const {
    const at::Tensor slack = of_others.add(margin_).clamp_min(0);
    const at::Tensor sum = (squared_ ? slack.square() : slack).sum(dim).sub(squared_ ? margin_ * margin_ : margin_);
    return sum.div(scores_.single() ? 1.0 : static_cast<double>(scores_.classes()));
  }
  static Shape broadcast(const at::Tensor& each) {
    Shape shape(static_cast<std::size_t>(each.dim()), 1);
    shape[1] = -1;
    return shape;
  }

  ClassScores scores_;
  double margin_;
  bool squared_;
  at::Tensor weight_;
  SampleMean mean_;
};

// Hermans, Beyer and Leibe, "In defense of the triplet loss" (2017), section 2, "batch hard".
class Triplet final : public Loss {
 public:
  Triplet(const Options& options, const Head& head)
      : target_column_(head.target_column), margin_(options.number("margin")), mean_(head) {
    if (head.output.size() != 1 || !head.target.empty() || head.target_type != at::kLong) {
      throw head_error(options, "one embedding and one class label per sample, an output of shape [D]", head,
                       head.output.size() > 1 ? "end the model with nn.Flatten(), nn.Linear(D)" : "");
    }
    require_labels_from_0(options, head);
    if (head.mixes_labels) {
      throw options.error("", "loss.triplet compares samples of one class, found an augmentation that mixes classes")
          .hint("leave mixup and cutmix out");
    }
  }

  LossValue operator()(const at::Tensor& out, const BatchView& batch) const override {
    constexpr std::int64_t exact = 2;  // not by products, which lose the digits of small distances
    const at::Tensor distance = at::cdist(out, out, 2.0, exact);
    const at::Tensor labels = batch.columns[target_column_];
    const at::Tensor other = labels.unsqueeze(-1).ne(labels.unsqueeze(-2)).expand_as(distance);
    const at::Tensor self = at::eye(batch.size, labels.options().dtype(at::kBool));
    const at::Tensor unlike = other.logical_or(self);
    const at::Tensor valid = unlike.logical_not().any(-1).logical_and(other.any(-1));
    const at::Tensor farthest = distance.masked_fill(unlike, 0).amax(-1);
    const at::Tensor nearest = distance.masked_fill(other.logical_not(), 1e30).amin(-1);
    const at::Tensor each = farthest.sub(nearest).add(margin_).clamp_min(0).masked_fill(valid.logical_not(), 0);
    return mean_(each, valid.to(each.scalar_type()), batch);
  }
  bool is_divisible() const override { return false; }

 private:
  std::size_t target_column_;
  double margin_;
  SampleMean mean_;
};

class Cosine final : public Loss {
 public:
  Cosine(const Options& options, const Head& head) : target_column_(head.target_column), mean_(head) {
    if (head.classes > 0 || head.output.empty() || head.output != head.target) {
      throw head_error(
          options, "a vector of numbers as output and as target, in one shape", head,
          head.target.size() == 1 ? "end the model with nn.Linear(" + std::to_string(head.target[0]) + ")" : "");
    }
  }

  LossValue operator()(const at::Tensor& out, const BatchView& batch) const override {
    const at::Tensor wanted = target_like(out, batch.columns[target_column_]);
    const std::int64_t width = out.size(-1);
    const at::Tensor each =
        at::cosine_embedding_loss(out.reshape({-1, width}), wanted.reshape({-1, width}),
                                  at::ones({out.numel() / width}, out.options()), 0.0, at::Reduction::None);
    return mean_(each, batch);
  }

 private:
  std::size_t target_column_;
  SampleMean mean_;
};

}  // namespace

void register_loss_margin(Registry& registry) {
  registry.add(loss_entry("hinge", "Hinge loss of one score per class and the label.")
                   .with(Option("margin", "lead that the label's score should have over each other score")
                             .number()
                             .more_than(0)
                             .or_default(1.0))
                   .with(Option("squared", "square the missing lead").boolean().or_default(false))
                   .with(class_weights_option())
                   .example("loss.hinge { squared = true }")
                   .note("Equals torch.nn.MultiMarginLoss: Σ max(0, margin − s_label + s_j) over the other classes, "
                         "divided by the number of classes; class weights multiply, the mean is by sample. With one "
                         "logit z and labels as ±1 it is max(0, margin ∓ z)."),
               loss_kind<Hinge>({.takes_classes = true}));
  registry.add(loss_entry("triplet", "Triplet loss: embeddings of one class closer than those of others.")
                   .with(Option("margin",
                                "by how much farther away the nearest sample of another class should be than the "
                                "farthest sample of the same class")
                             .number()
                             .more_than(0)
                             .or_default(1.0))
                   .example("loss.triplet { margin = 0.2 }")
                   .note("Every sample of the batch is an anchor with its farthest sample of the same class and its "
                         "nearest of another (Hermans et al. 2017, \"batch hard\"): max(0, d₊ − d₋ + margin), "
                         "Euclidean. The mean is over the anchors that have both. What is found depends on the batch: "
                         "take batches with several samples of a class."),
               loss_kind<Triplet>({.takes_classes = true}));
  registry.add(loss_entry("cosine", "One minus the cosine of the angle between output and target.")
                   .example("loss.cosine()")
                   .note("Equals torch.nn.CosineEmbeddingLoss with labels of 1. Vectors lie along the last axis."),
               loss_kind<Cosine>());
}

}  // namespace trainlab

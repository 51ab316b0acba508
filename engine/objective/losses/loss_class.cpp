// Losses that add up a cost of each class by the target: cross-entropy, negative log-likelihood, focal loss. The target
// is a label, a smoothed label, or a distribution (of mixup).
#include <ATen/core/Reduction.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/log_softmax.h>
#include <ATen/ops/zeros.h>
#include <torch/csrc/autograd/autograd.h>

#include "chunked_costs.h"
#include "class_scores.h"
#include "mean.h"
#include "objective/losses.h"
#include "softmax_costs.h"

namespace trainlab {

namespace {

class ClassLoss : public Loss {
 public:
  ClassLoss(const Options& options, const Head& head, ClassScores::Single single)
      : scores_(options, head, single),
        smoothing_(options.number("label_smoothing")),
        weight_(class_weights(options, head, scores_.classes())),
        mean_(head) {}

  LossValue operator()(const at::Tensor& out, const BatchView& batch) const override {
    const ClassScores::Pair pair = scores_.arrange(out, batch);
    if (!counts(pair) && mean_.plain(batch)) return {{mean(pair), {}}};
    return mean_of(costs(pair), pair, batch);
  }

 protected:
  // PyTorch divides by the number of positions where the targets are distributions.
  bool counts(const ClassScores::Pair& pair) const {
    return !pair.distribution() && (weight_.defined() || scores_.ignores());
  }
  LossValue mean_of(const at::Tensor& each, const ClassScores::Pair& pair, const BatchView& batch) const {
    return counts(pair) ? mean_(each, counted(pair.target, each), batch) : mean_(each, batch);
  }

  // The cost of each position, weighted, 0 where the label is ignored: [N] or [N, positions…].
  virtual at::Tensor costs(const ClassScores::Pair& pair) const = 0;
  // Their plain mean.
  virtual at::Tensor mean(const ClassScores::Pair& pair) const { return costs(pair).mean(); }

  // Costs by the target; of_class: the weighted cost of each class, shaped like the scores.
  at::Tensor by_target(const at::Tensor& of_class, const ClassScores::Pair& pair) const {
    const double even = smoothing_ / static_cast<double>(scores_.classes());
    if (pair.distribution()) {
      const at::Tensor target = smoothing_ > 0 ? pair.target.mul(1 - smoothing_).add(even) : pair.target;
      return of_class.mul(target).sum(1);
    }
    at::Tensor labels = pair.target;
    if (scores_.ignores()) labels = labels.masked_fill(labels.eq(scores_.ignored()), 0);
    at::Tensor cost = of_class.gather(1, labels.unsqueeze(1)).squeeze(1);
    if (smoothing_ > 0) cost = cost.mul(1 - smoothing_).add(of_class.sum(1), even);
    return scores_.ignores() ? cost.masked_fill(pair.target.eq(scores_.ignored()), 0) : cost;
  }

  at::Tensor weighted(const at::Tensor& of_class) const {
    if (!weight_.defined()) return of_class;
    Shape shape(static_cast<std::size_t>(of_class.dim()), 1);
    shape[1] = -1;
    return of_class.mul(weight_.view(shape));
  }

  const ClassScores scores_;
  const double smoothing_;
  const at::Tensor weight_;  // [C] or undefined

 private:
  // The weight of each label: its class weight, 0 if it is ignored.
  at::Tensor counted(const at::Tensor& labels, const at::Tensor& each) const {
    const at::Tensor valid = labels.ne(scores_.ignored());
    if (!weight_.defined()) return valid.to(each.scalar_type());
    const at::Tensor weights = weight_.index_select(0, labels.mul(valid).flatten()).view_as(labels);
    return scores_.ignores() ? weights.mul(valid) : weights;
  }

  SampleMean mean_;
};

class CrossEntropy final : public ClassLoss {
 public:
  CrossEntropy(const Options& options, const Head& head) : ClassLoss(options, head, ClassScores::Single::refused) {}

  bool takes_linear() const override { return true; }
  LossValue of_linear(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias, at::ScalarType compute,
                      const BatchView& batch) const override {
    Shape shape = x.sizes().vec();
    shape.back() = weight.size(0);
    const at::Tensor no_scores = at::zeros({1}, x.options()).expand(shape);
    const ClassScores::Pair pair = scores_.arrange(no_scores, batch);
    if (pair.distribution() || pair.scores.dim() != 2)
      throw recipe_error(
          "expected a label for each position, with the scores of its classes in the output's last axis");
    // The mean is linear in the costs, so its gradient says how much each of them counts.
    LossValue loss;
    at::Tensor factors;
    {
      const at::AutoGradMode with_gradients(true);
      const at::Tensor each = at::zeros({pair.scores.size(0)}, x.options()).requires_grad_();
      loss = mean_of(each, pair, batch);
      factors = torch::autograd::grad({loss.value}, {each}).front();
    }
    const at::Tensor rows = x.reshape({-1, x.size(-1)});
    loss.value = chunked_costs(rows, weight, bias, compute, factors, [&](const at::Tensor& scores, std::int64_t first) {
      return costs({.scores = scores, .target = pair.target.narrow(0, first, scores.size(0))});
    });
    return loss;
  }

 private:
  at::Tensor costs(const ClassScores::Pair& pair) const override { return entropy(pair, at::Reduction::None); }
  at::Tensor mean(const ClassScores::Pair& pair) const override { return entropy(pair, at::Reduction::Mean); }
  at::Tensor entropy(const ClassScores::Pair& pair, at::Reduction::Reduction reduction) const {
    if (!weight_.defined() && smoothing_ == 0 && takes_softmax_costs(pair.scores, pair.target)) {
      const auto costs = reduction == at::Reduction::Mean ? mean_softmax_cost : softmax_costs;
      return costs(pair.scores, pair.target, scores_.ignored());
    }
    // LibTorch refuses a label to ignore beside distributions, which have none.
    const std::int64_t ignored = pair.distribution() ? -100 : scores_.ignored();
    return at::cross_entropy_loss(pair.scores, pair.target, weight_, reduction, ignored, smoothing_);
  }
};

class NegativeLogLikelihood final : public ClassLoss {
 public:
  NegativeLogLikelihood(const Options& options, const Head& head)
      : ClassLoss(options, head, ClassScores::Single::refused) {}

 private:
  at::Tensor costs(const ClassScores::Pair& pair) const override {
    return by_target(weighted(pair.scores.neg()), pair);
  }
};

// Lin et al., "Focal loss for dense object detection" (2017), section 3.2: −(1 − p)^γ log p.
class Focal final : public ClassLoss {
 public:
  Focal(const Options& options, const Head& head)
      : ClassLoss(options, head, ClassScores::Single::allowed), gamma_(options.number("gamma")) {}

 private:
  at::Tensor costs(const ClassScores::Pair& pair) const override {
    const at::Tensor logs = at::log_softmax(pair.scores, 1);
    // 1 − p by expm1: exact where p is nearly 1; kept above 0, where a power below 1 has no finite slope.
    const at::Tensor away = logs.expm1().neg().clamp_min(1e-30);
    return by_target(weighted(away.pow(gamma_).mul(logs).neg()), pair);
  }

  double gamma_;
};

}  // namespace

void register_loss_class(Registry& registry) {
  registry.add(
      loss_entry("cross_entropy", "Cross-entropy of one score (logit) per class and the label.")
          .with(label_smoothing_option())
          .with(class_weights_option())
          .with(ignore_index_option())
          .example("loss.cross_entropy { label_smoothing = 0.1 }")
          .note("Equals torch.nn.CrossEntropyLoss with reduction \"mean\". The model ends with as many "
                "outputs as the data has classes, without a softmax. Labels [T] at positions (text) go with "
                "outputs [T, C] or [C, T], labels [H, W] with [C, H, W] or [H, W, C]; where both fit, one axis "
                "of positions means classes last and several classes first. The mean is over the positions "
                "that count. Targets may also be probabilities of the classes, floats shaped like the output; then "
                "class weights are factors only, as in PyTorch."),
      loss_kind<CrossEntropy>(
          {.applies = "softmax", .is_never_negative = true, .has_entropy_of_labels = true, .takes_classes = true}));
  registry.add(loss_entry("nll", "Negative log-likelihood of one log-probability per class and the label.")
                   .with(label_smoothing_option())
                   .with(class_weights_option())
                   .with(ignore_index_option())
                   .example("loss.nll()")
                   .note("Equals torch.nn.NLLLoss with reduction \"mean\". The model ends with nn.LogSoftmax(); shapes "
                         "and targets as for cross_entropy."),
               loss_kind<NegativeLogLikelihood>({.is_never_negative = true, .takes_classes = true}));
  registry.add(
      loss_entry("focal",
                 "Focal loss: cross-entropy with less weight on samples that the model already classifies well.")
          .with(Option("gamma", "how fast the weight falls with the label's probability; 0 gives cross-entropy")
                    .number()
                    .at_least(0)
                    .or_default(2.0))
          .with(label_smoothing_option())
          .with(class_weights_option())
          .with(ignore_index_option())
          .example("loss.focal { gamma = 2, class_weights = \"balanced\" }")
          .note("−(1 − p)^γ log p of the label's probability p (Lin et al. 2017), from logits; shapes and "
                "targets as for cross_entropy. One logit per sample is taken as two classes with the scores 0 "
                "and the logit."),
      loss_kind<Focal>({.applies = "softmax", .is_never_negative = true, .takes_classes = true}));
}

}  // namespace trainlab

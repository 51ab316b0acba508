// Brings scores of classes and their targets from the layouts of recipes into one layout: for losses with the class
// axis where LibTorch has it, for metrics as rows. Private to the module.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>

#include "objective/head.h"

namespace trainlab {

// The part as a share of the whole; 0 where there is nothing.
inline double share(double part, double whole) { return whole > 0 ? part / whole : 0.0; }

// The options that losses of classes share.
Option class_weights_option();
Option ignore_index_option();
Option label_smoothing_option();

class ClassScores {
 public:
  enum class Single { refused, allowed };  // whether one logit per position is allowed: it is read as scores [0, z]
  // Refuses heads that do not fit.
  ClassScores(const Options& options, const Head& head, Single single);

  std::int64_t classes() const { return axis_.classes; }
  bool single() const { return single_; }

  // N = M·B samples, or with the classes last M·B·positions.
  struct Pair {
    at::Tensor scores;  // [N, C] or [N, C, positions…]
    at::Tensor target;  // int64, scores' shape without C; or a distribution over the classes, shaped like the scores
    bool distribution() const { return target.dim() == scores.dim(); }
  };
  Pair arrange(const at::Tensor& out, const BatchView& batch) const;

  struct Rows {
    at::Tensor scores;           // [S, N, C] (detached), N = B·positions, S = M or 1; a single logit: [S, N, 1]
    at::Tensor labels;           // int64 [S, N]; of a distribution the most probable class; 0 where ignored
    at::Tensor valid;            // boolean [S, N], or undefined where nothing is ignored, as among distributions
    at::Tensor guesses() const;  // int64 [S, N]: the first of the best scores; of a single logit 1 above 0
    // float64 [S, N, C]; a single logit is two classes with the scores 0 and the logit.
    at::Tensor log_probabilities() const;
  };
  // Error{recipe} for labels that are neither classes nor ignored, on a CPU: a device would have to be waited for.
  Rows rows(const at::Tensor& out, const BatchView& batch) const;

  // Raises Error{recipe} unless all labels, on the CPU, are classes.
  void require_classes(const at::Tensor& labels) const;

  // The ignored label, or a label that no data has.
  std::int64_t ignored() const;
  bool ignores() const { return ignore_index_.has_value(); }

 private:
  void require_shares(const at::Tensor& target) const;  // of a single logit: both shares, [N, 2]

  Options options_;  // for errors
  ClassAxis axis_;
  bool single_ = false, mixes_labels_;
  std::size_t target_column_;
  std::optional<std::int64_t> ignore_index_;
};

// The option class_weights as [C] on the head's device, in the model's type; undefined if it is not given.
// Error{recipe} for another number of weights than classes, or for "balanced" with a class that the training part
// lacks.
at::Tensor class_weights(const Options& options, const Head& head, std::int64_t classes);

}  // namespace trainlab

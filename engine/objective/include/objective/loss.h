// Losses: a scalar per member from a model's output and a batch.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/random/key.h"
#include "core/registry.h"
#include "data/dataset.h"
#include "tensor/types.h"

namespace trainlab {

class Object;  // core/callable.h

// A batch as losses and metrics see it: the columns of the dataset in its order, on the model's device.
struct BatchView {
  std::span<const at::Tensor> columns;  // [B, …], or [M, B, …] (or [B, …], shared by all members) with a member axis
  at::Tensor index;                     // int64 [B] or [M, B] on the CPU: rows of the dataset
  std::int64_t size = 0;                // B
  std::int64_t members = 0;             // M; 0: no member axis
  Key key = Key(0);                     // of the random numbers that a recipe's function draws for this batch
  std::shared_ptr<Object> run = nullptr;  // the last argument of a recipe's functions, if there is a run
};

// A mean over a batch. `value`: 0-dim, or [M] with a member axis. `weight`: the number by which the sum was divided
// (summed weights or valid positions; 0-dim or [M]), undefined if that is the number of samples. Means over several
// batches or micro-batches are weighted by it.
struct LossMean {
  at::Tensor value;
  at::Tensor weight;
};

// `value` is minimised. A sum of several losses also returns its parts, each a mean without its factor (Loss::parts());
// the sum itself then has no weight.
struct LossValue : LossMean {
  std::vector<LossMean> parts = {};
};

// A part of a sum: its name among metrics (val.loss.mse), and its factor in the sum.
struct LossPart {
  std::string name;
  double factor = 1;
};

class Loss {
 public:
  virtual ~Loss() = default;
  // out: [B, …] or [M, B, …]; undefined where a fit trains several models, which only a recipe's functions measure.
  virtual LossValue operator()(const at::Tensor& out, const BatchView& batch) const = 0;
  // The same of out = x·weightᵀ + bias, whose scores are made and forgotten a few rows at a time; x: [B, …, features],
  // without a member axis, bias undefined where there is none. `compute`: the type of the products, undefined for that
  // of x. Only where takes_linear(); Error{recipe} for targets that are not labels of the last axis.
  virtual bool takes_linear() const { return false; }
  virtual LossValue of_linear(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                              at::ScalarType compute, const BatchView& batch) const;
  // Whether the loss of a batch is the mean of the losses of its parts, by the weights of their samples. It is not
  // where samples are compared with each other.
  virtual bool is_divisible() const { return true; }
  // The parts of a sum; empty for other losses.
  virtual std::vector<LossPart> parts() const { return {}; }
};

struct HeadColumn {
  std::string name;
  Shape shape;  // of one sample
  at::ScalarType type = at::kFloat;
  std::optional<std::int64_t> ignored = {};  // the label of this target that the fit's loss leaves out
  bool is_shares = false;  // floats from 0 to 1, shaped like the output: as a target, probabilities of classes
};

// The output and the target for which a loss or metric is built; its factory refuses those that do not fit, naming both
// shapes.
struct Head {
  Shape output;  // of the model, one sample
  Shape target;  // one sample ([] for a class label)
  at::ScalarType target_type = at::kLong;
  std::int64_t classes = 0;
  std::int64_t lowest_label = 0;  // below 0 where the data marks what does not count
  std::int64_t highest_mark = 0;  // above 0 where the data marks with a label that is too high for a class
  std::vector<std::string> class_names;
  bool mixes_labels = false;               // batches of training have distributions over the classes in place of labels
  at::ScalarType float_type = at::kFloat;  // of the model
  at::Device device = at::kCPU;
  // The columns of the batch with the target ("y"; the number of columns if there is none) and with a weight per sample
  // ("weight", if there is one).
  std::size_t target_column = 0;
  std::optional<std::size_t> weight_column;
  std::vector<HeadColumn> columns;
  // The values of an integer column in the training part, for class weights: int64, in any order.
  std::function<at::Tensor(std::size_t column)> training_labels;
};

// The implementation of an entry of kind "loss".
struct LossKind {
  std::function<std::unique_ptr<Loss>(const Options&, const Head&)> make = {};
  // "softmax" or "sigmoid" for a loss of scores that applies the function to them itself: the model's outputs are
  // logits then. See LayerKind::applies.
  std::string_view applies = {};
  bool is_never_negative = false;
  // Whether the entropy of the labels is the loss of the best constant prediction, unless the recipe gives options.
  bool has_entropy_of_labels = false;
  // The mean losses of the constant output that is best for the first of these targets, on each of them, for a loss of
  // numbers. Targets are floats [samples, outputs]; each output has a constant of its own. Empty where the best
  // constant is not known.
  std::function<std::vector<double>(const Options&, std::span<const at::Tensor> targets)> constant_losses = {};
  // Whether every label of the target is a class to the loss, but for its ignore_index.
  bool takes_classes = false;
};

// The losses of the fit's option `loss`: the loss itself, or those that a sum adds.
std::vector<Options::Element> single_losses(const Options& fit);

// Adds the entries of kind "loss", implemented by LossKind, and of kind "metric", implemented by MetricKind.
void register_objective(Registry& registry);

}  // namespace trainlab

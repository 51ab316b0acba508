#include "head.h"

#include <c10/core/ScalarType.h>

#include "core/registry.h"

namespace trainlab {

namespace {

// A target of one value per sample, with or without an axis of its own.
bool is_scalar(const Shape& shape) { return shape.empty() || (shape.size() == 1 && shape[0] == 1); }

bool is_label(at::ScalarType type) { return at::isIntegralType(type, /*includeBool=*/true); }

std::string classes_text(const Head& head) { return "the data has " + std::to_string(head.classes) + " classes"; }

}  // namespace

std::string head_text(const Head& head) {
  return "an output of shape " + shape_text(head.output) + " and targets of shape " + shape_text(head.target) + " (" +
         dtype_name(head.target_type) + ")";
}

Error head_error(const Options& options, const std::string& needs, const Head& head, std::string hint) {
  Error error = options.error("", options.entry().name + " needs " + needs + "; found " + head_text(head));
  if (!hint.empty()) error.hint(std::move(hint));
  return error;
}

void require_class_scores(const Options& options, const Head& head) {
  if (!head.target.empty() || head.target_type != at::kLong) {
    throw head_error(
        options, "class labels (targets of shape [], int64)", head,
        is_label(head.target_type) ? "" : "for numbers as targets use \"mse\", \"huber\", \"mae\", \"rmse\" or \"r2\"");
  }
  const std::string wanted = head.classes > 0 ? std::to_string(head.classes) : std::string("C");
  const std::string needs = "one score per class, an output of shape [" + wanted + "]";
  if (head.output.size() != 1) {
    throw head_error(options, needs, head,
                     (head.classes > 0 ? classes_text(head) + "; end" : std::string("end")) +
                         " the model with nn.Flatten(), nn.Linear(" + wanted + ")");
  }
  if (head.classes > 0 && head.output[0] != head.classes) {
    std::string hint = classes_text(head) + "; end the model with nn.Linear(" + wanted + ")";
    if (head.classes == 2 && is_single_logit(head)) hint += ", or use loss = \"bce_with_logits\"";
    throw head_error(options, needs, head, std::move(hint));
  }
  if (head.output[0] < 2)
    throw head_error(options, "at least two classes", head,
                     "one logit per sample goes with loss = \"bce_with_logits\"");
}

bool is_single_logit(const Head& head) { return head.output.size() == 1 && head.output[0] == 1; }

void require_binary(const Options& options, const Head& head) {
  if (head.classes > 2) {
    throw head_error(options, "targets of 0 and 1", head,
                     classes_text(head) + "; use loss = \"cross_entropy\" and end the model with nn.Linear(" +
                         std::to_string(head.classes) + ")");
  }
  if (!is_single_logit(head) || !is_scalar(head.target)) {
    throw head_error(options, "one logit and one target of 0 or 1 per sample, an output of shape [1]", head,
                     "end the model with nn.Linear(1)");
  }
}

std::int64_t require_classification(const Options& options, const Head& head) {
  if (is_single_logit(head)) {
    require_binary(options, head);
    return 2;
  }
  require_class_scores(options, head);
  return head.output[0];
}

void require_regression(const Options& options, const Head& head) {
  if (head.classes > 0) {
    throw head_error(options, "numbers as targets", head,
                     classes_text(head) + "; for class labels use loss = \"cross_entropy\" and metric \"accuracy\"");
  }
  if (head.output == head.target || (is_scalar(head.output) && is_scalar(head.target))) return;
  const std::string hint = head.target.size() <= 1
                               ? "end the model with nn.Linear(" + std::to_string(element_count(head.target)) + ")"
                               : std::string();
  throw head_error(options, "an output shaped like the target", head, hint);
}

at::Tensor target_like(const at::Tensor& out, const at::Tensor& target) {
  at::Tensor like = target.scalar_type() == out.scalar_type() ? target : target.to(out.scalar_type());
  if (like.sizes() == out.sizes()) return like;
  if (like.numel() == out.numel()) return like.reshape(out.sizes());
  return like.reshape(out.sizes().slice(1)).expand_as(out);
}

at::Tensor labels_of(const at::Tensor& target, const Head& head) {
  at::Tensor labels = head.target.size() == 1 ? target.squeeze(-1) : target;
  if (at::isFloatingType(labels.scalar_type())) labels = labels.gt(0.5);
  return labels.scalar_type() == at::kLong ? labels : labels.to(at::kLong);
}

at::Tensor predictions_of(const at::Tensor& out, const Head& head) {
  return is_single_logit(head) ? out.squeeze(-1).gt(0).to(at::kLong) : out.argmax(-1);
}

}  // namespace trainlab

// Heads: which outputs and targets a loss or metric fits, said once for all of them, and tensors brought into the
// shape that their arithmetic wants. Private to the module.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>

#include "train/loss.h"

namespace trainlab {

// "an output of shape [12] and targets of shape [] (int64)": both sides of a misfit.
std::string head_text(const Head& head);

// An Error at the entry itself (not at one of its options): `needs`, then what was found, and the hint.
Error head_error(const Options& options, const std::string& needs, const Head& head, std::string hint);

// Refuses everything but one score per class and a label: output [C], target [] int64, C the number of classes.
void require_class_scores(const Options& options, const Head& head);

// True for one logit per sample: output [1].
bool is_single_logit(const Head& head);

// Refuses everything but one logit per sample and a 0/1 target, [] or [1].
void require_binary(const Options& options, const Head& head);

// Class scores or a single logit; the number of classes (2 for a single logit).
std::int64_t require_classification(const Options& options, const Head& head);

// Refuses class labels, and targets of another shape than the output ([] and [1] count as the same).
void require_regression(const Options& options, const Head& head);

// The target in the shape and dtype of `out`: [B] against [B, 1] is reshaped, one that all members share is expanded
// over the member axis (a view).
at::Tensor target_like(const at::Tensor& out, const at::Tensor& target);

// Labels as int64 [B] or [M, B]; a float target is 1 above 0.5. `head` tells whether samples have an axis of one.
at::Tensor labels_of(const at::Tensor& target, const Head& head);

// Predicted classes, int64 [B] or [M, B]: the first of the largest scores, or for a single logit 1 above 0.
at::Tensor predictions_of(const at::Tensor& out, const Head& head);

}  // namespace trainlab

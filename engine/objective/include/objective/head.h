// Heads: the checks of whether a loss or metric fits the output and the targets, shared by all of them. Private to the
// module.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>
#include <string>

#include "objective/loss.h"

namespace trainlab {

// "an output of shape [12] and targets of shape [] (int64)": both sides of a misfit.
std::string head_text(const Head& head);

// An Error at the entry itself (not at one of its options): `needs`, then what was found, and the hint.
Error head_error(const Options& options, const std::string& needs, const Head& head, std::string hint);

// The option `target` of losses and metrics.
Option target_option();

// The head with the target that the option `target` names; the same head without it. Error{recipe} with did-you-mean
// for a column that the data lacks, also for y where no other target is named.
Head with_target(const Options& options, const Head& head);
// The column `name` of the data; Error{recipe} at `option`, with did-you-mean.
std::size_t column_of(const Options& options, std::string_view option, const Head& head, const std::string& name);

// The label of the target that does not count: the option ignore_index of an entry that has this option, or the label
// that the fit's loss leaves out.
std::optional<std::int64_t> ignored_label(const Options& options, const Head& head);

// Refuses targets with labels below 0, but for the one that does not count.
void require_labels_from_0(const Options& options, const Head& head);

// Where the scores of a sample have their axis of classes. Targets of shape t (one label each at the positions t; [] is
// one label per sample) go with outputs t + [C] (classes last) or [C] + t (classes first). Where both fit, because a
// position axis has C elements too or because the targets are probabilities, shaped like the output, one axis of
// positions (text) means last and several (images) first.
struct ClassAxis {
  std::int64_t classes = 0;
  bool first = false;
};

// The axis of scores, where there is one score for each of the data's classes at each label.
std::optional<ClassAxis> class_axis(const Head& head);

// Whether the target holds a probability for each score of several classes (HeadColumn::is_shares).
bool has_shares(const Head& head);
// The axis of scores for such a target.
ClassAxis axis_of_shares(const Head& head);

// Refuses everything but one score per class, and a label or probabilities at each position.
ClassAxis require_class_scores(const Options& options, const Head& head);

// True for one logit per sample or position and a target of 0 or 1: output t + [1] or [1] + t for targets of shape t,
// or [1] for targets [1].
bool is_single_logit(const Head& head);

// Refuses everything but one logit per sample or position and a target of 0 or 1.
void require_binary(const Options& options, const Head& head);

// Class scores or a single logit; the number of classes (2 for a single logit).
std::int64_t require_classification(const Options& options, const Head& head);

// Refuses class labels, and targets of another shape than the output ([] and [1] count as the same).
void require_regression(const Options& options, const Head& head);

// The target of a single logit: the share of class 1 of labels that are mixed (Head::mixes_labels), else as it is.
at::Tensor share_of_one(bool mixes_labels, const at::Tensor& target);

// The target in the shape and dtype of `out`: [B] against [B, 1] is reshaped, one that all members share is expanded
// over the member axis (a view).
at::Tensor target_like(const at::Tensor& out, const at::Tensor& target);

}  // namespace trainlab

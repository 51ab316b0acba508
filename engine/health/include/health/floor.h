// LabelFloor: the cross-entropy that no model can undercut, because some labels are wrong. What is known of the labels
// comes from samples that are there several times with different ones.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/value.h"

namespace trainlab {

struct LabelFloor {
  double loss = 0, low = 0, high = 0;  // nats, with a 95 % interval
  double wrong_labels = 0;             // the share of labels that are wrong
  // The standard deviation of the loss of one sample, of a model at the floor: with a share e of wrong labels it is
  // √(e (1 − e)) ln ((1 − e) (K − 1) / e), because the loss is − ln (1 − e), or − ln (e / (K − 1)) where the label is
  // wrong.
  double deviation = 0;
  std::int64_t groups = 0;  // of equal samples, from which it is known
};

// `groups`: the labels of samples that are equal, two or more each. Assumes that a wrong label may be any other class:
// with the share e of these, two labels of one sample differ with the probability d = 2 e − e² K / (K − 1), and the
// floor is − (1 − e) ln (1 − e) − e ln (e / (K − 1)). nullopt with fewer than 30 groups, and where it is not certain
// that labels differ: copies of a sample with its label show nothing.
std::optional<LabelFloor> label_floor(std::span<const std::vector<std::int64_t>> groups, std::int64_t classes);

Value to_value(const LabelFloor& floor);

}  // namespace trainlab

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
  double loss = 0;           // nats
  double low = 0, high = 0;  // a 95 % interval, and as low as the floor is where a class is taken for one other alone
  double wrong_labels = 0;   // the share of labels that are wrong
  double deviation = 0;      // the standard deviation of the loss of one sample, of a model at the least floor
  std::int64_t groups = 0;   // of equal samples, from which it is known
};

// `groups`: the labels of samples that are equal, two or more each. With the share e of wrong labels, of which each may
// be any of k − 1 other classes, two labels of one sample differ with the probability d = 2 e − e² k / (k − 1); the
// floor is − (1 − e) ln (1 − e) − e ln (e / (k − 1)), and the standard deviation √(e (1 − e)) ln ((1 − e) (k − 1) / e),
// because the loss is − ln (1 − e), or − ln (e / (k − 1)) where the label is wrong. `loss`, `high` and `wrong_labels`
// are for all classes. Which class a wrong label is, nobody knows: mostly one that looks alike. `low` and `deviation`
// are for k = 2, the least floor that the same d leaves where e is the same for all samples.
//
// nullopt with fewer than 30 groups, and where it is not certain that labels differ: copies of a sample with its label
// show nothing.
std::optional<LabelFloor> label_floor(std::span<const std::vector<std::int64_t>> groups, std::int64_t classes);

Value to_value(const LabelFloor& floor);

}  // namespace trainlab

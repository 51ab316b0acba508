#include "objective/head.h"

#include <c10/core/ScalarType.h>

#include <algorithm>

#include "core/registry.h"
#include "core/words.h"

namespace trainlab {

namespace {

// A target of one value per sample, with or without an axis of its own.
bool is_scalar(const Shape& shape) { return shape.empty() || (shape.size() == 1 && shape[0] == 1); }

bool is_label(at::ScalarType type) { return at::isIntegralType(type, /*includeBool=*/true); }

// Which layouts of class scores the output may be: classes last, classes first.
struct Layouts {
  bool last, first;
};

Layouts layouts(const Head& head) {
  const Shape &out = head.output, &positions = head.target;
  if (out.size() != positions.size() + 1) return {false, false};
  return {std::equal(positions.begin(), positions.end(), out.begin()),
          !positions.empty() && std::equal(positions.begin(), positions.end(), out.begin() + 1)};
}

// The layout of a head that fits.
ClassAxis axis_of(const Head& head) {
  const Shape &out = head.output, &positions = head.target;
  const auto [last, first] = layouts(head);
  return {.classes = last && !(first && positions.size() > 1) ? out.back() : out.front(),
          .first = first && !(last && positions.size() == 1)};
}

// The lowest label in the training part, where it is known.
std::optional<std::int64_t> lowest_class(const Head& head) {
  if (!head.training_labels || head.target_column >= head.columns.size() || !is_label(head.target_type)) return {};
  try {
    const at::Tensor labels = head.training_labels(head.target_column);
    if (labels.numel() > 0) return labels.min().item<std::int64_t>();
  } catch (const Error&) {  // they are made for each batch
  }
  return {};
}

std::string classes_text(const Head& head) {
  const std::string text = "the data has " + std::to_string(head.classes) + " classes";
  const std::optional<std::int64_t> lowest = lowest_class(head);
  if (!lowest || *lowest <= 0) return text;
  return text + ", because labels count from 0 (the lowest in the training part is " + std::to_string(*lowest) + ")";
}

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

Option target_option() {
  return Option("target", "column of the batch that holds the targets").string().or_default("y");
}

std::size_t column_of(const Options& options, std::string_view option, const Head& head, const std::string& name) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < head.columns.size(); ++i) {
    if (head.columns[i].name == name) return i;
    names.push_back(head.columns[i].name);
  }
  Error error = options.error(option, "the data has no column \"" + name + "\"; its columns are " + joined(names));
  const std::string near = Registry::closest(name, names);
  if (!near.empty()) error.hint("did you mean \"" + near + "\"?");
  throw error;
}

Head with_target(const Options& options, const Head& head) {
  const bool has_target = head.target_column < head.columns.size() || head.columns.empty();
  if (!options.given("target") && has_target) return head;
  const std::size_t index = column_of(options, "target", head, options.string("target"));
  if (index == head.target_column) return head;
  Head other = head;
  other.target_column = index;
  other.target = head.columns[index].shape;
  other.target_type = head.columns[index].type;
  other.classes = other.lowest_label = other.highest_mark = 0;  // known of y only
  other.class_names.clear();
  other.mixes_labels = false;
  return other;
}

std::optional<std::int64_t> ignored_label(const Options& options, const Head& head) {
  if (!options.entry().find("ignore_index")) return std::nullopt;
  if (options.given("ignore_index")) return options.integer("ignore_index");
  if (head.target_column >= head.columns.size()) return std::nullopt;
  return head.columns[head.target_column].ignored;
}

void require_labels_from_0(const Options& options, const Head& head) {
  const std::optional<std::int64_t> ignored = ignored_label(options, head);
  const auto is_wrong = [&](std::int64_t label) { return label != 0 && label != ignored; };
  if (!is_wrong(head.lowest_label) && !is_wrong(head.highest_mark)) return;
  const bool is_low = is_wrong(head.lowest_label);
  const std::string found = std::to_string(is_low ? head.lowest_label : head.highest_mark);
  Error error = options.error("", "expected labels from 0" + (is_low ? "" : " to " + std::to_string(head.classes - 1)) +
                                      ", found " + found + " in the data");
  std::string hint = options.entry().find("ignore_index") ? "ignore_index = " + found + " leaves this label out" : "";
  if (!is_low) hint += std::string(hint.empty() ? "" : "; ") + "targets of a regression are floats";
  if (!hint.empty()) error.hint(hint);
  throw error;
}

ClassAxis axis_of_shares(const Head& head) {
  const bool first = head.output.size() > 2;
  return {.classes = first ? head.output.front() : head.output.back(), .first = first};
}

bool has_shares(const Head& head) {
  return head.target_column < head.columns.size() && head.columns[head.target_column].is_shares &&
         head.output == head.target && !head.output.empty() && axis_of_shares(head).classes > 1;
}

std::optional<ClassAxis> class_axis(const Head& head) {
  if (head.target_type != at::kLong) return std::nullopt;
  const auto [last, first] = layouts(head);
  if (!last && !first) return std::nullopt;
  const ClassAxis axis = axis_of(head);
  if (axis.classes < 2 || axis.classes != head.classes) return std::nullopt;
  return axis;
}

ClassAxis require_class_scores(const Options& options, const Head& head) {
  require_labels_from_0(options, head);
  if (has_shares(head)) {
    if (options.entry().find("ignore_index") && options.given("ignore_index")) {
      throw options.error("ignore_index", "is a label, and the targets are probabilities of classes")
          .hint("a column named weight, 0 for a sample, leaves the sample out");
    }
    return axis_of_shares(head);
  }
  if (head.target_type != at::kLong) {
    throw head_error(
        options,
        "class labels (targets of int64), or probabilities of classes (floats from 0 to 1, shaped like the output)",
        head,
        is_label(head.target_type)
            ? ""
            : "for classes give the data task = \"classification\" (lab.data.csv, lab.data.table) or int64 labels; for "
              "numbers use \"mse\", \"l1\" or \"huber\" as the loss, \"mae\", \"rmse\" or \"r2\" as a metric");
  }
  if (head.classes == 1)
    throw head_error(options, "labels of at least two classes", head,
                     "all labels of the training part are 0, so that there is nothing to tell apart");
  const Shape& positions = head.target;
  const std::string wanted = head.classes > 0 ? std::to_string(head.classes) : std::string("C");
  const auto [last, first] = layouts(head);
  if (!last && !first) {
    if (positions.empty()) {
      throw head_error(options, "one score per class, an output of shape [" + wanted + "]", head,
                       (head.classes > 0 ? classes_text(head) + "; end" : std::string("end")) +
                           " the model with nn.Flatten(), nn.Linear(" + wanted + ")");
    }
    const std::string at_each = shape_text(positions).substr(1, shape_text(positions).size() - 2);
    throw head_error(options,
                     "one score per class at each label, an output of shape [" + at_each + ", " + wanted + "] or [" +
                         wanted + ", " + at_each + "]",
                     head, "");
  }
  const ClassAxis axis = axis_of(head);
  if (head.classes > 0 && axis.classes != head.classes) {
    std::string hint = classes_text(head) + "; end the model with nn.Linear(" + wanted + ")";
    if (axis.first) hint = classes_text(head) + "; end the model with as many channels";
    if (head.classes == 2 && is_single_logit(head)) hint += ", or use loss = \"bce_with_logits\"";
    throw head_error(options,
                     "one score per class, " + (positions.empty() ? "an output of shape [" + wanted + "]"
                                                                  : wanted + " of them at each label"),
                     head, std::move(hint));
  }
  if (axis.classes < 2)
    throw head_error(options, "at least two classes", head,
                     "one logit per sample goes with loss = \"bce_with_logits\"");
  return axis;
}

bool is_single_logit(const Head& head) {
  if (head.output.empty()) return false;
  if (head.output == Shape{1} && is_scalar(head.target)) return true;
  if (head.target.empty() || (!is_label(head.target_type) && head.classes == 0)) return false;
  Shape last = head.target, first = head.target;
  last.push_back(1);
  first.insert(first.begin(), 1);
  return head.output == last || head.output == first;
}

void require_binary(const Options& options, const Head& head) {
  require_labels_from_0(options, head);
  if (head.classes > 2) {
    throw head_error(options, "targets of 0 and 1", head,
                     classes_text(head) + "; use loss = \"cross_entropy\" and end the model with nn.Linear(" +
                         std::to_string(head.classes) + ")");
  }
  if (!is_single_logit(head)) {
    throw head_error(options, "one logit and one target of 0 or 1 per sample, an output of shape [1]", head,
                     "end the model with nn.Linear(1)");
  }
}

std::int64_t require_classification(const Options& options, const Head& head) {
  if (is_single_logit(head)) {
    require_binary(options, head);
    return 2;
  }
  return require_class_scores(options, head).classes;
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

at::Tensor share_of_one(bool mixes_labels, const at::Tensor& target) {
  return mixes_labels && at::isFloatingType(target.scalar_type()) ? target.select(-1, 1) : target;
}

at::Tensor target_like(const at::Tensor& out, const at::Tensor& target) {
  at::Tensor like = target.scalar_type() == out.scalar_type() ? target : target.to(out.scalar_type());
  if (like.sizes() == out.sizes()) return like;
  if (like.numel() == out.numel()) return like.reshape(out.sizes());
  return like.reshape(out.sizes().slice(1)).expand_as(out);
}

}  // namespace trainlab

#include "run_facts.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "constant_loss.h"
#include "health/floor.h"
#include "model/initial.h"
#include "objective/loss.h"
#include "optim/optimizer.h"
#include "optim/scaled_rate.h"

namespace trainlab {
namespace {

// Known facts about the fit's loss. Nothing is known if the loss is a function, or if a step of the recipe computes it.
struct KnownLoss {
  bool is_never_negative = false, has_entropy_of_labels = false;
};

KnownLoss loss_of(const FitPlan& plan) {
  const LossKind* const kind = plan.loss_kind();
  if (!kind) return {};
  const std::vector<std::string> given = plan.options.child("loss").names();
  return {.is_never_negative = kind->is_never_negative,
          .has_entropy_of_labels = kind->has_entropy_of_labels && given.empty()};
}

// Whether the loss, or one that it adds, gives the classes weights.
bool weighs_classes(const FitPlan& plan) {
  if (plan.step) return false;
  return std::ranges::any_of(single_losses(plan.options), [](const Options::Element& loss) {
    return loss.entry && loss.entry->entry().find("class_weights") && loss.entry->given("class_weights");
  });
}

// The labels of the training part, in the order of its samples; undefined where there are none.
at::Tensor labels_of(const FitPlan& plan) {
  const Head& head = plan.head;
  const bool has_labels = !plan.step && head.classes > 0 && head.target.empty() && head.training_labels &&
                          head.target_column < head.columns.size() && plan.data.train.draws == nullptr;
  return has_labels ? head.training_labels(head.target_column).contiguous() : at::Tensor();
}

// Whether the loss of the best constant prediction is the entropy of the labels.
bool is_plain_entropy(const FitPlan& plan, const KnownLoss& loss) {
  return loss.has_entropy_of_labels && !plan.head.mixes_labels && !plan.head.weight_column;
}

void count_labels(const FitPlan& plan, const KnownLoss& loss, const at::Tensor& labels, RunFacts& facts) {
  if (!labels.defined()) return;
  const Head& head = plan.head;
  const std::vector<double> counts = counts_of(labels, head.classes, std::nullopt);
  const double all = std::accumulate(counts.begin(), counts.end(), 0.0);
  if (all == 0) return;
  facts.classes = head.classes;
  facts.largest_share = *std::ranges::max_element(counts) / all;
  facts.entropy = entropy_of(counts);
  if (is_plain_entropy(plan, loss)) facts.prior_loss = facts.entropy;
}

void find_floor(const FitPlan& plan, const at::Tensor& labels, const SampleFacts& samples, RunFacts& facts) {
  const bool reads_x_alone = plan.model && plan.model->columns() == std::vector<std::string>{"x"};
  if (!labels.defined() || labels.numel() != plan.data.train.size() || !reads_x_alone) return;
  const std::int64_t* label = labels.const_data_ptr<std::int64_t>();
  std::vector<std::vector<std::int64_t>> groups;
  for (const std::vector<std::int64_t>& places : samples.alike) {
    std::vector<std::int64_t> all;
    for (const std::int64_t place : places) {
      if (label[place] >= 0 && label[place] < facts.classes) all.push_back(label[place]);
    }
    if (all.size() > 1) groups.push_back(std::move(all));
  }
  std::ranges::sort(groups);  // the order of sums, and so their last digits, does not depend on the table
  facts.floor = label_floor(groups, facts.classes);
}

}  // namespace

RunFacts run_facts(const FitPlan& plan, const SampleFacts& samples) {
  RunFacts facts{.total_steps = plan.length.total_steps, .batch = plan.loader.batch, .accumulate = plan.accumulate};
  if (!plan.step) {
    const Options optimizer = plan.options.child("optim");
    facts.lr = learning_rate(optimizer);
    facts.largest_lr = largest_usual_rate(optimizer);
    facts.finds_step_size = finds_step_size(optimizer);
  }
  facts.begins_trained = begins_with_stored(plan.options, "init");
  const KnownLoss loss = loss_of(plan);
  facts.is_never_negative = loss.is_never_negative;
  facts.is_weighted = weighs_classes(plan) || plan.head.weight_column;
  const ConstantLoss constant = constant_loss(plan);
  facts.prior_loss = constant.train;
  facts.val_prior_loss = constant.val;
  const at::Tensor labels = labels_of(plan);
  count_labels(plan, loss, labels, facts);
  if (is_plain_entropy(plan, loss)) find_floor(plan, labels, samples, facts);
  if (plan.data.val) facts.validation_samples = plan.data.val->size();
  facts.shared = samples.shared;
  facts.shared_by_test = samples.shared_by_test;
  facts.repeated = samples.repeated;
  return facts;
}

}  // namespace trainlab

// For tests of losses and metrics by themselves: their entries, options from JSON, tensors from JSON.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>

#include "core/registry.h"
#include "objective/loss.h"
#include "objective/metric.h"
#include "support/error_of.h"

namespace trainlab::test {

// Losses and metrics; built once.
const Registry& parts_registry();

// Checked options of an entry at `fit.PATH`, as if written at recipe.lua:7. The text is {"@": "loss.mse", …}.
Options part(const std::string& json, const std::string& path = "loss");

std::unique_ptr<Loss> make_loss(const Options& options, const Head& head);
std::unique_ptr<Metric> make_metric(const Options& options, const Head& head, std::int64_t members = 0);

// A batch of one column, the target, as losses and metrics take it.
class TargetBatch {
 public:
  explicit TargetBatch(const at::Tensor& target, std::int64_t size, std::int64_t members = 0)
      : columns_{target}, view_{.columns = columns_, .index = {}, .size = size, .members = members} {}
  TargetBatch(const TargetBatch&) = delete;
  operator const BatchView&() const { return view_; }

 private:
  std::vector<at::Tensor> columns_;
  BatchView view_;
};

// out: [B, …], or [M, B, …] with members.
LossValue loss_of(const Loss& loss, const at::Tensor& out, const at::Tensor& target, std::int64_t members = 0);
void update(Metric& metric, const at::Tensor& out, const at::Tensor& target, std::int64_t members = 0);

// A (nested) list of numbers as a tensor of that shape.
at::Tensor tensor_of(const Value& lists, at::ScalarType type);

// The head of given tensors [B, …]; classes > 0 for labels.
Head head_of(const at::Tensor& out, const at::Tensor& target, std::int64_t classes);

}  // namespace trainlab::test

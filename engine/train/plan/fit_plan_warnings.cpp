// Warnings about options that are allowed and hardly ever intended.
#include <algorithm>
#include <utility>

#include "fit_plan_parts.h"
#include "model/layer.h"
#include "objective/loss.h"
#include "optim/optimizer.h"

namespace trainlab {
namespace {

// The layer that makes the model's output, and its kind.
std::pair<Options, LayerKind> last_layer(const Options& model) {
  const auto& kind = model.registry().implementation<LayerKind>(model.entry());
  return kind.chain.empty() ? std::pair(model, kind) : last_layer(model.children(kind.chain).back());
}

}  // namespace

std::vector<std::string> warnings_of(const FitPlan& plan) {
  const Options& fit = plan.options;
  std::vector<std::string> warnings;
  if (!plan.metrics.empty() && !plan.data.val && !plan.data.test) {
    warnings.push_back(
        fit.error("metrics", "are measured on the validation and the test part, and the data has neither")
            .hint("data:split { train = 0.9, val = 0.1 }")
            .what());
  }
  if (!plan.model) return warnings;
  if (plan.accumulate > 1 && !plan.loss->is_divisible()) {
    warnings.push_back(
        fit.error(fit.given("effective") ? "effective" : "accumulate",
                  "the loss compares the samples of a batch with each other, of a micro-batch alone: the gradients are "
                  "not those of one batch of " +
                      std::to_string(plan.length.batch) + " samples")
            .hint("a larger batch with memory = { recompute = \"every 2\" }")
            .what());
  }
  const Options optimizer = fit.child("optim");
  if (keeps_average(optimizer) && std::ranges::any_of(plan.model->buffers(), &BufferInfo::averages)) {
    warnings.push_back(optimizer
                           .error("", optimizer.entry().name + " validates averaged weights, and the running "
                                                               "statistics of norms are those of the trained weights")
                           .hint("nn.LayerNorm and nn.GroupNorm have no running statistics")
                           .what());
  }
  const auto [last, layer] = last_layer(fit.child("model"));
  for (const Options::Element& loss : single_losses(fit)) {
    if (!loss.entry) continue;
    const auto& kind = fit.registry().implementation<LossKind>(loss.entry->entry());
    if (kind.applies.empty() || kind.applies != layer.applies) continue;
    const std::string& name = loss.entry->entry().name;
    warnings.push_back(last.error("", name.substr(name.find('.') + 1) + " applies the " + std::string(kind.applies) +
                                          " itself: here it is applied twice")
                           .hint("leave the layer out; predictions are probabilities without it, too")
                           .what());
    break;
  }
  return warnings;
}

}  // namespace trainlab

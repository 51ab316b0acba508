#include "find/model_sizes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "core/statistics.h"
#include "seeded_trainings.h"

namespace trainlab {

namespace {

constexpr std::array factors = {0.25, 0.5, 1.0, 2.0, 4.0};
// Twice the features make a step between once (small layers) and four times (large layers) as long.
constexpr double growth = 2;

void judge(ModelSize& size, const ModelSize& own) {
  const MeanAndError values = mean_and_error(size.values);
  size.mean = values.mean;
  size.error = values.error;
  std::vector<double> differences;
  for (std::size_t i = 0; i < own.values.size(); ++i) differences.push_back(size.values[i] - own.values[i]);
  const MeanAndError pairs = mean_and_error(differences);
  const double half = student_quantile(0.975, static_cast<double>(differences.size()) - 1) * pairs.error;
  size.difference = pairs.mean;
  size.low = pairs.mean - half;
  size.high = pairs.mean + half;
}

}  // namespace

FoundModelSizes train_model_sizes(const Options& fit, const RunSettings& settings, const WithSet& with_set,
                                  const SearchContext& context) {
  const Registry& registry = fit.registry();
  if (!fit.is_entry("model"))
    throw fit.error("model", "expected one model, found a table of models").hint("train larger models by hand");
  const ModelChanges model(fit);
  if (model.features(1).empty()) {
    throw fit.error("model", "expected a hidden layer with a number of features, found none")
        .hint("nn.Linear(64) before the last layer, for example");
  }
  const FitPlan whole = plan_fit(with_seed(registry, fit.spec(), settings.seed), settings, context.opened);
  check_monitors_validation(whole, "says nothing about new samples");
  FoundModelSizes found;
  // The fit of a size, with what batch = "auto" and memory.budget have chosen for the size.
  struct Sized {
    Spec fit;
    RunSettings settings;
  };
  std::vector<Sized> fits;
  for (const double factor : factors) {
    ModelSize size{.factor = factor, .set = model.features(factor)};
    // Layers of few features have no quarter.
    const bool is_another = size.set != model.features(1) && (fits.empty() || size.set != found.sizes.back().set);
    if (!size.is_own() && !is_another) continue;
    try {
      Sized sized{size.is_own() ? fit.spec() : with_set(size.set).spec(), settings};
      const FitPlan plan = plan_fit(with_seed(registry, sized.fit, settings.seed), settings, &whole.data);
      sized.settings.chosen = plan.chosen;
      size.parameters = plan.model->parameter_count();
      fits.push_back(std::move(sized));
      found.sizes.push_back(std::move(size));
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::interrupted) throw;
      found.left_out.push_back(fmt::format("{} times the features: {}", factor, error.headline()));
    }
  }
  const auto plans = [&](std::int64_t seed) {
    std::vector<FitPlan> all;
    for (const Sized& one : fits) {
      DataParts parts = whole.data;
      parts.test.reset();  // nobody reads what would be measured on it
      all.push_back(plan_fit(with_seed(registry, one.fit, seed), one.settings, &parts));
    }
    return all;
  };
  const SeededResults results = train_seeds({.fit = whole, .plans = plans, .growth = growth}, settings, context);
  for (std::size_t i = 0; i < found.sizes.size(); ++i) {
    found.sizes[i].values = results.sizes[i].values;
    found.sizes[i].seconds = results.sizes[i].seconds;
  }
  const ModelSize own = *std::ranges::find_if(found.sizes, &ModelSize::is_own);
  for (ModelSize& size : found.sizes) judge(size, own);
  found.seeded = results.findings;
  return found;
}

}  // namespace trainlab

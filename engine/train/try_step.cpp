#include "try_step.h"

#include <fmt/format.h>

#include "loop.h"

namespace trainlab {
namespace {

std::string metrics_text(const char* what, const MetricMap& metrics, double seconds) {
  std::string text = fmt::format("{:<20}", what);
  for (const auto& [name, value] : metrics) text += fmt::format(" {} {:.4g},", name, value);
  return text + fmt::format(" {:.3g} ms\n", 1e3 * seconds);
}

}  // namespace

std::string try_step(const FitPlan& plan) {
  StageContext context;
  context.name = plan.options.string("name");
  context.say = [](const std::string&) {};
  const FitMember member{.options = plan.options, .context = std::move(context)};
  const FirstStep first = FitLoop(plan, {&member, 1}, false).try_step();
  std::string text = metrics_text("one training step", first.training, first.training_seconds);
  if (first.end) return text + "the fit would end here: " + *first.end + "\n";
  if (first.validation.empty()) return text;
  return text + metrics_text("one validation", first.validation, first.validation_seconds);
}

}  // namespace trainlab

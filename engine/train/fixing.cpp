#include "fixing.h"

#include <algorithm>
#include <optional>

#include "core/files.h"
#include "journal/checkpoint.h"
#include "train/fix.h"

namespace trainlab {
namespace {

// Returns the step from which the training goes on; 0: from the beginning.
std::int64_t go_back(const StageContext& context, std::int64_t good_until) {
  const std::int64_t step = CheckpointFolder(context.folder / "checkpoints", context.say_damage).go_back(good_until);
  const auto rows = context.folder / "metrics.jsonl";
  if (step == 0 && std::filesystem::exists(rows)) truncate_file(rows, 0);
  return step;
}

}  // namespace

Value train_with_fixes(std::shared_ptr<const FitPlan> plan, const StageContext& context, const FitAttempts& attempts) {
  RunSettings settings;
  if (context.settings) settings = *context.settings;
  if (!plan->chosen.is_nil()) settings.chosen = plan->chosen;
  settings.extends_now = false;  // a checkpoint to which the fit goes back may already have the new length
  StageContext attempt = context;
  for (;;) {
    std::optional<Fix> fix;
    try {
      return attempts.train(*plan, attempt);
    } catch (const FixWanted& wanted) {
      fix = wanted.fix;
    }
    // A kill before the fix is recorded leads to the same fault, and to the same fix.
    fix->from = go_back(context, fix->good_until);
    settings.fixes.push_back(to_value(*fix));
    if (context.keep_fixes) context.keep_fixes(settings.fixes);
    const std::string line =
        "health: " + text_of(*fix) + " because of " + fix->kind + "; the training " +
        (fix->from > 0 ? "goes back to step " + std::to_string(fix->from) + ", its last good checkpoint"
                       : "begins anew");
    // When a checkpoint is written depends on how fast the machine is, and a training that was interrupted has figures
    // of fewer steps than one that was not.
    (fix->from > 0 || context.resumed) && context.say_inexact ? context.say_inexact(line) : context.say(line);
    attempt.settings = &settings;
    attempt.resumed = true;
    const std::vector<std::string> warned = plan->warnings;
    std::optional<DataParts> data;
    if (fix->option != FixedOption::normalize) data = plan->data;
    plan.reset();  // the data of this plan goes before the other data is opened
    plan = std::make_shared<const FitPlan>(attempts.plan(settings, data ? &*data : nullptr));
    for (const std::string& warning : plan->warnings)
      if (std::ranges::find(warned, warning) == warned.end()) context.warn(warning);
  }
}

}  // namespace trainlab

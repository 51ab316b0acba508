#include "fixing.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "core/files.h"
#include "journal/checkpoint.h"
#include "train/fix.h"

namespace trainlab {
namespace {

CheckpointFolder checkpoints_of(const StageContext& context) {
  return {context.folder / "checkpoints", context.say_damage};
}

// Removes what the training has left after `step`; 0: all.
void forget_after(const StageContext& context, std::int64_t step) {
  checkpoints_of(context).go_back(step);
  // Rows without a checkpoint are those of a training that was lost.
  if (step == 0) std::filesystem::remove(context.folder / "metrics.jsonl");
}

// A process that was killed after it had recorded a fix may have left checkpoints with the fault.
void finish_going_back(const StageContext& context, const std::vector<Fix>& fixes) {
  const auto folder = context.folder / "checkpoints";
  const std::int64_t from = fixes.back().from;
  if (from > 0 && CheckpointFolder::newest_step(folder) <= from) return;
  if (CheckpointFolder::newest_info(folder)["fixes"] != Value(std::ssize(fixes))) forget_after(context, from);
}

}  // namespace

Value train_with_fixes(std::shared_ptr<const FitPlan> plan, const StageContext& context, const FitAttempts& attempts) {
  RunSettings settings;
  if (context.settings) settings = *context.settings;
  if (!plan->chosen.is_nil()) settings.chosen = plan->chosen;
  settings.extends_now = false;  // a checkpoint to which the fit goes back may already have the new length
  if (context.resumed && !plan->fixes.empty()) finish_going_back(context, plan->fixes);
  StageContext attempt = context;
  double lost = plan->fixes.empty() ? 0 : plan->fixes.back().flops;
  for (;;) {
    std::optional<Fix> fix;
    try {
      attempt.most_flops = context.most_flops - lost;
      Value summary = attempts.train(*plan, attempt);
      if (lost > 0) summary.set("flops", summary["flops"].number() + lost);
      return summary;
    } catch (const FixWanted& wanted) {
      fix = wanted.fix;
    }
    fix->from = checkpoints_of(context).newest_until(fix->good_until);
    const double thrown_away = fix->flops - plan->flops_until(fix->from);
    if (std::isfinite(thrown_away)) lost += thrown_away;
    fix->flops = lost;
    settings.fixes.push_back(to_value(*fix));
    const std::string line =
        "health: " + text_of(*fix) + " because of " + fix->kind + "; the training " +
        (fix->from > 0 ? "goes back to step " + std::to_string(fix->from) + ", its last good checkpoint"
                       : "begins anew");
    // When a checkpoint is written depends on how fast the machine is, and a training that was interrupted has figures
    // of fewer steps than one that was not.
    const bool is_exact = fix->from == 0 && !context.resumed;
    // A kill before the fix is recorded leads to the same fault, and to the same fix; nothing is removed before.
    context.keep_fixes(settings.fixes, is_exact ? "" : line);
    if (is_exact) context.say(line);
    forget_after(context, fix->from);
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

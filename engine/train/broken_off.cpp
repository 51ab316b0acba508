// An error that a callback raises between two steps: the steps that are done are saved, and a resume calls the callback
// again.
#include <exception>

#include "loop.h"

namespace trainlab {

bool FitLoop::breaks_off_in_validation() const {
  const std::optional<std::string>& callback = members_.front()->broken_off();
  return !is_group_ && callback && (callback == "validate" || callback == "epoch") &&
         members_.front()->validated_step() == position_.step;
}

// All that the step has changed is whole. What the callback itself has changed before its error, as in run.state, is
// saved too, and happens again when the callback is called again (docs/guide.md).
bool FitLoop::save_broken_off() {
  const bool is_of_trial = fits_.front().context.manifest == nullptr;
  if (is_of_trial || !members_.front()->broken_off()) return false;
  try {
    commit_all();
    return true;
  } catch (const std::exception&) {
    return false;  // the error of the callback says more
  }
}

void FitLoop::go_on_from_callback() {
  Member& member = *members_.front();
  const std::optional<std::string> callback = member.broken_off();
  if (!callback) return;
  if (callback == "checkpoint") {  // the last callback of a step
    member.went_on();
    if (!finished()) commit_all();
    return;
  }
  if (callback == "step") {
    member.repeat_step_callback();
    for (const auto& observer : company_.observers) observer->stepped(position_.step);
  }
  end_step();
}

}  // namespace trainlab

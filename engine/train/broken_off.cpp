// An error that a function of the recipe raises, or what the recipe reads: the steps that are done are saved, and a
// resume calls the function, or reads, again.
#include <algorithm>
#include <array>
#include <exception>
#include <optional>
#include <string>
#include <string_view>

#include "loop.h"

namespace trainlab {

bool FitLoop::breaks_off_in_validation() const {
  const std::optional<std::string>& callback = members_.front()->broken_off();
  constexpr std::array<std::string_view, 4> after_measuring{"validate", "epoch", "tell", "stop"};
  return !is_group_ && callback && std::ranges::find(after_measuring, *callback) != after_measuring.end() &&
         members_.front()->validated_step() == position_.step;
}

std::vector<MetricMap> FitLoop::measure_validation() {
  try {
    return measure(*validation_);
  } catch (const Error&) {
    members_.front()->break_off("validation");
    throw;
  }
}

// Changes that the function made before its error, in run.state for example, are saved too, and are made again when the
// function is called again (docs/guide.md).
std::optional<SavedError> FitLoop::saved(const Error& error) {
  const Member& member = *members_.front();
  const bool is_of_trial = fits_.front().context.manifest == nullptr;
  const bool is_between_steps = member.broken_off().has_value();
  // Data that the fit reads may go wrong in a step and in a validation too.
  const bool is_callback = is_between_steps && member.broken_off() != "validation";
  const bool is_of_function = is_raised_by_function(error) || (is_callback && error.kind() == ErrorKind::recipe);
  if (is_of_trial || member.failure()) return std::nullopt;
  if (!is_between_steps && error.kind() != ErrorKind::recipe) return std::nullopt;
  if (position_.step == 0)
    return is_of_function && !is_callback ? std::optional(SavedError(error, "", true, 0)) : std::nullopt;

  const std::string done = std::to_string(position_.step);
  std::string kept;
  try {
    if (is_in_step_ && !trained_->take_back_step()) {
      kept = "the step after step " + done + " had changed the model before its error, so the run goes on from " +
             (committed_step_ > 0 ? "its checkpoint of step " + std::to_string(committed_step_) : "the first step");
    } else {
      if (!is_ending_) commit_all();
      const std::string without = member.left_out();
      kept = "the run is saved up to step " + done + (without.empty() ? "" : " without " + without) +
             (is_of_function ? ", where it calls this function again" : "");
    }
  } catch (const std::exception&) {
    return std::nullopt;  // the error of the function says more
  }
  // The other functions that are called between steps may always be others in a mended recipe.
  const bool is_of_training = is_of_function && !is_callback;
  return SavedError(error, kept, is_of_function, is_of_training ? std::optional(position_.step) : std::nullopt);
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

#include "trials/trial_rows.h"

namespace trainlab {

void TrialRows::row(const std::function<std::optional<double>(const std::string&)>& value) {
  std::vector<double> values;
  for (const Objective& one : plan_.objectives()) {
    const std::optional<double> number = value(one.metric);
    if (!number) return;
    values.push_back(*number);
  }
  watch_.report(std::move(values));
}

Resumable TrialRows::part() {
  return {.name = "trial",
          .state = [this] { return watch_.state(); },
          .restore = [this](const Value& state, const NamedTensors&) { watch_.restore(state); }};
}

}  // namespace trainlab

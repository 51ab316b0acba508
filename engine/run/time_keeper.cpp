#include "run/time_keeper.h"

#include <algorithm>
#include <exception>
#include <utility>

namespace trainlab {

namespace {

// A save waits for the disk.
double most_unsaved(double budget_seconds) {
  constexpr double share = 0.02, most = 5;
  return budget_seconds > 0 ? std::min(share * budget_seconds, most) : most;
}

}  // namespace

TimeKeeper::TimeKeeper(double budget_seconds, std::function<void()> save)
    : saves_(most_unsaved(budget_seconds), [save = std::move(save)] {
        try {
          save();
        } catch (const std::exception&) {
        }
      }) {}

}  // namespace trainlab

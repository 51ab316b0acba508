#include "searching.h"

#include <utility>

#include "core/clock.h"
#include "core/error.h"

namespace trainlab {

Searching::Searching(const RunSettings& settings, std::string what)
    : settings_(settings), what_(std::move(what)), begin_(steady_seconds()) {}

void Searching::tries() {
  if (stop_requested()) throw Error(ErrorKind::interrupted, "asked to stop during the search for " + what_);
  constexpr double moment = 1;  // seconds
  if (is_told_ || !settings_.say || steady_seconds() - begin_ < moment) return;
  is_told_ = true;
  settings_.say("memory: the search for " + what_ + " takes a while: it predicts what a training takes in many ways");
}

}  // namespace trainlab

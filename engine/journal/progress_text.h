// Texts of the progress reporters. Private to the module.
#pragma once

#include <cstdint>
#include <string>

#include "journal/observer.h"

namespace trainlab {

// "812", "12.3k", "4.56M".
std::string short_count(double x);
// "0:12", "1:02:03", "2 d 3 h", from seconds.
std::string short_time(double seconds);

// "epoch 3  step 69  train.loss 0.412  val.loss 0.398  val.accuracy 0.891  lr 2.9e-03  12.3k samples/s  best":
// training before validation before the rest, losses first. samples_per_second 0: unknown, left out. `forecast`: the
// line's end, left out if empty.
std::string validation_line(const ValidationView& view, double samples_per_second, const std::string& forecast);

// The numbers that a drawn bar shows.
struct BarState {
  StepView step;
  double loss = 0;
  double steps_per_second = 0;    // 0: unknown
  double samples_per_second = 0;  // 0: unknown
  double seconds = 0;             // used of a budget of time
  std::string forecast = {};      // of the monitored metric; empty: none
};
// One line of at most `columns` − 1 characters; the least important parts are left out if there is no room.
std::string bar_line(const FitView& fit, const BarState& state, int columns);
// The same numbers between two validations, for a log: "epoch 3/40  step 69/920  7%  train.loss 0.412  lr 2.9e-03
// 12.3k samples/s  ETA 0:12". A loss or rate that is NaN is left out.
std::string step_line(const FitView& fit, const BarState& state);

}  // namespace trainlab

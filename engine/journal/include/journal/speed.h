// SpeedMeter: where the wall time of a fit or a task goes. Every run measures this, by a few readings of the clock in a
// step, and its summary has the result as `speed`.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/value.h"
#include "journal/recent_work.h"
#include "run/core_use.h"

namespace trainlab {

// Seconds that the calling thread was ready to run since its start but had no core, as the kernel counts them; nothing
// where the kernel does not.
std::optional<double> seconds_without_core();

// Not thread-safe: used on the thread that trains, whose recent_work() it keeps. Times are readings of
// steady_seconds(), or of a clock of a test's own. All figures are of this process: what earlier attempts of a run took
// is not in them.
class SpeedMeter {
 public:
  using WithoutCore = std::function<std::optional<double>()>;
  using Cores = std::function<std::optional<CoreSeconds>()>;
  // The arguments are others in tests.
  explicit SpeedMeter(WithoutCore without_core = seconds_without_core, Cores cores = core_seconds);

  // The loop begins, and with it the wall time of which shares are told. The commands tell the user more about a note:
  // of waiting for data, and of waiting for cores; empty: there is none.
  void begin(double now, std::string on_input = {}, std::string on_cores = {});
  // A training step that began at `begin` waited for its batches until `fetched` and ended at `end`. `samples`: those
  // that it was trained on, 0 where a step has none.
  void stepped(double begin, double fetched, double end, std::int64_t samples) {
    samples_ += samples;
    training_ += end - fetched;
    input_ += fetched - begin;
    count(end - begin);
    recent_work().add({.begin = begin, .fetched = fetched, .end = end, .samples = samples});
    if (end >= next_look_) look(end);
  }
  void evaluated(double begin, double end) {
    evaluation_ += end - begin;
    recent_work().add({.phase = Phase::validate, .begin = begin, .fetched = begin, .end = end});
  }
  void committed(double begin, double end) {
    checkpoint_ += end - begin;
    recent_work().add({.phase = Phase::commit, .begin = begin, .fetched = begin, .end = end});
  }

  // Calls `say` with each new note for the user, "note: …", at most one for each cause: the training waits for batches,
  // or for a core, which other work has or the run's own threads. In the header, because every step calls it.
  template <class Say>
  void tell_notes(Say&& say) {
    if (notes_.empty()) return;
    for (const std::string& note : std::exchange(notes_, {})) say("note: " + note);
  }

  // The field `speed` of a summary. `peak_memory` in bytes.
  Value to_value(double now, std::int64_t peak_memory) const;

 private:
  void count(double seconds);
  void look(double now);
  // Finds out who has the cores for which the training waits. Between two such looks, because the figures of all
  // processes are too dear for trainings that do not wait.
  void look_for_cores(double now);
  // The share of the time since the beginning; nothing where it is not known.
  std::optional<double> share_without_core(double now) const;
  // The quantile `share` of the steps' times, to 1 %. At least one step was counted.
  double quantile(double share) const;

  struct CoreLook {
    double at, without_core;
    CoreSeconds cores;
  };

  const WithoutCore without_core_;
  const Cores cores_;
  double begin_ = 0, next_look_ = 0;
  double training_ = 0, input_ = 0, evaluation_ = 0, checkpoint_ = 0;  // seconds
  std::vector<std::uint32_t> steps_;                                   // by the logarithm of their time
  std::int64_t step_count_ = 0, samples_ = 0;
  std::optional<double> wait_at_begin_;
  std::optional<CoreLook> core_look_;  // the last one, while the training waits for cores
  std::string on_input_, on_cores_;
  bool told_input_ = false, told_core_ = false;
  std::vector<std::string> notes_;
};

}  // namespace trainlab

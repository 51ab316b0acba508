// Where the wall time of trainings goes. A SpeedMeter measures one fit or task, in every run, by a few readings of the
// clock in a step. The figures of several trainings add up: those of one belong to a SpeedTotal of all that a process
// trains for a stage. The summary of a stage has the figures as `speed`.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/value.h"
#include "journal/recent_work.h"
#include "journal/step_times.h"
#include "run/core_use.h"
#include "run/stage.h"

namespace trainlab {

// Seconds that the calling thread was ready to run since its start but had no core, as the kernel counts them; nothing
// where the kernel does not.
std::optional<double> seconds_without_core();

// The commands that notes about trainings name beside their figures.
struct SpeedWords {
  std::string on_input = {}, on_cores = {};  // the commands that tell the user more; empty: there is none
};
// The words of a stage while it trains. When the stage has ended, there is no process to attach to any more.
SpeedWords words_while_training(const StageContext& stage);
SpeedWords words_at_end(const StageContext& stage);

// The figures of one training, or of several. Seconds of wall time add up over trainings, also over those that ran side
// by side.
struct SpeedFigures {
  double wall = 0;                                                 // seconds
  double training = 0, input = 0, evaluation = 0, checkpoint = 0;  // seconds of these
  // Seconds of `input` in the recipe's own transforms; NaN where a process of an earlier version has not told them.
  double transform = 0;
  double without_core = 0;  // seconds; NaN where the system does not tell
  // The seconds of `without_core` whose reason is known: other work had the cores, or the run's own threads.
  double for_others = 0, for_own = 0;
  std::int64_t samples = 0;
  std::int64_t peak_memory = 0;  // bytes, the most of one process
  StepTimes steps = {};

  void add(const SpeedFigures& other);
  // The field `speed` of a summary.
  Value to_value(const SpeedWords& words = {}) const;
  // All of the figures, for add() in another process.
  Value sums() const;
  // Adds such sums. False, and nothing is added, where the value is none.
  bool add(const Value& sums);
};

// What the user is told about figures: trainings have waited for batches, or for a core.
struct SpeedNote {
  enum class Cause { input, cores } cause;
  std::string text;
};
// None before there are some seconds of training.
std::vector<SpeedNote> speed_notes(const SpeedFigures& figures, const SpeedWords& words);

// Not thread-safe: used on the thread that trains.
class SpeedTotal {
 public:
  using Say = std::function<void(const std::string&)>;
  using Cores = std::function<std::optional<CoreSeconds>()>;  // core_seconds, except in tests
  // `say` gets "note: …", for each cause once; null: nobody is told, and nobody looks at who has the cores.
  SpeedTotal(Say say, SpeedWords words, Cores cores = core_seconds);

  // Tells what deserves a note, given what the present training has measured so far. Returns the seconds without a core
  // since the last look, by their reasons; none where these are not known.
  WaitReasons look(const SpeedFigures& present, double now);
  // Seconds of training until the next look.
  double seconds_to_look() const;
  // A training has ended.
  void add(const SpeedFigures& training);
  // The figures of the trainings that have ended since the last call.
  SpeedFigures take();

 private:
  struct CoreLook {
    double at;                     // by the clock
    double trained, without_core;  // seconds of all trainings until then
    CoreSeconds cores;
  };
  // Looks at who has the cores, between two looks at trainings that wait: the times of all processes are too dear for
  // trainings that do not wait.
  WaitReasons look_at_cores(const SpeedFigures& all, double now);

  Say say_;
  SpeedWords words_;
  Cores cores_;
  std::optional<CoreLook> core_look_;  // the last one, while trainings wait for cores
  SpeedFigures ended_, untaken_;
  double next_look_ = 0;  // at these seconds of wall time of all trainings
  std::set<SpeedNote::Cause> told_;
};

// Not thread-safe: used on the thread that trains, whose recent_work() it keeps. Times are readings of
// steady_seconds(), or of a clock of a test's own. All figures are of this process: what earlier attempts of a run took
// is not in them.
class SpeedMeter {
 public:
  using CoreWait = std::function<std::optional<double>()>;  // seconds_without_core, except in tests
  explicit SpeedMeter(CoreWait core_wait = seconds_without_core);

  // The loop begins, and with it the wall time of which shares are told. `total` lives until end().
  void begin(double now, SpeedTotal& total);
  // A training step that began at `begin` waited for its batches until `fetched` and ended at `end`. `samples`: those
  // that it was trained on, 0 where a step has none. `transforming`: seconds of the wait in transforms of the recipe.
  // May tell a note.
  void stepped(double begin, double fetched, double end, std::int64_t samples, double transforming = 0) {
    figures_.samples += samples;
    figures_.training += end - fetched;
    figures_.input += fetched - begin;
    figures_.transform += transforming;
    figures_.steps.count(end - begin);
    recent_work().add({.begin = begin, .fetched = fetched, .end = end, .samples = samples});
    if (end >= next_look_) look(end);
  }
  void evaluated(double begin, double end) {
    figures_.evaluation += end - begin;
    recent_work().add({.phase = Phase::validate, .begin = begin, .fetched = begin, .end = end});
  }
  void committed(double begin, double end) {
    figures_.checkpoint += end - begin;
    recent_work().add({.phase = Phase::commit, .begin = begin, .fetched = begin, .end = end});
  }

  // The figures until now. `peak_memory` in bytes.
  SpeedFigures figures(double now, std::int64_t peak_memory) const;
  // The total counts the figures until now, once, and the meter forgets the total.
  void end(double now, std::int64_t peak_memory);

 private:
  void look(double now);

  CoreWait core_wait_;
  SpeedTotal* total_ = nullptr;
  double begin_ = 0, next_look_ = 0;
  SpeedFigures figures_;  // without those that are read at the end
  std::optional<double> wait_at_begin_;
};

}  // namespace trainlab

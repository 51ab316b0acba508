// The timeline of some training steps: every phase, layer and operator of the training thread, the stages of the
// loader's threads, and the curves of memory, of the loader's queue and of the speed. `trainlab profile --trace FILE`
// writes a timeline for chrome://tracing and ui.perfetto.dev, and `--html PAGE` draws the last steps.
#pragma once

#include <cstdint>
#include <deque>
#include <filesystem>
#include <string>
#include <vector>

#include "core/registry.h"
#include "core/value.h"
#include "run/stage.h"
#include "train/fit_plan.h"

namespace trainlab {

struct TimelineEvent {
  enum class Kind : std::uint8_t { phase, layer, recipe, operation, input, counter };
  Kind kind = Kind::phase;
  std::uint16_t thread = 0;  // index into `threads`
  std::uint32_t name = 0;    // index into `names`
  double begin = 0;          // seconds since the timeline begins
  double value = 0;          // seconds that the event lasts; the value of a counter from `begin` on
};

struct FlameLimits {
  std::int64_t steps = 3;
  std::size_t spans = 4000;  // most spans in the steps that are shown
};

struct Timeline {
  std::vector<std::string> threads;  // "training", "loader 1", …
  std::vector<std::string> names;
  // The events in the order of their ends, so that an event comes after those inside. A recording keeps as many events
  // as fit into a file of a limited size; the oldest are dropped.
  std::deque<TimelineEvent> events;
  std::int64_t steps = 0;  // recorded steps

  // Writes the JSON object of Google's "Trace Event Format": complete events, whose times are microseconds, and
  // counters `tensor memory` (bytes), `batches ready` and `samples per second`. Error{run} where the file cannot be
  // written; then there is no file, or the previous one.
  void write(const std::filesystem::path& path) const;

  // The last steps for a flame chart: { threads, names, steps, seconds, spans = { { thread, depth, kind, name, begin,
  // seconds }, … }, left_out }, where `thread` and `name` are places in the lists, from 0, `depth` is the number of
  // spans around the span on its thread, and `begin` counts from the first of these steps. If there are more spans than
  // the limit, the longest are kept, and `left_out` is the number of the others. nil where no step has ended.
  Value flame(const FlameLimits& limits = {}) const;
};

struct TimelineLimits {
  std::int64_t steps = 20;         // steps of the fit, its cold ones included
  std::size_t bytes = 40'000'000;  // of the events in the file at most: about 300,000 events
};

// Trains the plan's fit without a folder for limits.steps, or until the fit ends by itself, and records what happens.
// Nothing is written, and the results are thrown away; of the functions in `on` only `start` is called. The plan is
// unchanged afterwards. Operators of a device other than the CPU, which runs behind the host, appear at the time at
// which the host calls them. Errors of the fit are raised. Uses the calling thread.
Timeline record_timeline(FitPlan& plan, const TimelineLimits& limits = {});

// The same of a task, whose steps are the passes through its loops: without the stages of the loader's threads, and
// without the curves of the loader's queue and of the speed. Runs the task from its beginning, in a temporary folder.
// Error{run} where no step ended.
Timeline record_task_timeline(const Options& task, const RunSettings& settings, const TimelineLimits& limits = {});

}  // namespace trainlab

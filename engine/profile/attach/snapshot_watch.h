// SnapshotWatch: records some steps of a running fit when a request asks for them. Private to the room.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "journal/observer.h"
#include "layers/listening_to_operators.h"
#include "run/snapshot.h"
#include "steps/step_collector.h"
#include "timeline/timeline_recorder.h"
#include "train/fit_plan.h"
#include "train/loop_observer.h"

namespace trainlab {

// Adds up the steps of a fit that goes on afterwards: a StepCollector alone would end the fit.
class LiveSteps final : public TraceListener {
 public:
  explicit LiveSteps(double seconds) : collector_({.seconds = seconds, .cold = 0}) { collector_.run_began(); }
  void began(Phase phase, std::string_view name) override {
    if (!is_done()) collector_.began(phase, name);
  }
  void ended(Phase phase, std::string_view name) noexcept override {
    if (!is_done()) collector_.ended(phase, name);
  }
  bool is_done() const { return collector_.is_done(); }
  StepFigures figures() { return collector_.figures(); }

 private:
  StepCollector collector_;
};

// Used by the thread that trains. First the phases of steps are timed, which costs about a microsecond a step; then,
// where a trace is wanted, other steps are recorded with their operators.
class SnapshotWatch final : public Observer, public LoopObserver {
 public:
  // `plan` outlives the object. `stage`: the folder of the fit.
  SnapshotWatch(const FitPlan& plan, std::filesystem::path stage);

  void started(const FitView& view) override { run_ = view.run; }
  void stepped(std::int64_t step) override;
  void finished(std::int64_t step) override;

 private:
  using LoopObserver::started;
  using Observer::finished;
  using Observer::stepped;

  struct Timing {
    explicit Timing(double seconds) : steps(seconds), listening(std::in_place, steps) {}
    LiveSteps steps;
    std::optional<Listening> listening;
  };
  struct Tracing {
    Tracing(std::int64_t step_samples, double end);
    TimelineRecorder recorder;
    std::optional<ListeningToOperators> operators;
    std::optional<Listening> listening;
    double until;  // by steady_seconds()
  };
  struct Recording {
    explicit Recording(SnapshotRequest asked) : request(std::move(asked)) {}
    SnapshotRequest request;
    std::optional<Timing> timing = {};
    StepFigures steps = {};  // once they are timed
    std::optional<Tracing> tracing = {};

    // The listener that hears the spans of the thread now; null between the timing and the tracing, and after both.
    const TraceListener* listener() const;
    bool has_enough() const;
    void end_listening();
  };

  void look(double now);
  // Goes on with the recording; with the last step of the fit, ends it.
  void go_on(std::int64_t step, bool is_last);
  void answer(std::int64_t step);
  // The field `speed` of the fit's summary, as it is now.
  Value speed() const;

  const FitPlan& plan_;
  std::filesystem::path stage_;
  std::weak_ptr<Object> run_;
  double next_look_ = 0;
  std::string last_id_;  // of the request that was served last; one whose answer failed is not begun again
  std::optional<Recording> recording_;
};

}  // namespace trainlab

// Snapshots: records some steps of a training that goes on, when a request or the training itself asks for them.
// Private to the room.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "journal/recent_work.h"
#include "layers/listening_to_operators.h"
#include "profile/profile.h"
#include "run/snapshot.h"
#include "steps/step_collector.h"
#include "timeline/timeline_recorder.h"

namespace trainlab {

// Adds up the steps of a training that goes on afterwards: a StepCollector alone would end it.
class LiveSteps final : public TraceListener {
 public:
  // `wait`: StepLimits::wait.
  LiveSteps(double seconds, std::function<void()> wait);
  void began(Phase phase, std::string_view name) override {
    if (!is_done()) collector_.began(phase, name);
  }
  void ended(Phase phase, std::string_view name) noexcept override {
    if (!is_done()) collector_.ended(phase, name);
  }
  // A step, where the loop has no spans of steps.
  void step_began() {
    if (!is_done()) collector_.step_began();
  }
  void step_ended() noexcept {
    if (collector_.in_step()) collector_.step_ended();
  }
  bool is_done() const { return collector_.is_done(); }
  StepFigures figures() { return collector_.figures(); }

 private:
  StepCollector collector_;
};

// The training that answers requests.
struct SnapshotSubject {
  std::filesystem::path stage = {};  // the folder in which requests lie
  std::string note = {};             // which training of the stage this is; empty: the stage itself
  double samples = 0;                // in a step; 0: unknown
  bool has_step_spans = true;        // whether its loop opens a span for each step
  std::function<void()> wait = {};   // StepLimits::wait
  std::function<Profile(StepFigures)> profile = {};
  // The field `speed` of the summary, as it is now; null where nobody knows.
  std::function<Value()> speed = {};
};

// Used by the thread that trains. First the phases of steps are timed, which costs about a microsecond a step; then,
// where a trace is wanted, other steps are recorded with their operators. The trace begins with the work that the
// thread keeps in any case (journal/recent_work.h): before the request, and while steps were timed.
class Snapshots {
 public:
  explicit Snapshots(SnapshotSubject subject) : subject_(std::move(subject)) {}
  // Where an error has left the training, another training of the stage answers.
  ~Snapshots();
  Snapshots(const Snapshots&) = delete;

  // Records the next steps for the training itself, which takes the answer; `cold`: how many steps it has dropped
  // before. To be called where stepped() may be called, before it. Returns false, and does nothing, where steps are
  // recorded already or another listener hears them.
  bool record(double seconds, std::int64_t cold, std::function<void(const Value& answer)> take);
  // To be called at the end of each step, which counts those of the stage, within the step's span; where the loop has
  // no spans of steps, before each step.
  void stepped(std::int64_t step);
  // To be called at the end of each step, where the loop has no spans of steps.
  void passed() noexcept;
  // To be called when the training has ended.
  void finished(std::int64_t step);

 private:
  struct Timing {
    Timing(double seconds, std::function<void()> wait)
        : steps(seconds, std::move(wait)), listening(std::in_place, steps) {}
    LiveSteps steps;
    std::optional<Listening> listening;
  };
  struct Tracing {
    // Begins with the `past` of the thread, and ends at `end`, or when the file would be too large.
    Tracing(const std::vector<PieceOfWork>& past, double step_samples, double end);
    void step_began();
    void step_ended() noexcept;
    TimelineRecorder recorder;
    std::optional<ListeningToOperators> operators;
    std::optional<Listening> listening;
    double until;  // by steady_seconds()
    bool in_step = false;
  };
  struct Recording {
    Recording(SnapshotRequest asked, std::function<void()> wait);
    SnapshotRequest request;
    std::function<void(const Value&)> take = {};  // where no file asks, and none answers
    std::vector<PieceOfWork> past = {};           // of a trace: what the thread did before it begins
    double past_end;                              // `past` has what ended until then, by steady_seconds()
    std::optional<Timing> timing;
    std::int64_t cold = 0;   // steps that were dropped before
    StepFigures steps = {};  // once they are timed
    std::optional<Tracing> tracing = {};
    bool is_wanted = true;  // whether somebody waited for the answer when the training last looked

    // Adds to `past` what has ended since, where a trace is wanted.
    void add_past();
    // The listener that hears the spans of the thread now; null between the timing and the tracing, and after both.
    const TraceListener* listener() const;
    // A step, where the loop has no spans of steps.
    void step_began();
    void step_ended() noexcept;
    bool has_enough();
    void end_listening();
  };

  void look(double now);
  void begin(SnapshotRequest request);
  // Goes on with the recording; with the last step of the training, ends it.
  void go_on(std::int64_t step, bool is_last);
  // Whether somebody waits for the answer of the recording.
  bool is_asked() const;
  // Asks this once a second.
  void look_whether_wanted();
  // Ends a recording for which nobody waits any more, and looks for the next request with the next step.
  void drop() noexcept;
  void answer(std::int64_t step);
  Value answer_of(std::int64_t step);  // of what the recording has; writes the trace
  // Ends a recording without an answer, and lets another training of the stage answer.
  void give_up() noexcept;

  const SnapshotSubject subject_;
  double next_look_ = 0;
  std::string last_id_;  // of the request that was taken last; one whose answer failed is not begun again
  std::optional<Recording> recording_;
};

}  // namespace trainlab

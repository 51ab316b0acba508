// TimelineRecorder: hears spans, operators and the stages of the input, and keeps the latest as events. Private
// to the room.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <vector>

#include "core/input_trace.h"
#include "core/trace.h"
#include "journal/recent_work.h"
#include "layers/listening_to_operators.h"
#include "profile/timeline.h"

namespace trainlab {

// Hears spans and operators of the thread that makes the recorder, and input stages of any thread. Thread-safe.
class TimelineRecorder final : public TraceListener, public InputListener, public OperatorListener {
 public:
  // Keeps the last events that take at most `most_bytes` in the file. `step_samples`: samples of a training step; 0:
  // unknown. `now` returns the time in seconds.
  TimelineRecorder(std::size_t most_bytes, double step_samples, std::function<double()> now);

  // Lets the timeline begin with work that came before the recording. To be called before all else.
  void add_past(const std::vector<PieceOfWork>& past);
  // Whether the next event might drop another one.
  bool is_full();

  void began(Phase phase, std::string_view name) override;
  void ended(Phase phase, std::string_view name) noexcept override;
  void operation_began(std::string_view name);
  void operation_ended();
  void function_began(const at::RecordFunction& function) override;
  void function_ended(const at::RecordFunction&) override { operation_ended(); }

  void began(InputStage stage) noexcept override;
  void ended(InputStage stage, std::int64_t samples) noexcept override;
  void sample_began(std::int64_t) noexcept override {}
  void sample_ended(std::int64_t) noexcept override {}
  void taking(std::int64_t ready, std::int64_t capacity) noexcept override;

  // Gives the timeline away. To be called when nothing reports to the recorder any more.
  Timeline take() { return std::move(timeline_); }

 private:
  struct Open {
    TimelineEvent::Kind kind;
    std::uint32_t name;
    double begin;
  };
  struct Thread {
    std::uint16_t index;
    std::vector<Open> open;  // open spans, the outermost first
  };

  // The caller of each of the following functions holds the lock.
  Thread& thread();
  std::uint32_t name_of(std::string_view name);
  void open(TimelineEvent::Kind kind, std::string_view name);
  void close();
  void add(const TimelineEvent& event);
  void count(std::string_view name, double value);
  void count_memory();

  const std::size_t most_bytes_;
  const double step_samples_;
  const std::function<double()> now_;
  double begin_;
  std::mutex mutex_;
  Timeline timeline_;
  std::size_t bytes_ = 0;                 // of all events, at most, in the file
  std::vector<std::size_t> event_bytes_;  // of an event by its name
  std::map<std::thread::id, Thread> threads_;
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  std::unordered_map<std::string, std::uint32_t, Hash, std::equal_to<>> names_;
  std::int64_t last_memory_ = -1;
  double last_step_ = -1;  // when the previous step ended
};

}  // namespace trainlab

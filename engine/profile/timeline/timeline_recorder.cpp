#include "timeline_recorder.h"

#include <ATen/record_function.h>

#include <algorithm>

#include "core/value.h"
#include "function_path.h"
#include "tensor/memory.h"

namespace trainlab {

namespace {

// Bytes of an event in the file beside its name: with 24 characters at most for each of the two numbers, and five for
// that of the thread.
constexpr std::size_t most_without_name = 128;

}  // namespace

TimelineRecorder::TimelineRecorder(std::size_t most_bytes, double step_samples, std::function<double()> now)
    : most_bytes_(most_bytes), step_samples_(step_samples), now_(std::move(now)), begin_(now_()) {
  thread();  // makes the calling thread, which trains, the first in the list
}

TimelineRecorder::Thread& TimelineRecorder::thread() {
  const auto [found, is_new] = threads_.try_emplace(std::this_thread::get_id());
  if (is_new) {
    const std::size_t index = timeline_.threads.size();
    found->second.index = static_cast<std::uint16_t>(index);
    timeline_.threads.push_back(index == 0 ? "training" : "loader " + std::to_string(index));
  }
  return found->second;
}

std::uint32_t TimelineRecorder::name_of(std::string_view name) {
  if (const auto found = names_.find(name); found != names_.end()) return found->second;
  const auto index = static_cast<std::uint32_t>(timeline_.names.size());
  timeline_.names.emplace_back(name);
  names_.emplace(name, index);
  event_bytes_.push_back(most_without_name + to_json(Value(std::string(name))).size());
  return index;
}

void TimelineRecorder::add(const TimelineEvent& event) {
  std::deque<TimelineEvent>& events = timeline_.events;
  events.push_back(event);
  bytes_ += event_bytes_[event.name];
  for (; bytes_ > most_bytes_; events.pop_front()) bytes_ -= event_bytes_[events.front().name];
}

void TimelineRecorder::add_past(const std::vector<PieceOfWork>& past) {
  if (past.empty()) return;
  const std::lock_guard lock(mutex_);
  const auto earlier = [](const PieceOfWork& one, const PieceOfWork& other) { return one.begin < other.begin; };
  begin_ = std::ranges::min_element(past, earlier)->begin;
  const auto add_span = [&](Phase phase, double begin, double end) {
    add({.kind = TimelineEvent::Kind::phase,
         .name = name_of(phase_name(phase)),
         .begin = begin - begin_,
         .value = end - begin});
  };
  double last_step = -1;
  for (const PieceOfWork& piece : past) {
    if (piece.fetched > piece.begin) add_span(Phase::fetch, piece.begin, piece.fetched);
    add_span(piece.phase, piece.begin, piece.end);
    if (piece.phase != Phase::step) continue;
    if (step_samples_ > 0 && piece.samples > 0 && last_step >= 0 && piece.end > last_step) {
      add({.kind = TimelineEvent::Kind::counter,
           .name = name_of("samples per second"),
           .begin = piece.end - begin_,
           .value = static_cast<double>(piece.samples) / (piece.end - last_step)});
    }
    last_step = piece.end;
  }
}

bool TimelineRecorder::is_full() {
  const std::lock_guard lock(mutex_);
  const std::size_t largest = event_bytes_.empty() ? 0 : *std::ranges::max_element(event_bytes_);
  return bytes_ + largest > most_bytes_;
}

void TimelineRecorder::open(TimelineEvent::Kind kind, std::string_view name) {
  thread().open.push_back({.kind = kind, .name = name_of(name), .begin = now_()});
}

void TimelineRecorder::close() {
  Thread& closing = thread();
  // A thread may end a span that it began before the recording.
  if (closing.open.empty()) return;
  const Open last = closing.open.back();
  closing.open.pop_back();
  add({.kind = last.kind,
       .thread = closing.index,
       .name = last.name,
       .begin = last.begin - begin_,
       .value = now_() - last.begin});
}

void TimelineRecorder::function_began(const at::RecordFunction& function) { operation_began(function.name()); }

void TimelineRecorder::count(std::string_view name, double value) {
  add({.kind = TimelineEvent::Kind::counter, .name = name_of(name), .begin = now_() - begin_, .value = value});
}

void TimelineRecorder::count_memory() {
  const std::int64_t bytes = live_tensor_bytes();
  if (bytes == last_memory_) return;
  last_memory_ = bytes;
  count("tensor memory", static_cast<double>(bytes));
}

void TimelineRecorder::began(Phase phase, std::string_view name) {
  using Kind = TimelineEvent::Kind;
  const std::lock_guard lock(mutex_);
  switch (phase) {
    case Phase::layer: return open(Kind::layer, name);
    case Phase::callback: return open(Kind::recipe, function_path(name));
    default: return open(Kind::phase, phase_name(phase));
  }
}

void TimelineRecorder::ended(Phase phase, std::string_view) noexcept {
  const std::lock_guard lock(mutex_);
  close();
  count_memory();
  if (phase != Phase::step) return;
  ++timeline_.steps;
  const double now = now_();
  if (last_step_ >= 0 && step_samples_ > 0) count("samples per second", step_samples_ / (now - last_step_));
  last_step_ = now;
}

void TimelineRecorder::operation_began(std::string_view name) {
  const std::lock_guard lock(mutex_);
  open(TimelineEvent::Kind::operation, name);
}

void TimelineRecorder::operation_ended() {
  const std::lock_guard lock(mutex_);
  close();
  count_memory();
}

void TimelineRecorder::began(InputStage stage) noexcept {
  const std::lock_guard lock(mutex_);
  open(TimelineEvent::Kind::input, stage_name(stage));
}

void TimelineRecorder::ended(InputStage, std::int64_t) noexcept {
  const std::lock_guard lock(mutex_);
  close();
}

void TimelineRecorder::taking(std::int64_t ready, std::int64_t) noexcept {
  const std::lock_guard lock(mutex_);
  count("batches ready", static_cast<double>(ready));
}

}  // namespace trainlab

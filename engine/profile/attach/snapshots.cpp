#include "snapshots.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/clock.h"
#include "steps/operator_count.h"
#include "tensor/types.h"
#include "time_text.h"

namespace trainlab {

namespace {

constexpr double look_every = 1;  // seconds
// Seconds before the request that a trace has; twice those that are recorded, where these are more. Slow steps are kept
// for hours (RecentWork), beside which nobody would find those that are recorded.
constexpr double least_past = 60;

// The figures of the whole process so far, as text.
std::string speed_so_far_text(const Value& speed) {
  std::string shares;
  for (const char* name : {"training", "input", "evaluation", "checkpoint", "other"}) {
    const Value& share = speed["shares"][name];
    if (share.is_number())
      shares += fmt::format("{}{} {:.1f} %", shares.empty() ? "" : ", ", name, 100 * share.number());
  }
  if (shares.empty()) return "";
  std::string text = "\nsince this process began to train: " + shares + " of the time\n";
  const Value &steps = speed["step_seconds"], &samples = speed["samples_per_second"];
  if (steps["median"].is_number()) {
    text += fmt::format("a step took {} in the median, and 95 % of all at most {}", time_text(steps["median"].number()),
                        time_text(steps["p95"].number()));
    if (samples.is_number()) text += "; " + count_text(std::round(samples.number())) + " samples/s";
    text += "\n";
  }
  return text;
}

}  // namespace

LiveSteps::LiveSteps(double seconds, std::function<void()> wait)
    : collector_({.seconds = seconds, .cold = 0, .wait = std::move(wait)}, steady_seconds) {
  collector_.run_began();
}

Snapshots::Tracing::Tracing(const std::vector<PieceOfWork>& past, double step_samples, double end)
    : recorder(TimelineLimits().bytes, step_samples, steady_seconds),
      operators(std::in_place, recorder, Hearing::operators),
      listening(std::in_place, recorder),
      until(end) {
  recorder.add_past(past);
}

void Snapshots::Tracing::step_began() {
  in_step = true;
  recorder.began(Phase::step, {});
}

void Snapshots::Tracing::step_ended() noexcept {
  if (std::exchange(in_step, false)) recorder.ended(Phase::step, {});
}

Snapshots::Recording::Recording(SnapshotRequest asked, std::function<void()> wait)
    : request(std::move(asked)),
      past_end(steady_seconds() - std::max(least_past, 2 * request.seconds)),
      timing(std::in_place, request.seconds, std::move(wait)) {
  add_past();
}

void Snapshots::Recording::add_past() {
  if (!request.has_trace) return;
  const std::vector<PieceOfWork> more = recent_work().after(past_end);
  if (more.empty()) return;
  past.insert(past.end(), more.begin(), more.end());
  past_end = more.back().end;
}

const TraceListener* Snapshots::Recording::listener() const {
  if (timing && timing->listening) return &timing->steps;
  if (tracing && tracing->listening) return &tracing->recorder;
  return nullptr;
}

bool Snapshots::Recording::has_enough() {
  return timing ? timing->steps.is_done() : steady_seconds() >= tracing->until || tracing->recorder.is_full();
}

void Snapshots::Recording::end_listening() {
  if (timing) {
    timing->listening.reset();
  } else {
    tracing->listening.reset();
    tracing->operators.reset();
  }
}

void Snapshots::Recording::step_began() {
  if (timing && timing->listening) timing->steps.step_began();
  if (tracing && tracing->listening) tracing->step_began();
}

void Snapshots::Recording::step_ended() noexcept {
  if (timing && timing->listening) timing->steps.step_ended();
  if (tracing && tracing->listening) tracing->step_ended();
}

Snapshots::~Snapshots() { give_up(); }

void Snapshots::stepped(std::int64_t step) {
  const double now = steady_seconds();
  if (!recording_ && now < next_look_) return;
  try {
    recording_ ? go_on(step, false) : look(now);
  } catch (const std::exception&) {
    give_up();  // the training goes on
  }
}

void Snapshots::passed() noexcept {
  if (recording_) recording_->step_ended();
}

void Snapshots::finished(std::int64_t step) {
  if (!recording_) return;
  try {
    go_on(step, true);
  } catch (const std::exception&) {
    give_up();
  }
}

void Snapshots::give_up() noexcept {
  if (!recording_) return;
  if (!recording_->take) give_back_snapshot_request(subject_.stage, recording_->request.id);
  recording_.reset();
}

void Snapshots::look(double now) {
  // Listeners nest, and this one outlives the step: it must not begin within another one, as that of the memory. The
  // next step looks again.
  if (trace::listener) return;
  next_look_ = now + look_every;
  const std::optional<SnapshotRequest> request = snapshot_request(subject_.stage);
  if (!request || request->id == last_id_) return;
  try {
    if (!take_snapshot_request(subject_.stage, request->id)) return;  // another process answers, unless it gives up
  } catch (const Error&) {
    return withdraw_snapshot_request(subject_.stage, request->id);  // nothing can be written into the folder
  }
  last_id_ = request->id;
  begin(*request);
}

void Snapshots::begin(SnapshotRequest request) {
  recording_.emplace(std::move(request), subject_.wait);
  if (!subject_.has_step_spans) recording_->step_began();
}

bool Snapshots::record(double seconds, std::int64_t cold, std::function<void(const Value&)> take) {
  if (recording_ || trace::listener) return false;
  begin({.id = {}, .seconds = seconds});
  recording_->cold = cold;
  recording_->take = std::move(take);
  return true;
}

void Snapshots::go_on(std::int64_t step, bool is_last) {
  Recording& now = *recording_;
  // Another listener has begun within this step: the recording goes on with a later one.
  if (trace::listener != now.listener()) return;
  look_whether_wanted();
  if (now.listener()) {
    if (now.is_wanted && !now.has_enough() && !is_last) {
      if (!subject_.has_step_spans) now.step_began();
      return;
    }
    now.end_listening();
    // The span of this step has yet to tell its end to the listener, which therefore lives until the next step.
    if (!is_last) return;
  }
  if (!now.is_wanted) return drop();
  if (now.timing) {
    now.steps = now.timing->steps.figures();
    now.steps.cold = now.cold;
    now.timing.reset();
    if (now.request.has_trace && !is_last) {
      now.add_past();
      now.tracing.emplace(now.past, subject_.samples, steady_seconds() + now.request.seconds);
      if (!subject_.has_step_spans) now.step_began();
      return;
    }
  }
  answer(step);
  recording_.reset();
}

bool Snapshots::is_asked() const {
  if (recording_->take) return true;
  try {
    const std::optional<SnapshotRequest> present = snapshot_request(subject_.stage);
    return present && present->id == recording_->request.id;
  } catch (const Error&) {
    return false;  // the file cannot be read any more
  }
}

void Snapshots::look_whether_wanted() {
  const double now = steady_seconds();
  if (now < next_look_) return;
  next_look_ = now + look_every;
  recording_->is_wanted = is_asked();
}

void Snapshots::drop() noexcept {
  withdraw_snapshot_request(subject_.stage, recording_->request.id);  // where a process was killed while it waited
  recording_.reset();
  next_look_ = 0;  // another process may have asked since
}

void Snapshots::answer(std::int64_t step) {
  const SnapshotRequest& request = recording_->request;
  if (!is_asked()) return drop();
  Value found;
  try {
    found = with_torch_errors([&] { return answer_of(step); });
  } catch (const Error& error) {
    found = Value::Map{{"error", error.headline()}};
  } catch (const std::exception& error) {
    found = Value::Map{{"error", error.what()}};
  }
  if (recording_->take) return recording_->take(found);
  try {
    answer_snapshot(subject_.stage, request.id, found);
  } catch (const Error&) {
    withdraw_snapshot_request(subject_.stage, request.id);  // the process that asks need not wait
  }
}

Value Snapshots::answer_of(std::int64_t step) {
  if (recording_->tracing)
    recording_->tracing->recorder.take().write(snapshot_trace_path(subject_.stage, recording_->request.id));
  Profile profile = subject_.profile(recording_->steps);
  profile.call_seconds = seconds_of_a_call();
  const Measures measures = measures_of(profile);
  const Value so_far = subject_.speed ? subject_.speed() : Value();
  Value value = profile_value(profile, measures);
  value.set("kind", "snapshot");
  value.set("step", step);
  value.set("speed", so_far);
  if (!subject_.note.empty()) value.set("note", subject_.note);
  const std::string note = subject_.note.empty() ? "" : "\n" + subject_.note + ", measured while the stage goes on\n";
  return Value::Map{{"value", std::move(value)},
                    {"text", profile_text(profile, measures) + note + speed_so_far_text(so_far) +
                                 fmt::format("after step {}\n", step)}};
}

}  // namespace trainlab

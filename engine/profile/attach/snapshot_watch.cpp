#include "snapshot_watch.h"

#include <fmt/format.h>

#include "core/clock.h"
#include "objects/run_handle.h"
#include "profile/attach.h"
#include "stage_profile.h"
#include "steps/operator_count.h"
#include "time_text.h"

namespace trainlab {

namespace {

constexpr double look_every = 1;  // seconds

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
    if (samples.is_number()) text += fmt::format("; {:.4g} samples/s", samples.number());
    text += "\n";
  }
  return text;
}

}  // namespace

SnapshotWatch::Tracing::Tracing(std::int64_t step_samples, double end)
    : recorder(TimelineLimits().events, step_samples),
      operators(std::in_place, recorder, false),
      listening(std::in_place, recorder),
      until(end) {}

const TraceListener* SnapshotWatch::Recording::listener() const {
  if (timing && timing->listening) return &timing->steps;
  if (tracing && tracing->listening) return &tracing->recorder;
  return nullptr;
}

bool SnapshotWatch::Recording::has_enough() const {
  return timing ? timing->steps.is_done() : steady_seconds() >= tracing->until;
}

void SnapshotWatch::Recording::end_listening() {
  if (timing) {
    timing->listening.reset();
  } else {
    tracing->listening.reset();
    tracing->operators.reset();
  }
}

SnapshotWatch::SnapshotWatch(const FitPlan& plan, std::filesystem::path stage)
    : plan_(plan), stage_(std::move(stage)) {}

void SnapshotWatch::stepped(std::int64_t step) {
  const double now = steady_seconds();
  if (!recording_ && now < next_look_) return;
  try {
    recording_ ? go_on(step, false) : look(now);
  } catch (const std::exception&) {
    recording_.reset();  // the process that has asked waits in vain, and the fit goes on
  }
}

void SnapshotWatch::finished(std::int64_t step) {
  if (!recording_) return;
  try {
    go_on(step, true);
  } catch (const std::exception&) {
    recording_.reset();
  }
}

void SnapshotWatch::look(double now) {
  next_look_ = now + look_every;
  // Listeners nest, and this one outlives the step: it must not begin within another one, as that of the memory.
  if (trace::listener) return;
  const std::optional<SnapshotRequest> request = snapshot_request(stage_);
  if (!request || request->id == last_id_) return;
  last_id_ = request->id;
  recording_.emplace(*request);
  recording_->timing.emplace(request->seconds);
}

void SnapshotWatch::go_on(std::int64_t step, bool is_last) {
  Recording& now = *recording_;
  // Another listener has begun within this step: the recording goes on with a later one.
  if (trace::listener != now.listener()) return;
  if (now.listener()) {
    if (!now.has_enough() && !is_last) return;
    now.end_listening();
    // The span of this step has yet to tell its end to the listener, which therefore lives until the next step.
    if (!is_last) return;
  }
  if (now.timing) {
    now.steps = now.timing->steps.figures();
    now.timing.reset();
    if (now.request.has_trace && !is_last) {
      now.tracing.emplace(plan_.length.batch, steady_seconds() + now.request.seconds);
      return;
    }
  }
  answer(step);
  recording_.reset();
}

void SnapshotWatch::answer(std::int64_t step) {
  const SnapshotRequest& request = recording_->request;
  const std::optional<SnapshotRequest> present = snapshot_request(stage_);
  if (!present || present->id != request.id) return;  // nobody waits any more
  Value answer;
  try {
    if (recording_->tracing) recording_->tracing->recorder.take().write(snapshot_trace_path(stage_, request.id));
    Profile profile = profile_of_steps(plan_, recording_->steps);
    profile.call_seconds = seconds_of_a_call();
    const Measures measures = measures_of(profile);
    const Value so_far = speed();
    Value value = profile_value(profile, measures);
    value.set("kind", "snapshot");
    value.set("step", step);
    value.set("speed", so_far);
    answer = Value::Map{
        {"value", std::move(value)},
        {"text", profile_text(profile, measures) + speed_so_far_text(so_far) + fmt::format("after step {}\n", step)}};
  } catch (const Error& error) {
    answer = Value::Map{{"error", error.headline()}};
  }
  answer_snapshot(stage_, request.id, answer);
}

Value SnapshotWatch::speed() const {
  const auto run = std::dynamic_pointer_cast<const RunHandle>(run_.lock());
  return run ? run->speed() : Value();
}

FitAddition attach_addition() {
  return {.options = {}, .callbacks = {}, .join = [](const FitPlan& plan, FitMember& member, FitCompany& company) {
            if (member.context.folder.empty()) return;
            const auto watch = std::make_shared<SnapshotWatch>(plan, member.context.folder);
            member.observers.push_back(watch);
            company.observers.push_back(watch);
          }};
}

}  // namespace trainlab

#include "profile/pipeline.h"

namespace trainlab {

PipelineRecorder::Thread& PipelineRecorder::charged() {
  Thread& thread = threads_[std::this_thread::get_id()];
  const double now = clock_();
  if (!thread.open.empty()) stages_[thread.open.back()].seconds += now - thread.last;
  thread.last = now;
  return thread;
}

void PipelineRecorder::began(InputStage stage) noexcept {
  const std::lock_guard lock(mutex_);
  charged().open.push_back(stage);
  stages_[stage].stage = stage;
}

void PipelineRecorder::ended(InputStage stage, std::int64_t samples) noexcept {
  const std::lock_guard lock(mutex_);
  charged().open.pop_back();
  stages_[stage].samples += samples;
}

void PipelineRecorder::sample_began(std::int64_t) noexcept {
  const std::lock_guard lock(mutex_);
  Thread& thread = charged();
  thread.sample_began = thread.last;
}

void PipelineRecorder::sample_ended(std::int64_t row) noexcept {
  const std::lock_guard lock(mutex_);
  Thread& thread = charged();
  samples_.push_back({.row = row, .seconds = thread.last - thread.sample_began});
}

void PipelineRecorder::taking(std::int64_t ready, std::int64_t capacity) noexcept {
  const std::lock_guard lock(mutex_);
  fill_.push_back({.seconds = clock_(), .ready = ready, .capacity = capacity});
}

void PipelineRecorder::forget() noexcept {
  const std::lock_guard lock(mutex_);
  for (auto& [stage, cost] : stages_) cost = {.stage = stage};
  samples_.clear();
  fill_.clear();
}

std::vector<StageCost> PipelineRecorder::stages() const {
  const std::lock_guard lock(mutex_);
  std::vector<StageCost> all;
  for (const auto& [stage, cost] : stages_) all.push_back(cost);
  return all;
}

std::vector<SampleCost> PipelineRecorder::samples() const {
  const std::lock_guard lock(mutex_);
  return samples_;
}

std::vector<QueueFill> PipelineRecorder::fill() const {
  const std::lock_guard lock(mutex_);
  std::vector<QueueFill> all = fill_;
  for (QueueFill& one : all) one.seconds -= fill_.front().seconds;
  return all;
}

}  // namespace trainlab

#include "step_collector.h"

#include <algorithm>
#include <exception>
#include <numeric>
#include <utility>

#include "function_path.h"
#include "thread_load.h"
#include "train/loop_observer.h"

namespace trainlab {

namespace {

constexpr std::size_t most_blocks = 4096;                // when there are more blocks, neighbours are joined
constexpr std::size_t least_blocks = 20;                 // fewest blocks before a narrow interval ends the timing
constexpr double cold_share = 0.2, counted_share = 0.1;  // largest shares of the seconds allowed

constexpr std::size_t place(Phase phase) { return static_cast<std::size_t>(phase); }

double sum(const PhaseSeconds& seconds) { return std::accumulate(seconds.begin(), seconds.end(), 0.0); }

void add(PhaseSeconds& all, const PhaseSeconds& more) {
  for (std::size_t i = 0; i < all.size(); ++i) all[i] += more[i];
}

}  // namespace

StepCollector::StepCollector(StepLimits limits, double (*now)())
    : limits_(std::move(limits)), now_(now), cold_left_(limits_.cold) {
  open_.reserve(64);
  blocks_.reserve(most_blocks);
}

StepCollector::~StepCollector() = default;

void StepCollector::run_began() {
  settle_thread();
  counting_.reset();
  open_.clear();
  in_step_ = false;
  apart_ = 0;
  settle_phase();
  forget_since(false);
  validated_since_ = false;
  run_began_ = now_();
  is_before_steps_ = true;
  if (stage_ == Stage::done) return;
  goal_ = stage_ == Stage::cold ? goal_ : stage_;
  stage_ = limits_.cold > 0 ? Stage::cold : goal_;
  cold_left_ = limits_.cold;
  last_ = now_();
}

bool StepCollector::lower_cold() {
  const std::int64_t fewer = std::max<std::int64_t>(cold_steps_ / 4, 1);
  if (fewer >= std::min(cold_steps_, limits_.cold)) return false;
  limits_.cold = fewer;
  return true;
}

void StepCollector::settle_phase() {
  phase_ = open_.empty() ? Phase::step : open_.back().phase;
  counted_phase_ = in_step_ && apart_ == 0 ? phase_ : Phase::validate;
}

// An error of the device is raised again by whatever is asked of it next.
void StepCollector::await_device() noexcept {
  try {
    limits_.wait();
  } catch (const std::exception&) {
    stage_ = Stage::done;
  }
}

void StepCollector::charge() {
  double now = now_();
  if (stage_ == Stage::awaiting && in_step_ && apart_ == 0) {
    const double asked = std::exchange(now, (await_device(), now_()));
    step_asking_[place(phase_)] += asked - last_;
    step_waiting_[place(phase_)] += now - asked;
  }
  const double seconds = now - std::exchange(last_, now);
  if (apart_ > 0) {
    const bool is_checkpoint = open_[apart_ - 1].phase == Phase::commit;
    if (phase_ == (is_checkpoint ? Phase::callback : Phase::metrics)) apart_inside_ += seconds;
  } else if (in_step_) {
    step_[place(phase_)] += seconds;
  } else {
    (open_.empty() ? between_ : callbacks_) += seconds;
  }
  if (FunctionSeconds* const running = running_function()) running->since += seconds;
}

StepCollector::FunctionSeconds& StepCollector::function(std::string_view name) {
  const auto found = functions_.find(name);
  return found != functions_.end() ? found->second : functions_.emplace(name, FunctionSeconds{}).first->second;
}

StepCollector::FunctionSeconds* StepCollector::running_function() const {
  if (open_.empty() || (apart_ > 0 && open_[apart_ - 1].phase != Phase::commit)) return nullptr;
  if (in_step_ || apart_ > 0) return open_.back().function;
  return open_.front().function;
}

void StepCollector::forget_since(bool is_timed) noexcept {
  for (auto& [name, seconds] : functions_) {
    const double since = std::exchange(seconds.since, 0);
    if (is_timed) seconds.timed += since;
  }
  callbacks_ = between_ = 0;
  commits_since_ = 0;
}

void StepCollector::open_step(Phase frame) {
  if (stage_ == Stage::timing && !thread_runs_) {
    charge();
    thread_before_ = thread_load();
    thread_runs_ = true;
    last_ = now_();  // the reading of the figures is no part of the work
  }
  if (stage_ == Stage::counting && !counting_) {
    settle_thread();
    counting_ = std::make_unique<OperatorCount>(counted_phase_, tally_);
  }
  charge();
  if (std::exchange(is_before_steps_, false)) begin_seconds_ = std::max(begin_seconds_, last_ - run_began_);
  if (stage_ == Stage::awaiting) {  // what was asked for before the step is none of its work
    await_device();
    last_ = now_();
  }
  if (std::exchange(validated_since_, false)) {
    // The time between the steps belongs to the validation too: the loop writes rows, asks stop rules, keeps weights.
    validations_.seconds += between_;
    between_ = 0;
    ++validation_functions_.count;
    validation_functions_.seconds += callbacks_;
  }
  if (started_ == 0) started_ = last_;
  step_ = step_asking_ = step_waiting_ = {};
  in_step_ = true;
  // The span of a task's step is that of a function of the recipe.
  open_.push_back({.phase = frame, .function = frame == Phase::callback ? &function(own_step) : nullptr});
  settle_phase();
}

void StepCollector::step_began() { open_step(Phase::callback); }

void StepCollector::step_ended() noexcept { ended(Phase::callback, {}); }

void StepCollector::began(Phase phase, std::string_view name) {
  if (phase == Phase::layer) return;
  if (phase == Phase::step) {
    if (is_done()) throw SeenEnough();
    return open_step(phase);
  }
  charge();
  open_.push_back({.phase = phase, .function = phase == Phase::callback ? &function(name) : nullptr});
  if (apart_ == 0 && (phase == Phase::validate || phase == Phase::commit)) {
    apart_ = open_.size();
    apart_counts_ = name != "test";
    apart_began_ = last_;
    apart_inside_ = 0;
  }
  settle_phase();
}

void StepCollector::ended(Phase phase, std::string_view) noexcept {
  if (phase == Phase::layer || open_.empty()) return;
  charge();
  if (apart_ == open_.size() && std::exchange(apart_, 0) > 0 && apart_counts_) {
    Total& all = phase == Phase::commit ? commits_ : validations_;
    ++all.count;
    all.seconds += last_ - apart_began_;
    if (phase == Phase::commit) {
      ++commits_since_;
      commit_functions_ += apart_inside_;
    }
    if (phase == Phase::validate) {
      validated_since_ = true;
      validation_metrics_ += apart_inside_;
    }
  }
  open_.pop_back();
  const bool ends_step = in_step_ && open_.empty();
  if (ends_step) in_step_ = false;
  settle_phase();
  if (ends_step) step_is_over(last_);
}

void StepCollector::step_is_over(double now) noexcept {
  const double seconds = sum(step_);
  const bool is_timed = stage_ == Stage::timing;
  switch (stage_) {
    case Stage::cold:
      ++cold_steps_;
      cold_seconds_ += seconds;
      if (--cold_left_ <= 0 || cold_seconds_ >= cold_share * limits_.seconds) stage_ = goal_;
      break;
    case Stage::timing:
      ++timed_steps_;
      add(timed_, step_);
      timed_callbacks_ += callbacks_;
      timed_between_ += between_;
      timed_commits_ += commits_since_;
      add_to_block(seconds);
      unchecked_ += seconds;
      if (now - started_ >= longest() || (unchecked_ >= limits_.block && is_precise())) {
        stage_ = has_counted() ? after_timing() : Stage::counting;
      } else if (!has_counted() && timed_steps_ >= few_steps && timed_steps_ % limits_.cycle == 0) {
        stage_ = Stage::counting;
      }
      counting_since_ = now;
      break;
    case Stage::counting:
      ++counted_steps_;
      add(counted_, step_);
      counted_seconds_ += seconds;
      if (counted_steps_ >= limits_.counted || counted_seconds_ >= counted_share * limits_.seconds) {
        counting_.reset();
        started_ += now - counting_since_;
        stage_ = now - started_ >= longest() ? after_timing() : Stage::timing;
      }
      break;
    case Stage::awaiting:
      ++awaited_steps_;
      add(asking_, step_asking_);
      add(waiting_, step_waiting_);
      awaited_seconds_ += seconds;
      if (awaited_steps_ >= limits_.counted || awaited_seconds_ >= counted_share * limits_.seconds)
        stage_ = Stage::done;
      break;
    case Stage::done: break;
  }
  forget_since(is_timed);
}

double StepCollector::longest() const {
  return timed_steps_ < few_steps ? std::max(limits_.seconds, limits_.slow_seconds) : limits_.seconds;
}

void StepCollector::add_to_block(double seconds) {
  block_.seconds += seconds;
  block_.steps += 1;
  if (block_.steps < block_steps_) return;
  blocks_.push_back(std::exchange(block_, {}));
  if (blocks_.size() < most_blocks) return;
  for (std::size_t i = 0; i < most_blocks / 2; ++i) {
    const Block& first = blocks_[2 * i];
    const Block& second = blocks_[2 * i + 1];
    blocks_[i] = {.seconds = first.seconds + second.seconds, .steps = first.steps + second.steps};
  }
  blocks_.resize(most_blocks / 2);
  block_steps_ *= 2;
}

std::vector<double> StepCollector::block_means(double least_seconds, std::int64_t cycle) const {
  std::vector<double> means;
  Block joined;
  for (const Block& block : blocks_) {
    joined.seconds += block.seconds;
    joined.steps += block.steps;
    if (joined.seconds < least_seconds || joined.steps % cycle != 0) continue;
    means.push_back(joined.seconds / static_cast<double>(joined.steps));
    joined = {};
  }
  return means;
}

bool StepCollector::is_precise() {
  unchecked_ = 0;
  const std::vector<double> means = block_means(limits_.block, limits_.cycle);
  return means.size() >= least_blocks && median_interval(means).half_width() <= limits_.precision;
}

void StepCollector::settle_thread() {
  if (!std::exchange(thread_runs_, false)) return;
  add(thread_, since(thread_before_));
}

StepFigures StepCollector::figures() {
  settle_thread();
  const auto mean_of = [](double total, std::int64_t count) {
    return count > 0 ? total / static_cast<double>(count) : 0;
  };
  StepFigures figures;
  // A short measurement has shorter blocks, so that there are enough of them.
  const double block = std::min(limits_.block, sum(timed_) / (least_blocks + 1));
  std::vector<double> means = block_means(block, limits_.cycle);
  if (means.empty()) means = block_means(block, 1);
  figures.step = median_interval(means);
  figures.block = block;
  figures.mean = mean_of(sum(timed_), timed_steps_);
  for (std::size_t i = 0; i < phase_count; ++i) {
    figures.self[i] = mean_of(timed_[i], timed_steps_);
    figures.counted_self[i] = mean_of(counted_[i], counted_steps_);
    figures.asking[i] = mean_of(asking_[i], awaited_steps_);
    figures.waiting[i] = mean_of(waiting_[i], awaited_steps_);
    figures.operators[i] = {.calls = mean_of(tally_[i].calls, counted_steps_),
                            .seconds = mean_of(tally_[i].seconds, counted_steps_)};
  }
  figures.callbacks = mean_of(timed_callbacks_, timed_steps_);
  figures.between = mean_of(timed_between_, timed_steps_);
  const auto longest = std::ranges::max_element(functions_, {}, [](const auto& one) { return one.second.timed; });
  if (longest != functions_.end() && longest->second.timed > 0)
    figures.longest_function = {.path = function_path(longest->first),
                                .seconds = mean_of(longest->second.timed, timed_steps_)};
  figures.steps = timed_steps_;
  figures.cold = cold_steps_;
  figures.begin_seconds = begin_seconds_;
  figures.allowed = limits_.seconds;
  figures.counted = counted_steps_;
  figures.awaited = awaited_steps_;
  figures.has_interval = means.size() >= least_for_interval;
  figures.is_precise = figures.has_interval && figures.step.half_width() <= limits_.precision;
  if (means.size() >= 2 * least_for_interval) {
    const auto middle = means.begin() + static_cast<std::ptrdiff_t>(means.size() / 2);
    const double earlier = median_interval({means.begin(), middle}).median;
    figures.drift = median_interval({middle, means.end()}).median / earlier - 1;
  }
  // The means, because a run pays for the slow ones too, which are not rare where a disk has to be waited for.
  const auto occasional = [&](const Total& all) -> Occasional {
    return {.count = all.count, .seconds = mean_of(all.seconds, all.count)};
  };
  figures.validation = occasional(validations_);
  figures.validation_metrics = mean_of(validation_metrics_, validations_.count);
  figures.validation_functions = mean_of(validation_functions_.seconds, validation_functions_.count);
  figures.commit = occasional(commits_);
  figures.commit_functions = mean_of(commit_functions_, commits_.count);
  figures.commits_timed = timed_commits_;
  figures.thread = thread_;
  return figures;
}

}  // namespace trainlab

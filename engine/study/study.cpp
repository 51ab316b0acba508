#include "study/study.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "samplers/samplers.h"

namespace trainlab {

namespace {

// Draws for one trial before a constraint is called impossible. The first are the sampler's; one that has learnt wants
// much the same each time, so that the others come from anywhere.
constexpr std::int64_t most_attempts = 10'000, sampler_attempts = 16;

}  // namespace

Study::Study(Space space, std::unique_ptr<Sampler> sampler, StudySettings settings)
    : space_(std::move(space)),
      sampler_(std::move(sampler)),
      anywhere_(random_sampler(space_, settings.seed)),
      settings_(std::move(settings)),
      trials_(space_.size(), settings_.maximize.size()) {
  if (settings_.distinct) known_ = std::make_shared<PointSet>();
  if (!settings_.distinct && !settings_.allowed) return;
  sampler_->set_allowed([known = known_, allowed = settings_.allowed](std::span<const double> point) {
    return !(known && known->contains(point)) && (!allowed || allowed(point));
  });
}

void Study::enqueue(std::span<const double> point, const std::optional<Segment>& segment) {
  waiting_.insert(trials_.add(TrialState::waiting, point, segment));
  if (space_.is_whole(point)) take(point);
}

void Study::take(std::span<const double> point) {
  sampler_->take(point);
  if (known_) known_->emplace(point.begin(), point.end());
}

std::vector<double> Study::given(std::int64_t trial) const {
  if (trial == trials_.size()) return std::vector(space_.size(), std::numeric_limits<double>::quiet_NaN());
  const std::span<const double> point = trials_.point(trial);
  return {point.begin(), point.end()};
}

bool Study::choose(std::int64_t trial, std::optional<std::int64_t> parent, std::vector<double>& point) {
  const auto given_error = [&] {
    return recipe_error("the values given for trial " + std::to_string(trial) + " do not meet the constraints")
        .in("constraints");
  };
  // All of it was given, or chosen when it was begun before.
  if (space_.is_whole(point)) {
    if (settings_.allowed && !settings_.allowed(point)) throw given_error();
    return true;
  }
  std::vector<std::span<const double>> running;
  // A deterministic study counts those that it must not know of as running, and no others.
  if (sampler_->learns()) {
    if (settings_.deterministic) {
      for (std::int64_t other = observed_; other < trial; ++other) running.push_back(trials_.point(other));
    } else {
      for (const std::int64_t other : running_) running.push_back(trials_.point(other));
    }
  }
  const bool is_queued = trial < trials_.size();
  bool is_anywhere = false, refused = false;
  std::vector<double> known;
  for (std::int64_t attempt = 0; attempt < most_attempts; ++attempt) {
    is_anywhere = is_anywhere || attempt == sampler_attempts;
    if (attempt > 0) point = given(trial);
    if (parent) settings_.scheduler->inherit(curves(trials_.size()), trial, *parent, attempt, point);
    if (!parent || !space_.is_whole(point)) {
      if (!is_anywhere && !sampler_->sample(trial, attempt, running, point)) {
        if (!is_queued && !parent) break;
        is_anywhere = true;  // a trial that waits or has a parent runs, though the sampler's points are used up
      }
      if (is_anywhere) anywhere_->sample(trial, attempt, {}, point);
    }
    if (known_ && known_->contains(point)) {
      known = point;
    } else if (!settings_.allowed || settings_.allowed(point)) {
      return true;
    } else {
      refused = true;
    }
  }
  if (is_queued && !known.empty()) {
    point = known;
    return true;
  }
  if (!refused) return false;
  if (!std::ranges::all_of(given(trial), [](double x) { return std::isnan(x); })) throw given_error();
  throw recipe_error("none of " + std::to_string(most_attempts) + " points of the space meets the constraints")
      .in("constraints");
}

Value::List Study::by_order() const {
  Value::List what;
  if (settings_.deterministic) return what;
  if (learns() || settings_.over) what.emplace_back("chosen");
  if (settings_.compares) what.emplace_back("pruned");
  return what;
}

bool Study::holds_back() const { return settings_.deterministic && (learns() || settings_.compares || settings_.over); }

Study::Next Study::next() {
  const bool queued = !waiting_.empty();
  const std::int64_t trial = queued ? *waiting_.begin() : trials_.size();
  const Next later{.trial = {}, .point = {}, .segment = {}, .wait = true};
  if (holds_back()) {
    for (; observed_ <= trial - lag; ++observed_) {
      if (!is_final(trials_.state(observed_))) return later;
      if (sampler_->learns()) observe(observed_);
    }
  }
  std::optional<Segment> segment;
  if (settings_.scheduler) {
    // A trial that was begun before keeps its segment.
    if (queued) segment = trials_.segment(trial);
    const std::int64_t visible = settings_.deterministic ? Study::visible(trial) : trials_.size();
    if (!segment) segment = settings_.scheduler->segment(curves(visible), trial);
    if (!segment) return later;
  }
  if (!queued && settings_.over) {
    if (settings_.over(trials_, settings_.deterministic ? visible(trial) : trial)) return {};
  }
  Next next{.trial = trial, .point = given(trial), .segment = segment, .wait = false};
  // A trial that was begun before keeps its point.
  if (!choose(trial, segment ? segment->parent : std::nullopt, next.point)) return {};
  return next;
}

Segment Study::segment(std::int64_t trial) const { return trials_.segment(trial).value_or(Segment{}); }

std::int64_t Study::length(const Segment& segment) const {
  return segment.until - (segment.parent ? this->segment(*segment.parent).until : 0);
}

void Study::begin(std::int64_t trial, std::span<const double> point, const std::optional<Segment>& segment) {
  if (trial == trials_.size()) {
    trials_.add(TrialState::running, point, segment);
  } else {
    waiting_.erase(trial);
    trials_.start(trial, point, segment);
  }
  take(point);
  running_.insert(trial);
}

void Study::wait_again(std::int64_t trial) {
  trials_.wait_again(trial);
  running_.erase(trial);
  waiting_.insert(trial);
}

Study::Asked Study::ask() {
  const Next chosen = next();
  if (chosen.trial) begin(*chosen.trial, chosen.point, chosen.segment);
  return {.trial = chosen.trial, .wait = chosen.wait};
}

void Study::report(std::int64_t trial, const TrialReport& report) { trials_.report(trial, report); }

void Study::tell(std::int64_t trial, std::span<const double> values, const std::optional<Segment>& segment) {
  if (values.size() != settings_.maximize.size()) {
    throw std::logic_error("Study::tell: one value for each objective is expected");
  }
  if (std::any_of(values.begin(), values.end(), [](double x) { return std::isnan(x); })) return fail(trial);
  trials_.finish(trial, TrialState::complete, values, segment);
  const auto better = [&](double a, double b) { return settings_.maximize[0] ? a > b : a < b; };
  const auto comes_first = [&](std::int64_t a, std::int64_t b) {
    const std::int64_t length = this->segment(a).until, other = this->segment(b).until;
    if (length != other) return length > other;
    if (trials_.value(a) != trials_.value(b)) return better(trials_.value(a), trials_.value(b));
    return a < b;
  };
  if (!best_ || comes_first(trial, *best_)) best_ = trial;
  ended(trial);
}

void Study::prune(std::int64_t trial) {
  trials_.finish(trial, TrialState::pruned, trials_.last_mean(trial));
  ended(trial);
}

void Study::fail(std::int64_t trial) {
  trials_.finish(trial, TrialState::failed, {});
  ended(trial);
}

void Study::ended(std::int64_t trial) {
  running_.erase(trial);
  waiting_.erase(trial);
  if (sampler_->learns() && !settings_.deterministic) observe(trial);
}

void Study::observe(std::int64_t trial) {
  Observation seen{
      .trial = trial, .state = trials_.state(trial), .point = trials_.point(trial), .values = {}, .resource = 0};
  const bool is_partial = settings_.scheduler && settings_.scheduler->is_partial(segment(trial));
  if (seen.state == TrialState::complete && is_partial) seen.state = TrialState::pruned;
  std::vector<double> values;
  if (seen.state != TrialState::failed) {
    for (std::size_t k = 0; k < settings_.maximize.size(); ++k) {
      const double value = settings_.maximize[k] ? -trials_.values(trial)[k] : trials_.values(trial)[k];
      values.push_back(std::isnan(value) ? std::numeric_limits<double>::infinity() : value);
    }
    seen.values = values;
    seen.resource = trials_.last_resource(trial);
  }
  sampler_->observe(seen);
}

}  // namespace trainlab

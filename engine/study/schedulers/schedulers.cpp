#include "schedulers.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "shared_entries.h"

namespace trainlab {

namespace {

constexpr std::int64_t most_validations = 1'000'000;

}  // namespace

bool have_ended(const Trials& trials, std::int64_t first, std::int64_t last) {
  if (last > trials.size()) return false;
  for (std::int64_t trial = first; trial < last; ++trial) {
    if (!is_final(trials.state(trial))) return false;
  }
  return true;
}

double loss_of(const Curves& trials, std::int64_t trial) {
  if (trials.trials().state(trial) != TrialState::complete) return std::numeric_limits<double>::infinity();
  return trials.value(trial);
}

double last_loss_of(const Curves& trials, std::int64_t trial) {
  if (trials.trials().state(trial) != TrialState::complete) return std::numeric_limits<double>::infinity();
  const std::vector<double> last = trials.at(trial, trials.trials().last_resource(trial));
  const double loss = last.empty() ? trials.value(trial) : last.front();
  return std::isnan(loss) ? std::numeric_limits<double>::infinity() : loss;
}

std::vector<std::int64_t> ranking(const Curves& trials, std::vector<std::int64_t> numbers, LossOf loss) {
  std::ranges::stable_sort(numbers, [&](std::int64_t a, std::int64_t b) { return loss(trials, a) < loss(trials, b); });
  return numbers;
}

std::vector<std::int64_t> ranking(const Curves& trials, std::int64_t first, std::int64_t last, LossOf loss) {
  std::vector<std::int64_t> numbers(static_cast<std::size_t>(last - first));
  std::iota(numbers.begin(), numbers.end(), first);
  return ranking(trials, std::move(numbers), loss);
}

void keep_parameters(const Space& space, std::span<const double> parent, std::span<double> point) {
  for (const std::size_t i : space.order()) {
    if (std::isnan(point[i]) && space.active(i, point)) point[i] = parent[i];
  }
}

Option scheduler_min_option(const char* doc) { return rung_min_option(doc).at_most(most_validations); }

Option scheduler_max_option() {
  return rung_max_option("number of validations of a whole training").at_most(most_validations);
}

Option scheduler_reduction_option() {
  return rung_reduction_option("keep the best 1 in N; each survivor trains N times as long");
}

std::shared_ptr<const Scheduler> make_scheduler(const Options& spec, const Space& space, std::int64_t seed,
                                                std::size_t objectives, const Delivery& delivery) {
  require_single_objective(spec, objectives);
  return spec.registry().implementation<SchedulerFactory>(spec.entry())(spec, space, seed, delivery);
}

}  // namespace trainlab

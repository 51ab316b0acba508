#include "schedulers.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace trainlab {

namespace {

class OneByOne final : public Scheduler {
 public:
  std::optional<Segment> segment(const Curves&, std::int64_t) const override { return Segment{}; }
  void inherit(const Curves&, std::int64_t, std::int64_t, std::int64_t, std::span<double>) const override {}
  std::int64_t longest(std::int64_t) const override { return 0; }
  std::int64_t beginnings(std::int64_t trials) const override { return trials; }
  bool is_partial(std::int64_t) const override { return false; }
};

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

std::vector<std::int64_t> ranking(const Curves& trials, std::int64_t first, std::int64_t last) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(last - first));
  std::iota(order.begin(), order.end(), first);
  std::ranges::stable_sort(order,
                           [&](std::int64_t a, std::int64_t b) { return loss_of(trials, a) < loss_of(trials, b); });
  return order;
}

std::shared_ptr<const Scheduler> one_by_one() { return std::make_shared<OneByOne>(); }

std::shared_ptr<const Scheduler> make_scheduler(const Options& spec, const Space& space, std::int64_t seed,
                                                std::size_t objectives) {
  if (objectives > 1) throw spec.error("", "expected a study of one objective, found " + std::to_string(objectives));
  return spec.registry().implementation<SchedulerFactory>(spec.entry())(spec, space, seed);
}

}  // namespace trainlab

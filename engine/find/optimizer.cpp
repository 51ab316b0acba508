#include "find/optimizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "core/clock.h"
#include "core/statistics.h"
#include "optim/optimizer.h"
#include "range_test.h"

namespace trainlab {
namespace {

constexpr std::size_t scanned = 9;        // rates that are tried first, a factor of two apart
constexpr std::size_t most_scanned = 15;  // most rates, if the best rate is at an end of the first ones
constexpr int most_compared = 5;          // rates with all seeds: three around the best, the usual one, the default
constexpr std::int64_t range_steps = 140;

// The steps of a training at one of the rates that are tried first.
std::int64_t short_steps(std::int64_t whole) { return std::max<std::int64_t>(whole / 3, 1); }

struct Candidate {
  std::string name;
  Value optimizer;
  bool is_own = false;
};

Candidate candidate(std::string name, Value::Map options) { return {std::move(name), Value(std::move(options))}; }

// Whether a fit's own optimizer makes the candidate needless: the same entry, with a say of its own in all options that
// the candidate states. Plain SGD is another optimizer than SGD with momentum.
bool covers(const Value& own, const Value& candidate) {
  return own["@"] == candidate["@"] &&
         std::ranges::all_of(candidate.map(), [&](const auto& option) { return !own[option.first].is_nil(); });
}

// The fit's own optimizer first, then the usual ones that it does not cover.
std::vector<Candidate> candidates(const Value& own) {
  const std::string& entry = own["@"].string();
  std::vector<Candidate> all{{entry.substr(entry.find('.') + 1), own, true}};
  for (Candidate& one :
       std::array{candidate("AdamW", {{"@", "optim.AdamW"}}),
                  candidate("SGD with momentum 0.9", {{"@", "optim.SGD"}, {"momentum", 0.9}}),
                  candidate("RMSprop", {{"@", "optim.RMSprop"}}), candidate("Lion", {{"@", "optim.Lion"}})}) {
    if (!covers(own, one.optimizer)) all.push_back(std::move(one));
  }
  return all;
}

// The rate that the optimizer has where the recipe states none; NaN for one without a rate of its own.
double default_rate(const Options& optimizer) {
  const Option* lr = optimizer.entry().find("lr");
  return lr && lr->fallback.is_number() ? lr->fallback.number() : std::nan("");
}

class OptimizerSearch {
 public:
  OptimizerSearch(Trainings& trainings, FoundOptimizer& found, std::int64_t first_seed)
      : trainings_(trainings), found_(found), first_seed_(first_seed) {}

  // The optimizer as it is.
  TunedOptimizer untuned(const Candidate& one) const {
    TunedOptimizer own{.name = one.name, .is_own = one.is_own};
    const Options optimizer = trainings_.changed({{"optim", one.optimizer}}).child("optim");
    own.rate = own.usual_rate = learning_rate(optimizer);
    own.loss = own.error = own.usual_loss = own.default_loss = std::nan("");
    own.default_rate = default_rate(optimizer);
    return own;
  }

  TunedOptimizer tune(const Candidate& one) {
    TunedOptimizer tuned = untuned(one);
    tuned.curve = scan(one.optimizer, start_of(one.optimizer));
    tuned.good = good_rates(tuned.curve);
    if (std::isnan(tuned.good.low)) return tuned;
    const double best = best_of(tuned.curve)->rate;
    for (const double rate : {best / 2, best, best * 2}) {
      const auto [loss, deviation, error] = mean_loss(one.optimizer, rate);
      if (std::isnan(loss) || loss >= tuned.loss) continue;
      tuned.rate = rate;
      tuned.loss = loss;
      tuned.error = error;
    }
    tuned.usual_loss = mean_loss(one.optimizer, tuned.usual_rate).mean;
    if (tuned.has_other_default()) tuned.default_loss = mean_loss(one.optimizer, tuned.default_rate).mean;
    return tuned;
  }

 private:
  // The rate around which rates are tried: from a range test, or the lowest rate where even that is too high.
  double start_of(const Value& optimizer) {
    const double start = suggestions_of(range_test(trainings_, optimizer, range_steps, first_seed_)).quarter_of_least;
    return start > 0 ? start : lowest_rate;
  }

  std::vector<RatePoint> scan(const Value& optimizer, double middle) {
    const std::int64_t steps = short_steps(found_.steps);
    const auto point = [&](double rate) { return RatePoint{rate, loss(optimizer, rate, steps, first_seed_)}; };
    std::vector<RatePoint> curve;
    double rate = middle / std::exp2(scanned / 2);
    for (std::size_t i = 0; i < scanned; ++i, rate *= 2) curve.push_back(point(rate));
    while (curve.size() < most_scanned) {
      const auto best = best_of(curve);
      if (best == curve.begin()) {
        curve.insert(curve.begin(), point(curve.front().rate / 2));
      } else if (best == curve.end() - 1) {
        curve.push_back(point(curve.back().rate * 2));
      } else {
        break;
      }
    }
    return curve;
  }

  // The mean loss over the seeds and its standard error; NaN where the loss of a training is not finite.
  MeanAndError mean_loss(const Value& optimizer, double rate) {
    std::vector<double> losses;
    losses.reserve(static_cast<std::size_t>(found_.seeds));
    for (int i = 0; i < found_.seeds; ++i) losses.push_back(loss(optimizer, rate, found_.steps, first_seed_ + i));
    return mean_and_error(losses);
  }

  // The loss of the weights that a training keeps; NaN if the loss is not finite.
  double loss(const Value& optimizer, double rate, std::int64_t steps, std::int64_t seed) {
    const EndLoss loss = trainings_.end_loss({.optimizer = optimizer, .rate = rate, .steps = steps, .seed = seed});
    if (found_.metric.empty()) found_.metric = loss.metric;
    return loss.value;
  }

  Trainings& trainings_;
  FoundOptimizer& found_;
  std::int64_t first_seed_;
};

}  // namespace

double FoundOptimizer::least() const {
  double least = std::nan("");
  for (const TunedOptimizer& one : all) least = std::fmin(least, one.loss);
  return least;
}

double FoundOptimizer::most() const {
  double most = std::nan("");
  for (const TunedOptimizer& one : all) most = std::fmax(most, one.loss);
  return most;
}

FoundOptimizer find_optimizer(const Registry& registry, const Spec& fit, const RunSettings& settings,
                              const OptimizerOptions& options) {
  Trainings trainings(registry, fit, settings, options.context);
  const Options whole = trainings.changed({});
  if (!has_length(whole)) {
    throw whole.error("", "expected a fit with epochs, steps or flops, found one without")
        .hint("all trainings of the search are equally long: --set epochs=10");
  }
  FoundOptimizer found;
  found.seeds = options.seeds;
  found.steps = trainings.length().total_steps;
  OptimizerSearch search(trainings, found, settings.seed);
  const std::vector<Candidate> all = candidates(fit.value["optim"]);
  options.context.tell(fmt::format("{} optimizers, each with up to {} trainings of {} steps and {} of {} steps",
                                   all.size(), most_scanned, short_steps(found.steps), most_compared * found.seeds,
                                   found.steps));
  try {
    for (std::size_t i = 0; i < all.size(); ++i) {
      const double begun = steady_seconds();
      found.all.push_back(search.tune(all[i]));
      options.context.tell(
          fmt::format("{} took {:.2g} s", all[i].name, steady_seconds() - begun) +
          (i + 1 < all.size() ? fmt::format(", {} of {} are to come", all.size() - i - 1, all.size()) : ""));
    }
  } catch (const SearchBudgetUsed& used) {
    found.stopped = used.message();
    if (found.all.empty()) {
      found.all.push_back(search.untuned(all.front()));
      return found;
    }
  }
  const double least = found.least();
  if (std::isnan(least)) {
    throw whole.error("optim", "no optimizer keeps the loss finite at any rate")
        .hint("the fit has another fault: trainlab run says which");
  }
  double most_octaves = -1;
  for (std::size_t i = 0; i < found.all.size(); ++i) {
    const TunedOptimizer& one = found.all[i];
    if (!(one.loss <= least + 0.05 * std::abs(least)) || one.good.octaves() <= most_octaves) continue;
    found.suggestion = i;
    most_octaves = one.good.octaves();
  }
  return found;
}

}  // namespace trainlab

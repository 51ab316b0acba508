// The tree-structured Parzen estimator: where good trials lie densely and bad ones do not. Bergstra et al. 2011;
// Watanabe 2023 (arXiv 2304.11127) for the choices: multivariate kernels, parameters that are active together as one
// group, trials under way counted as bad ones (constant liar).
//
// With three objectives or more each parameter is a group of its own, as in Ozaki et al. 2022. The good trials then lie
// on a surface, too few for their number of dimensions to show its shape; what all of them have in common shows in the
// parameters one by one. With two objectives the good trials lie on a line, and the joint density finds better ones.
#include <algorithm>
#include <cmath>

#include "good_trials.h"
#include "parzen.h"
#include "samplers.h"

namespace trainlab {

namespace {

struct TpeSettings {
  std::int64_t startup;     // trials before the sampler learns
  std::int64_t candidates;  // per trial, of which the best is tried
  std::int64_t seed;
};

// The probability of each parameter of a candidate to stay as in the good trial around which the candidate is drawn.
// Steps along a few parameters find what steps along all do not where these matter one by one (Regis and Shoemaker
// 2013, DYCORS, for another sampler).
constexpr double keep = 0.35;

class Tpe final : public Sampler {
 public:
  Tpe(const Space& space, const TpeSettings& settings, std::size_t objectives)
      : space_(space),
        settings_(settings),
        draws_(space_, Key(static_cast<std::uint64_t>(settings.seed)).fold("tpe")),
        trials_(objectives) {
    std::vector<std::vector<std::size_t>> groups = space_.groups();
    if (objectives > 2) groups = singles(groups);
    for (const auto& members : groups) {
      std::vector<ParzenAxis> axes;
      for (const std::size_t i : members) {
        if (space_[i].count() != 1) axes.emplace_back(space_, i);
      }
      ParzenData data(axes.size());
      groups_.push_back({.parameters = members, .axes = std::move(axes), .data = std::move(data), .row_of = {}});
    }
  }

  bool learns() const override { return true; }

  void observe(const Observation& trial) override {
    if (trial.state == TrialState::failed) return;
    trials_.observe(trial);
    for (Group& group : groups_) {
      const bool active = is_active(group, trial.point);
      group.row_of.push_back(active ? static_cast<std::int32_t>(group.data.rows()) : -1);
      if (active) append(group, trial.point);
    }
  }

  bool sample(std::int64_t trial, std::int64_t attempt, std::span<const std::span<const double>> running,
              std::span<double> point) override {
    if (trials_.count() >= settings_.startup) {
      const GoodTrials::Choice choice = trials_.choose();
      Stream random = draws_.stream(trial, attempt);
      for (Group& group : groups_) sample_group(group, choice, random, running, point);
    }
    // The first trials, and groups of which too little is known.
    choose_open(space_, point, draws_.units(trial, attempt));
    return true;
  }

 private:
  struct Group {
    std::vector<std::size_t> parameters;
    std::vector<ParzenAxis> axes;  // those with more than one value
    ParzenData data;
    std::vector<std::int32_t> row_of;  // of each observed trial; −1 where the group was inactive
  };

  static std::vector<std::vector<std::size_t>> singles(const std::vector<std::vector<std::size_t>>& groups) {
    std::vector<std::vector<std::size_t>> singles;
    for (const auto& members : groups) {
      for (const std::size_t i : members) singles.push_back({i});
    }
    return singles;
  }

  static bool is_active(const Group& group, std::span<const double> point) {
    return std::all_of(group.parameters.begin(), group.parameters.end(),
                       [&](std::size_t i) { return !std::isnan(point[i]); });
  }

  static void append(Group& group, std::span<const double> point) {
    std::vector<double> places;
    for (const ParzenAxis& axis : group.axes) places.push_back(axis.place(point[axis.parameter]));
    group.data.add(places);
  }

  void sample_group(Group& group, const GoodTrials::Choice& choice, Stream& random,
                    std::span<const std::span<const double>> running, std::span<double> point) {
    // Groups come after their parents, whose values are known here.
    const std::size_t first = group.parameters.front();
    if (group.axes.empty() || !space_.active(first, point)) return;
    good_.clear();
    bad_.clear();
    weights_.clear();
    for (std::size_t seen = 0; seen < group.row_of.size(); ++seen) {
      if (group.row_of[seen] < 0) continue;
      (choice.is_good[seen] ? good_ : bad_).push_back(static_cast<std::uint32_t>(group.row_of[seen]));
      if (choice.is_good[seen] && !choice.weights.empty()) weights_.push_back(choice.weights[seen]);
    }
    if (good_.empty()) return;
    const std::uint32_t settled = group.data.rows();
    for (const std::span<const double> one : running) {
      if (!is_active(group, one)) continue;
      bad_.push_back(group.data.rows());
      append(group, one);
    }
    const Parzen of_good(group.axes, group.data, good_, weights_), of_bad(group.axes, group.data, bad_);
    const std::size_t width = group.axes.size(), count = static_cast<std::size_t>(settings_.candidates);
    candidates_.resize(count * width);
    for (std::size_t c = 0; c < count; ++c) {
      const std::span<double> candidate = std::span(candidates_).subspan(c * width, width);
      of_good.draw(random, keep, candidate);
      for (std::size_t axis = 0; axis < width; ++axis) {
        const ParzenAxis& a = group.axes[axis];
        // A whole number is judged at its rounded value, and given values stay.
        if (const double given = point[a.parameter]; !std::isnan(given)) candidate[axis] = a.place(given);
        if (a.labels == 0 && a.step > 0) {
          candidate[axis] = a.place(space_.nearest(a.parameter, a.value(candidate[axis])));
        }
      }
    }
    log_good_.resize(count);
    log_bad_.resize(count);
    of_good.log_density(candidates_, log_good_);
    of_bad.log_density(candidates_, log_bad_);
    std::size_t best = 0;
    for (std::size_t c = 1; c < count; ++c) {
      if (log_good_[c] - log_bad_[c] > log_good_[best] - log_bad_[best]) best = c;
    }
    for (std::size_t axis = 0; axis < width; ++axis) {
      const ParzenAxis& a = group.axes[axis];
      if (!std::isnan(point[a.parameter])) continue;
      point[a.parameter] = space_.nearest(a.parameter, a.value(candidates_[best * width + axis]));
    }
    while (group.data.rows() > settled) group.data.remove_last();
  }

  const Space space_;
  TpeSettings settings_;
  ParameterDraws draws_;
  std::vector<Group> groups_;
  GoodTrials trials_;
  std::vector<std::uint32_t> good_, bad_;  // rows of a group
  std::vector<double> weights_;            // of the good ones
  std::vector<double> candidates_, log_good_, log_bad_;
};

std::unique_ptr<Sampler> make_tpe(const Options& spec, const Space& space, std::int64_t seed, std::size_t objectives) {
  return std::make_unique<Tpe>(space,
                               TpeSettings{.startup = spec.integer("startup"),
                                           .candidates = spec.integer("candidates"),
                                           .seed = sampler_seed(spec, seed)},
                               objectives);
}

}  // namespace

void register_tpe(Registry& registry) {
  registry.add(
      Entry("sampler.tpe", "sampler", "Tree-structured Parzen estimator: searches where good trials lie densely.")
          .with(Option("startup", "number of random trials before the sampler learns")
                    .integer()
                    .at_least(1)
                    .or_default(10))
          .with(Option("candidates", "number of candidates that are drawn for each trial; the most promising is tried")
                    .integer()
                    .at_least(1)
                    .or_default(32))
          .with(sampler_seed_option())
          .example("sampler.tpe { seed = 1 }")
          .note("Bergstra et al. 2011, with one density for all parameters that are active together (Falkner, "
                "Klein and Hutter 2018). Trials that are still running count as bad ones. The best 12 % of the trials, "
                "at most 25, count as good ones. With several objectives these are chosen by Pareto fronts, and within "
                "a front by the volume that they dominate together; with three objectives or more each parameter has a "
                "density of its own (Ozaki et al. 2022)."),
      SamplerKind{.make = make_tpe});
}

}  // namespace trainlab

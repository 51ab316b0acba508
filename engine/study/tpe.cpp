// The tree-structured Parzen estimator: where good trials lie densely and bad ones do not. Bergstra et al. 2011;
// Watanabe 2023 (arXiv 2304.11127) for the choices: multivariate kernels, parameters that are active together as one
// group, trials under way counted as bad ones (constant liar).
#include <algorithm>
#include <cmath>
#include <limits>

#include "parzen.h"
#include "samplers.h"

namespace trainlab {

namespace {

constexpr std::int64_t most_good = 25;

class Tpe final : public Sampler {
 public:
  Tpe(const Space& space, const TpeSettings& settings)
      : space_(space), settings_(settings), draws_(space_, Key(static_cast<std::uint64_t>(settings.seed)).fold("tpe")) {
    for (const auto& members : space_.groups()) {
      Group group;
      for (const std::size_t i : members) {
        if (space_[i].count() != 1) group.axes.emplace_back(space_, i);
      }
      group.data.columns.resize(group.axes.size());
      group.parameters = members;
      groups_.push_back(std::move(group));
    }
  }

  bool learns() const override { return true; }

  void observe(const Observation& trial) override {
    if (trial.state == TrialState::failed) return;
    Rank rank;
    rank.number = static_cast<std::uint32_t>(seen_++);
    rank.pruned = trial.state == TrialState::pruned;
    rank.resource = trial.resource;
    rank.value = trial.values.empty() ? std::numeric_limits<double>::infinity() : trial.values[0];
    ranks_.insert(std::upper_bound(ranks_.begin(), ranks_.end(), rank), rank);
    for (Group& group : groups_) {
      const bool active = std::all_of(group.parameters.begin(), group.parameters.end(),
                                      [&](std::size_t i) { return !std::isnan(trial.point[i]); });
      group.row_of.push_back(active ? static_cast<std::int32_t>(group.rows) : -1);
      if (!active) continue;
      append(group, trial.point);
    }
  }

  bool sample(std::int64_t trial, std::int64_t attempt, std::span<const std::span<const double>> running,
              std::span<double> point) override {
    if (seen_ >= settings_.startup) {
      const auto good =
          std::min<std::int64_t>(static_cast<std::int64_t>(std::ceil(0.1 * static_cast<double>(seen_))), most_good);
      is_good_.assign(static_cast<std::size_t>(seen_), 0);
      for (std::int64_t k = 0; k < good; ++k) is_good_[ranks_[static_cast<std::size_t>(k)].number] = 1;
      Stream random = draws_.stream(trial, attempt);
      for (Group& group : groups_) sample_group(group, random, running, point);
    }
    // The first trials, and groups of which too little is known.
    choose_open(space_, point, [&](std::size_t i) { return draws_.unit(i, trial, attempt); });
    return true;
  }

 private:
  struct Group {
    std::vector<std::size_t> parameters;
    std::vector<ParzenAxis> axes;  // those with more than one value
    ParzenData data;
    std::size_t rows = 0;
    std::vector<std::int32_t> row_of;  // of each observed trial; −1 where the group was inactive
  };
  // The order of trials from the best on: complete ones by value, then pruned ones, the longest first.
  struct Rank {
    bool pruned = false;
    std::int64_t resource = 0;
    double value = 0;
    std::uint32_t number = 0;  // in order of observation
    bool operator<(const Rank& other) const {
      if (pruned != other.pruned) return !pruned;
      if (pruned && resource != other.resource) return resource > other.resource;
      if (value != other.value) return value < other.value;
      return number < other.number;
    }
  };

  static void append(Group& group, std::span<const double> point) {
    for (std::size_t axis = 0; axis < group.axes.size(); ++axis) {
      group.data.columns[axis].push_back(group.axes[axis].place(point[group.axes[axis].parameter]));
    }
    ++group.rows;
  }

  void sample_group(Group& group, Stream& random, std::span<const std::span<const double>> running,
                    std::span<double> point) {
    // Groups come in the order of their parents, whose values are there by now.
    const std::size_t first = group.parameters.front();
    if (group.axes.empty() || !space_.active(first, point)) return;
    good_.clear();
    bad_.clear();
    for (std::size_t seen = 0; seen < group.row_of.size(); ++seen) {
      if (group.row_of[seen] < 0) continue;
      (is_good_[seen] ? good_ : bad_).push_back(static_cast<std::uint32_t>(group.row_of[seen]));
    }
    if (good_.empty()) return;
    const std::size_t settled = group.rows;
    for (const std::span<const double> one : running) {
      const bool active = std::all_of(group.parameters.begin(), group.parameters.end(),
                                      [&](std::size_t i) { return !std::isnan(one[i]); });
      if (!active) continue;
      bad_.push_back(static_cast<std::uint32_t>(group.rows));
      append(group, one);
    }
    const Parzen of_good(group.axes, group.data, good_), of_bad(group.axes, group.data, bad_);
    const std::size_t width = group.axes.size(), count = static_cast<std::size_t>(settings_.candidates);
    candidates_.resize(count * width);
    for (std::size_t c = 0; c < count; ++c) {
      const std::span<double> candidate = std::span(candidates_).subspan(c * width, width);
      of_good.draw(random, candidate);
      for (std::size_t axis = 0; axis < width; ++axis) {
        const ParzenAxis& a = group.axes[axis];
        // A whole number is judged where it will be, and what was given stays as it is.
        if (const double given = point[a.parameter]; !std::isnan(given)) candidate[axis] = a.place(given);
        if (a.labels == 0 && a.step > 0) {
          candidate[axis] = a.place(space_.nearest(a.parameter, a.log ? std::exp(candidate[axis]) : candidate[axis]));
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
      const double place = candidates_[best * width + axis];
      point[a.parameter] = space_.nearest(a.parameter, a.log ? std::exp(place) : place);
    }
    for (auto& column : group.data.columns) column.resize(settled);
    group.rows = settled;
  }

  const Space space_;
  TpeSettings settings_;
  ParameterDraws draws_;
  std::vector<Group> groups_;
  std::int64_t seen_ = 0;
  std::vector<Rank> ranks_;
  std::vector<char> is_good_;              // by order of observation
  std::vector<std::uint32_t> good_, bad_;  // rows of a group
  std::vector<double> candidates_, log_good_, log_bad_;
};

}  // namespace

std::unique_ptr<Sampler> tpe_sampler(const Space& space, const TpeSettings& settings) {
  return std::make_unique<Tpe>(space, settings);
}

}  // namespace trainlab

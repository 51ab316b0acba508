// The grid: every combination of the parameters' values once.
#include <algorithm>
#include <cmath>
#include <limits>

#include "samplers.h"

namespace trainlab {

namespace {

constexpr std::int64_t most_grid_points = 1'000'000;

// Counts through the values of all parameters, the last one fastest; of an inactive parameter only its first value
// counts, so that no point comes twice. Each trial gets the first point that is not taken.
class Grid final : public Sampler {
 public:
  Grid(const Space& space, std::vector<std::vector<double>> values, bool shuffle, std::int64_t seed)
      : space_(space), values_(std::move(values)) {
    std::vector<double> point(space_.size(), std::numeric_limits<double>::quiet_NaN());
    add(0, point);
    if (!shuffle) return;
    const std::size_t width = space_.size();
    const std::vector<std::int64_t> order = permutation(Key(static_cast<std::uint64_t>(seed)).fold("grid"), count());
    std::vector<double> shuffled;
    shuffled.reserve(points_.size());
    for (const std::int64_t at : order) {
      const auto begin = points_.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(at) * width);
      shuffled.insert(shuffled.end(), begin, begin + static_cast<std::ptrdiff_t>(width));
    }
    points_ = std::move(shuffled);
  }

  std::optional<std::int64_t> size() const override { return count(); }

  void set_allowed(std::function<bool(std::span<const double>)>&& allowed) override { allowed_ = std::move(allowed); }

  void take(std::span<const double> point) override {
    // Its own choices come in order: only the others need a place.
    if (next_ < count() && same_point(point, at(next_))) {
      ++next_;
    } else {
      taken_.insert(as_in_grid(point));
    }
  }

  bool sample(std::int64_t, std::int64_t attempt, std::span<const std::span<const double>>,
              std::span<double> point) override {
    if (!std::ranges::all_of(point, [](double x) { return std::isnan(x); })) return attempt == 0 && complete(point);
    while (next_ < count() && is_left_out(next_)) ++next_;
    if (next_ == count() && refused_ == count()) {
      throw recipe_error("none of the " + std::to_string(count()) + " points of the grid meets the constraints")
          .in("constraints");
    }
    if (attempt > 0 || next_ == count()) return false;
    std::ranges::copy(at(next_), point.begin());
    return true;
  }

 private:
  std::int64_t count() const { return static_cast<std::int64_t>(points_.size() / space_.size()); }
  std::span<const double> at(std::int64_t k) const {
    return std::span(points_).subspan(static_cast<std::size_t>(k) * space_.size(), space_.size());
  }

  bool is_left_out(std::int64_t k) {
    if (taken_.contains(at(k))) return true;
    if (!allowed_ || allowed_(at(k))) return false;
    ++refused_;
    return true;
  }

  // A value that was given is one of the grid's to rounding.
  std::vector<double> as_in_grid(std::span<const double> point) const {
    std::vector<double> snapped(point.begin(), point.end());
    for (std::size_t i = 0; i < snapped.size(); ++i) {
      if (space_[i].count() > 0) continue;  // exact already
      for (const double value : values_[i]) {
        if (std::abs(value - snapped[i]) <= 1e-9 * std::abs(value)) snapped[i] = value;
      }
    }
    return snapped;
  }

  // Some parameters are given. The others come from a point of the grid with the same given values, or from any point
  // if there is none. Points that are not taken come first; if the whole grid is taken, the first point is used again.
  bool complete(std::span<double> point) const {
    const std::vector<double> given = as_in_grid(point);
    std::vector<double> filled, first;
    for (const bool in_grid : {true, false}) {
      for (std::int64_t k = 0; k < count(); ++k) {
        filled = given;
        for (const std::size_t i : space_.order()) {
          if (!std::isnan(filled[i]) || !space_.active(i, filled)) continue;
          // Given values may activate parameters that are inactive in this point of the grid.
          filled[i] = std::isnan(at(k)[i]) ? values_[i].front() : at(k)[i];
        }
        if (same_point(filled, at(k)) != in_grid) continue;
        if (first.empty()) first = filled;
        const bool is_taken = (in_grid && k < next_) || taken_.contains(filled);
        if (!is_taken && (!allowed_ || allowed_(filled))) return copy_open(filled, point);
      }
      if (!first.empty()) break;
    }
    return copy_open(first, point);
  }

  static bool copy_open(const std::vector<double>& from, std::span<double> point) {
    for (std::size_t i = 0; i < from.size(); ++i) {
      if (std::isnan(point[i])) point[i] = from[i];
    }
    return true;
  }

  void add(std::size_t depth, std::vector<double>& point) {
    if (depth == space_.size()) {
      if (count() == most_grid_points) {
        throw recipe_error("expected a grid of at most a million points");
      }
      points_.insert(points_.end(), point.begin(), point.end());
      return;
    }
    const std::size_t i = space_.order()[depth];
    if (!space_.active(i, point)) {
      add(depth + 1, point);
      return;
    }
    for (const double value : values_[i]) {
      point[i] = value;
      add(depth + 1, point);
    }
    point[i] = std::numeric_limits<double>::quiet_NaN();
  }

  const Space space_;
  std::vector<std::vector<double>> values_;
  std::vector<double> points_;  // [point, parameter]
  std::function<bool(std::span<const double>)> allowed_;
  std::int64_t next_ = 0, refused_ = 0;  // all points before `next_` are taken or refused
  PointSet taken_;                       // but those that were passed by as the next one
};

// Every value of countable parameters; of ranges the `points` that divide them evenly.
std::unique_ptr<Sampler> make_grid(const Options& spec, const Space& space, std::int64_t seed, std::size_t) {
  std::vector<std::vector<double>> values(space.size());
  for (std::size_t i = 0; i < space.size(); ++i) {
    const SpaceParameter& p = space[i];
    std::int64_t count = p.count();
    if (count == 0) {
      if (!spec.given("points")) {
        throw spec.error("points", "the range of '" + p.name + "' has infinitely many values")
            .hint("give points = n, a step, or lab.space.choice { … }");
      }
      count = spec.integer("points");
    }
    count = std::min(count, most_grid_points + 1);
    for (std::int64_t k = 0; k < count; ++k) {
      if (p.count() > 0) {
        values[i].push_back(p.kind == SpaceParameter::Kind::choice ? static_cast<double>(k)
                                                                   : p.low + p.step * static_cast<double>(k));
        continue;
      }
      // Both ends are points of it.
      const double share = count > 1 ? static_cast<double>(k) / static_cast<double>(count - 1) : 0.5;
      const double value = p.log ? std::exp(std::log(p.low) + share * (std::log(p.high) - std::log(p.low)))
                                 : p.low + share * (p.high - p.low);
      values[i].push_back(space.nearest(i, value));
    }
  }
  try {
    return std::make_unique<Grid>(space, std::move(values), spec.boolean("shuffle"), sampler_seed(spec, seed));
  } catch (const Error& error) {
    throw spec.error("", error.message());
  }
}

}  // namespace

void register_grid(Registry& registry) {
  registry.add(
      Entry("sampler.grid", "sampler", "Tries every combination once; the sweep ends when all have been tried.")
          .with(Option("points", "number of values in each range without a step, both ends included")
                    .integer()
                    .at_least(1)
                    .at_most(1000))
          .with(Option("shuffle",
                       "try the combinations in random order, so that a sweep that is cut short covers the space")
                    .boolean()
                    .or_default(false))
          .with(sampler_seed_option())
          .example("sampler.grid { points = 5 }")
          .note("The parameter whose name comes last in the alphabet changes fastest. Inactive parameters do not "
                "multiply the grid. A point of the grid that `enqueue` gives is not tried again."),
      SamplerKind{.make = make_grid, .ends = true});
}

}  // namespace trainlab

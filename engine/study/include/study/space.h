// The search space of a study: its parameters, their ranges, and which of them are active in which trial.
//
// Inside the engine a point of the space is one double for each parameter, in the space's order: the value of a number,
// the index of a choice's label, NaN where the parameter is inactive. The Space holds labels and ranges, once per
// study. A Space does not change after it was made; thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "core/registry.h"

namespace trainlab {

struct SpaceParameter {
  enum class Kind { real, integer, choice };
  // A condition: active in trials in which the parameter `parent` has one of these (internal) values.
  struct Condition {
    std::size_t parent = 0;
    std::vector<double> values;
  };

  std::string name;
  Kind kind = Kind::real;
  double low = 0, high = 0;  // numbers: both ends may be reached
  double step = 0;           // numbers: between neighbours, from `low` on; 0: none
  bool log = false;          // numbers: uniform in their logarithm
  Value::List labels;        // choice; a fixed value is a choice of one
  std::vector<Condition> conditions;

  // The number of values; 0 if they are not countable.
  std::int64_t count() const;
  // The nearest value that the parameter can have.
  double nearest(double value) const;
  // The internal value of a label or a number as a recipe writes it, up to rounding; nullopt if the parameter cannot
  // have it.
  std::optional<double> find(const Value& written) const;
  // The values that could stand in place of `value`, for messages: "a number in 0 … 1, near it 0.3 or 0.4".
  std::string expected(const Value& written) const;
};

// Whether two labels are equal; 1 and 1.0 are equal.
bool same_label(const Value& a, const Value& b);

// Whether two points have the same values; parameters that are inactive in both count as equal.
bool same_point(std::span<const double> a, std::span<const double> b);

// A set of points with a look-up in constant time.
struct PointHash {
  using is_transparent = void;
  std::size_t operator()(std::span<const double> point) const;
};
struct SamePoint {
  using is_transparent = void;
  bool operator()(std::span<const double> a, std::span<const double> b) const { return same_point(a, b); }
};
using PointSet = std::unordered_set<std::vector<double>, PointHash, SamePoint>;

class Space {
 public:
  // The entries of kind "space" check ranges; the constructor checks that conditions refer to parameters with countable
  // values and form no circle. Error{recipe} in "NAME" otherwise.
  explicit Space(std::vector<SpaceParameter> parameters);

  std::size_t size() const { return parameters_.size(); }
  const SpaceParameter& operator[](std::size_t i) const { return parameters_[i]; }
  const std::vector<SpaceParameter>& parameters() const { return parameters_; }
  // Parents before their children: the order in which a point is drawn.
  const std::vector<std::size_t>& order() const { return order_; }
  // Groups of parameters that are active under the same conditions: in each trial all of a group are active, or none.
  const std::vector<std::vector<std::size_t>>& groups() const { return groups_; }

  // Whether the parameter is active in a point whose parents are set.
  bool active(std::size_t i, std::span<const double> point) const;
  // Whether all active parameters of the point have a value.
  bool is_whole(std::span<const double> point) const;

  // The parameter's own distribution: the value at u in [0, 1), so that a uniform u gives a draw; and the inverse, a u
  // for a value.
  double from_unit(std::size_t i, double u) const;
  double to_unit(std::size_t i, double value) const;
  // The nearest value that the parameter can have.
  double nearest(std::size_t i, double value) const { return parameters_[i].nearest(value); }

  // A point as a recipe sees it, by name: numbers and labels, nil for inactive parameters.
  Value::Map params(std::span<const double> point) const;
  Value param(std::size_t i, double value) const;
  // A point from values by name, for given trials: NaN for missing parameters. Error{recipe} in "NAME" for unknown
  // names and values outside of their range; values of inactive parameters may be nil only.
  std::vector<double> point(const Value& params) const;
  // The same for a value of a recipe: an empty table leaves all parameters open. Error{recipe} also for a value that is
  // not a table.
  std::vector<double> point_of(const Value& given) const;

  // The space as data, for the study's file, and back.
  Value to_value() const;
  static Space from_value(const Value& value);

 private:
  void arrange();

  std::vector<SpaceParameter> parameters_;
  std::vector<std::size_t> order_;
  std::vector<std::vector<std::size_t>> groups_;
};

// The option `space` of sweeps and studies: space = { lr = lab.space.log(1e-4, 1e-1), batch = 64 }. A plain value
// stands for lab.space.fixed, so that --set space.lr=0.01 takes a parameter out of the search.
Option space_option();

// The space in this option, with parameters in order of name. Error{recipe} with the option's path.
Space make_space(const Options& options);

// The points in the option `enqueue` of sweeps and studies, none where it is not given. Error{recipe} with the path of
// the point, as in `sweep.enqueue[2].lr`.
std::vector<std::vector<double>> enqueued_points(const Options& options, const Space& space);

}  // namespace trainlab

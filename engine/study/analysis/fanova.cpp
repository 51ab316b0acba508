// Functional analysis of variance of a random forest: Hutter, Hoos and Leyton-Brown 2014 ("An Efficient Approach for
// Assessing Hyperparameter Importance"), algorithm 2. A leaf of a tree is a box of the space, so that means over all
// parameters but one are sums over leaves, without an error of their own.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "core/random/stream.h"
#include "study/importance.h"

namespace trainlab {

namespace {

constexpr std::int64_t trees = 64;
constexpr int deepest = 64;

// A column holds the values of one parameter: places in 0 … 1 by the parameter's own distribution, or labels.
struct Column {
  std::size_t labels = 0;  // of a choice, else 0
  std::vector<double> values;
};

// The values of one parameter that belong to a box.
struct Side {
  double low = 0, high = 1;  // of a number
  std::vector<char> has;     // of a choice, by label

  double width() const {
    if (has.empty()) return high - low;
    return static_cast<double>(std::ranges::count(has, 1)) / static_cast<double>(has.size());
  }
};

struct Leaf {
  std::vector<Side> box;
  double value = 0;

  double volume() const {
    double volume = 1;
    for (const Side& side : box) volume *= side.width();
    return volume;
  }
};

struct Split {
  double gain = 0;
  std::size_t column = 0;
  double at = 0;  // the first places lie below; a choice's label is alone on its side
};

class Tree {
 public:
  Tree(const std::vector<Column>& columns, std::span<const double> losses, std::vector<std::size_t> rows)
      : columns_(columns), losses_(losses) {
    std::vector<Side> all(columns.size());
    for (std::size_t j = 0; j < columns.size(); ++j) all[j].has.assign(columns[j].labels, 1);
    grow(std::move(rows), std::move(all), 0);
  }

  // The share of each column in the variance of the tree over the whole space; empty if the tree is constant.
  std::vector<double> shares() const {
    double mean = 0, variance = 0;
    for (const Leaf& leaf : leaves_) mean += leaf.volume() * leaf.value;
    for (const Leaf& leaf : leaves_) variance += leaf.volume() * (leaf.value - mean) * (leaf.value - mean);
    if (!(variance > 0) || !std::isfinite(variance)) return {};
    std::vector<double> shares;
    for (std::size_t j = 0; j < columns_.size(); ++j) shares.push_back(marginal_variance(j, mean) / variance);
    return shares;
  }

 private:
  void grow(std::vector<std::size_t> rows, std::vector<Side> box, int depth) {
    const std::optional<Split> split = depth < deepest ? best_split(rows) : std::nullopt;
    if (!split) {
      double sum = 0;
      for (const std::size_t row : rows) sum += losses_[row];
      leaves_.push_back({std::move(box), sum / static_cast<double>(rows.size())});
      return;
    }
    const Column& column = columns_[split->column];
    const auto middle = std::partition(rows.begin(), rows.end(), [&](std::size_t row) {
      return column.labels > 0 ? column.values[row] == split->at : column.values[row] < split->at;
    });
    std::vector<Side> first = box;
    Side &here = first[split->column], &there = box[split->column];
    if (column.labels > 0) {
      const auto label = static_cast<std::size_t>(split->at);
      here.has.assign(column.labels, 0);
      here.has[label] = 1;
      there.has[label] = 0;
    } else {
      here.high = there.low = split->at;
    }
    grow({rows.begin(), middle}, std::move(first), depth + 1);
    grow({middle, rows.end()}, std::move(box), depth + 1);
  }

  // The split that takes most from the sum of squared distances to the mean: S₁² / n₁ + S₂² / n₂ − S² / n, with the
  // sums S of losses. Splits are at least as good as none, so that one is found unless all rows are alike.
  std::optional<Split> best_split(const std::vector<std::size_t>& rows) const {
    double all = 0;
    for (const std::size_t row : rows) all += losses_[row];
    if (std::ranges::all_of(rows, [&](std::size_t row) { return losses_[row] == losses_[rows.front()]; })) return {};
    const auto count = static_cast<double>(rows.size());
    std::optional<Split> best;
    const auto consider = [&](double sum, double n, std::size_t column, double at) {
      const double gain = sum * sum / n + (all - sum) * (all - sum) / (count - n) - all * all / count;
      if (!best || gain > best->gain) best = Split{gain, column, at};
    };
    for (std::size_t j = 0; j < columns_.size(); ++j) {
      const std::vector<double>& values = columns_[j].values;
      if (columns_[j].labels > 0) {
        std::vector<double> sums(columns_[j].labels), counts(columns_[j].labels);
        for (const std::size_t row : rows) {
          sums[static_cast<std::size_t>(values[row])] += losses_[row];
          ++counts[static_cast<std::size_t>(values[row])];
        }
        for (std::size_t label = 0; label < sums.size(); ++label) {
          if (counts[label] > 0 && counts[label] < count)
            consider(sums[label], counts[label], j, static_cast<double>(label));
        }
        continue;
      }
      std::vector<std::size_t> order = rows;
      std::ranges::sort(order, {}, [&](std::size_t row) { return std::pair(values[row], row); });
      double sum = 0;
      for (std::size_t k = 0; k + 1 < order.size(); ++k) {
        sum += losses_[order[k]];
        const double here = values[order[k]], next = values[order[k + 1]];
        const double at = 0.5 * (here + next);
        if (here < at) consider(sum, static_cast<double>(k + 1), j, at);
      }
    }
    return best;
  }

  // The variance of the mean over all other columns.
  double marginal_variance(std::size_t j, double mean) const {
    std::vector<double> ends;  // between which the mean is constant
    for (std::size_t label = 0; label < columns_[j].labels; ++label)
      ends.push_back(static_cast<double>(label) / static_cast<double>(columns_[j].labels));
    if (ends.empty()) {
      for (const Leaf& leaf : leaves_) ends.push_back(leaf.box[j].low);
      std::ranges::sort(ends);
      ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
    }
    const std::size_t cells = ends.size();
    ends.push_back(1);
    std::vector<double> means(cells + 1);
    for (const Leaf& leaf : leaves_) {
      const Side& side = leaf.box[j];
      const double share = leaf.value * leaf.volume() / side.width();
      if (side.has.empty()) {  // differences, to be summed up
        means[static_cast<std::size_t>(std::ranges::lower_bound(ends, side.low) - ends.begin())] += share;
        means[static_cast<std::size_t>(std::ranges::lower_bound(ends, side.high) - ends.begin())] -= share;
      }
      for (std::size_t label = 0; label < side.has.size(); ++label) means[label] += side.has[label] != 0 ? share : 0;
    }
    if (columns_[j].labels == 0) std::partial_sum(means.begin(), means.end(), means.begin());
    double variance = 0;
    for (std::size_t cell = 0; cell < cells; ++cell)
      variance += (ends[cell + 1] - ends[cell]) * (means[cell] - mean) * (means[cell] - mean);
    return variance;
  }

  const std::vector<Column>& columns_;
  std::span<const double> losses_;
  std::vector<Leaf> leaves_;
};

}  // namespace

Importance fanova(const Space& space, std::span<const double> points, std::span<const double> losses,
                  std::int64_t seed) {
  Importance result;
  result.shares.assign(space.size(), 0);
  std::vector<double> finite;
  std::vector<Column> columns(space.size());
  for (std::size_t j = 0; j < space.size(); ++j) {
    if (space[j].kind == SpaceParameter::Kind::choice) columns[j].labels = space[j].labels.size();
  }
  const Key key = Key(static_cast<std::uint64_t>(seed)).fold("fanova");
  Stream any(key.fold("inactive"));
  for (std::size_t i = 0; i < losses.size(); ++i) {
    if (!std::isfinite(losses[i])) continue;
    finite.push_back(losses[i]);
    for (std::size_t j = 0; j < space.size(); ++j) {
      const double value = points[i * space.size() + j];
      const bool is_active = !std::isnan(value), is_choice = columns[j].labels > 0;
      // The loss is the same for all values of an inactive parameter, so that any of them will do. One value for all
      // such trials would tell the trees which trials they are.
      if (is_choice) {
        columns[j].values.push_back(is_active ? value : static_cast<double>(any.below(columns[j].labels)));
      } else {
        columns[j].values.push_back(is_active ? space.to_unit(j, value) : any.uniform());
      }
    }
  }
  result.trials = std::ssize(finite);
  if (finite.empty()) return result;
  // Sums of squares lose no digits to what all losses have in common.
  const double mean = std::accumulate(finite.begin(), finite.end(), 0.0) / static_cast<double>(finite.size());
  for (double& loss : finite) loss -= mean;
  std::int64_t varied = 0;
  for (std::int64_t t = 0; t < trees; ++t) {
    Stream random(key.fold(static_cast<std::uint64_t>(t)));
    std::vector<std::size_t> rows(finite.size());
    for (std::size_t& row : rows) row = static_cast<std::size_t>(random.below(finite.size()));
    const std::vector<double> shares = Tree(columns, finite, std::move(rows)).shares();
    if (shares.empty()) continue;
    ++varied;
    for (std::size_t j = 0; j < shares.size(); ++j) result.shares[j] += shares[j];
  }
  for (double& share : result.shares) share /= static_cast<double>(std::max<std::int64_t>(varied, 1));
  return result;
}

}  // namespace trainlab

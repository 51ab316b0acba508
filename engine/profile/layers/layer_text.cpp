#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "core/number_or_nil.h"
#include "core/words.h"
#include "profile/layers.h"
#include "tensor/free_memory.h"

namespace trainlab {
namespace {

Value rate_of(double amount, double seconds) { return seconds > 0 ? Value(amount / seconds) : Value(); }

// The unit of the times of a table: a step of less than a millisecond has rows of few microseconds.
struct TableUnit {
  const char* name;
  double per_second;
};
TableUnit unit_of(double step) { return step < 1e-3 ? TableUnit{"µs", 1e6} : TableUnit{"ms", 1e3}; }

// The number with three digits, or with all before the point: 0.0123, 1.23, 1234.
std::string shown(double x) { return x == 0 ? "-" : figure_text(x, 3); }

constexpr double notable_difference = 0.02;  // of the mean step from the median: less is told by the JSON alone

std::string shown_rate(double amount, double seconds) { return seconds > 0 ? shown(amount / seconds / 1e9) : "-"; }

std::size_t widest(const auto& rows, auto name) {
  std::size_t width = 8;
  for (const auto& row : rows) width = std::max(width, std::invoke(name, row).size());
  return width;
}

// Lines of a table of operators whose first column is `width` wide; `step` in seconds.
class OperatorLines {
 public:
  OperatorLines(std::size_t width, double step) : width_(width), step_(step), unit_(unit_of(step)) {
    text_ = fmt::format("{:<{}} {:>9} {:>6} {:>8} {:>9} {:>9}\n", "operator", width_, unit_.name, "%", "calls",
                        "GFLOP/s", "GB/s");
  }

  void add(const std::string& name, const OperatorCost& cost) {
    text_ += fmt::format("{:<{}} {:>9.3f} {:>6.1f} {:>8} {:>9} {:>9}\n", name, width_, unit_.per_second * cost.seconds,
                         100 * cost.seconds / step_, shown(cost.calls), shown_rate(cost.flops, cost.seconds),
                         shown_rate(cost.bytes, cost.seconds));
  }

  // A layer with its operators, the slowest first; those of less than a hundredth of the step share a line.
  void add(const LayerCost& row) {
    text_ += fmt::format("{:<{}} {:>9.3f} {:>6.1f}\n", row.path, width_, unit_.per_second * row.seconds(),
                         100 * row.seconds() / step_);
    std::vector<OperatorCost> all = row.operators;
    std::ranges::stable_sort(all, std::greater<>(), &OperatorCost::seconds);
    OperatorCost rest;
    std::size_t others = 0;
    for (const OperatorCost& one : all) {
      if (one.seconds >= 0.01 * step_) {
        add("  " + one.name, one);
      } else {
        rest += one;
        ++others;
      }
    }
    if (others > 0) add("  " + counted(others, "other"), rest);
  }

  void blank() { text_ += '\n'; }

  std::string take() { return std::move(text_); }

 private:
  std::size_t width_;
  double step_;
  TableUnit unit_;
  std::string text_;
};

}  // namespace

OperatorCost& OperatorCost::operator+=(const OperatorCost& other) {
  seconds += other.seconds;
  calls += other.calls;
  bytes += other.bytes;
  flops += other.flops;
  return *this;
}

std::vector<OperatorCost> LayerTable::operators() const {
  std::map<std::string, OperatorCost> by_name;
  for (const LayerCost& row : rows) {
    for (const OperatorCost& one : row.operators) {
      OperatorCost& sum = by_name[one.name];
      sum.name = one.name;
      sum += one;
    }
  }
  std::vector<OperatorCost> all;
  for (auto& [name, sum] : by_name) all.push_back(std::move(sum));
  std::ranges::stable_sort(all, std::greater<>(), &OperatorCost::seconds);
  return all;
}

LayerTable LayerTable::heaviest(std::size_t count) const {
  LayerTable table = *this;
  std::ranges::stable_sort(table.rows, std::greater<>(), &LayerCost::seconds);
  if (table.rows.size() > count) table.rows.resize(count);
  return table;
}

Value LayerTable::to_value() const {
  Value::List layers;
  for (const LayerCost& row : rows) {
    Value::List operators;
    for (const OperatorCost& one : row.operators) {
      operators.push_back(Value::Map{{"name", one.name},
                                     {"seconds", one.seconds},
                                     {"calls", one.calls},
                                     {"bytes", one.bytes},
                                     {"flops", one.flops}});
    }
    layers.push_back(Value::Map{{"path", row.path},
                                {"forward", row.forward},
                                {"backward", row.backward},
                                {"flops", row.flops},
                                {"bytes", row.bytes},
                                {"calls", row.calls},
                                {"flops_per_second", rate_of(row.flops, row.seconds())},
                                {"bytes_per_second", rate_of(row.bytes, row.seconds())},
                                {"roof_share", number_or_nil(row.roof_share)},
                                {"activations", row.activations ? Value(*row.activations) : Value()},
                                {"operators", std::move(operators)}});
  }
  return Value::Map{{"layers", std::move(layers)},         {"steps", steps},
                    {"step_seconds", step_seconds},        {"mean_seconds", number_or_nil(mean_seconds)},
                    {"overhead", number_or_nil(overhead)}, {"operator_overhead", number_or_nil(operator_overhead)}};
}

std::string LayerTable::text(LayerView view) const {
  if (view == LayerView::operators) {
    const std::vector<OperatorCost> all = operators();
    OperatorLines lines(std::max(widest(all, &OperatorCost::name) + 2, widest(rows, &LayerCost::path)), step_seconds);
    for (const OperatorCost& one : all) lines.add(one.name, one);
    lines.blank();
    for (const LayerCost& row : rows) lines.add(row);
    return lines.take();
  }
  const std::size_t width = widest(rows, &LayerCost::path);
  const TableUnit unit = unit_of(step_seconds);
  const std::string named(unit.name);
  std::string text =
      fmt::format("{:<{}} {:>10} {:>11} {:>6} {:>8} {:>9} {:>9} {:>7} {:>9}\n", "layer", width, "forward " + named,
                  "backward " + named, "%", "MFLOP", "GFLOP/s", "GB/s", "% roof", "kept");
  for (const LayerCost& row : rows) {
    const std::int64_t kept = row.activations.value_or(0);
    text +=
        fmt::format("{:<{}} {:>10.3f} {:>11.3f} {:>6.1f} {:>8} {:>9} {:>9} {:>7} {:>9}\n", row.path, width,
                    unit.per_second * row.forward, unit.per_second * row.backward, 100 * row.seconds() / step_seconds,
                    shown(row.flops / 1e6), shown_rate(row.flops, row.seconds()), shown_rate(row.bytes, row.seconds()),
                    row.roof_share ? fmt::format("{:.0f}", 100 * *row.roof_share) : "-",
                    kept > 0 ? bytes_text(static_cast<double>(kept)) : "-");
  }
  const double mean = mean_seconds.value_or(step_seconds);
  return text +
         fmt::format(
             "a step of {:.3f} {} in the median, untimed{}; the timing of {} others ", unit.per_second * step_seconds,
             unit.name,
             std::abs(mean - step_seconds) >= notable_difference * step_seconds
                 ? fmt::format(" ({:.3f} {} in the mean, because steps differ)", unit.per_second * mean, unit.name)
                 : "",
             steps) +
         (overhead ? fmt::format("took {:.1f} % more time, which is left out\n", 100 * *overhead)
                   : "took a time that is not known\n");
}

}  // namespace trainlab

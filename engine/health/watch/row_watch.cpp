#include "row_watch.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "core/value.h"

namespace trainlab {
namespace {

// The remedy as a loop written by hand can apply it, which has none of the options of a fit; nullopt for faults that
// rows do not show.
std::optional<std::string> remedy_of_loop(HealthKind kind) {
  if (kind == HealthKind::overfitting)
    return "leave the loop once val.loss has not improved for 5 validations, and keep the weights of its best by "
           "ctx:save; more data, :augment { … }, nn.Dropout or more weight_decay let it learn longer";
  if (kind == HealthKind::not_finite)
    return "a lower rate, or { clip = 1 } as the options of lab.optimizer; and a check of the loss: roots, logarithms "
           "and quotients of 0";
  return std::nullopt;
}

}  // namespace

Resumable RowWatch::part() {
  return {.name = "health",
          .state =
              [this] {
                Value::List told;
                for (const HealthVerdict& verdict : told_) told.push_back(to_stored(verdict));
                return Value(Value::Map{{"figures", to_value(figures_)},
                                        {"since", Value::List{since_.steps, since_.sum}},
                                        {"told", std::move(told)}});
              },
          .restore =
              [this](const Value& state, const NamedTensors&) {
                if (state.is_nil()) return;  // a checkpoint of an earlier version: judged from here on
                restore(figures_, state["figures"]);
                const Value::List& since = state["since"].list();
                since_ = {.steps = since.at(0).integer(), .sum = since.at(1).number()};
                told_.clear();
                for (const Value& verdict : state["told"].list()) told_.push_back(verdict_of_stored(verdict));
              }};
}

void RowWatch::logged(const RowView& row) {
  const auto number = [&](const char* name) {
    const auto found = row.values.find(name);
    if (found == row.values.end()) return unmeasured;
    if (!std::isfinite(found->second) && !figures_.not_finite) {
      figures_.not_finite = NotFinite{.step = std::max<std::int64_t>(row.step - 1, 0),
                                      .origin = "unknown",
                                      .path = "",
                                      .text = std::string(name) + " is " + number_text(found->second)};
      look();
    }
    return found->second;
  };
  const double train = number("train.loss"), val = number("val.loss");
  // The rows of a loop that does not count its steps are all of one step, and show no course.
  if (row.step == 0) return;
  figures_.losses.add(train);
  if (std::isfinite(train)) {
    ++since_.steps;
    since_.sum += train;
  }
  if (!std::isfinite(val)) return;
  const std::vector<MeasuredEvaluation>& before = figures_.evaluations;
  if (!before.empty() && static_cast<double>(row.step) <= before.back().step) return;
  figures_.add(MeasuredEvaluation{.step = static_cast<double>(row.step),
                                  .train_loss = since_.steps > 0 ? since_.mean() : unmeasured,
                                  .val_loss = val});
  since_ = {};
  look();
}

void RowWatch::add_to(Value& summary) { summary.set("health", to_value(told_)); }

void RowWatch::look() {
  for (const std::string& line : take_back(told_, figures_)) tell(line);
  std::vector<HealthVerdict> found = judge(figures_);
  std::erase_if(found, [](const HealthVerdict& verdict) { return !remedy_of_loop(verdict.kind); });
  for (HealthVerdict& verdict : found) verdict.remedy = *remedy_of_loop(verdict.kind);
  for (const HealthVerdict& verdict : add_verdicts(told_, std::move(found))) tell(text_of(verdict));
}

void RowWatch::tell(const std::string& line) const {
  if (say_) say_(line);
}

}  // namespace trainlab

// sched.sequence and sched.product: schedules made of schedules.
#include <algorithm>
#include <span>
#include <vector>

#include "length_schedule.h"

namespace trainlab {
namespace {

std::vector<std::unique_ptr<Schedule>> parts_of(const Options& spec, const RunLength& length) {
  std::vector<std::unique_ptr<Schedule>> parts;
  for (const Options& part : spec.children("parts")) parts.push_back(make_schedule(part, length));
  return parts;
}

Value states_of(const std::vector<std::unique_ptr<Schedule>>& parts) {
  Value::List states;
  for (const auto& part : parts) states.push_back(part->state());
  if (std::ranges::all_of(states, &Value::is_nil)) return {};
  return states;
}

void restore_parts(const std::vector<std::unique_ptr<Schedule>>& parts, const Value& states) {
  if (states.is_nil()) return;
  for (std::size_t i = 0; i < parts.size(); ++i) parts[i]->restore(states.list().at(i));
}

bool may_any_fall(std::span<const std::unique_ptr<Schedule>> parts) {
  return std::ranges::any_of(parts, [](const auto& part) { return part->may_fall(); });
}

class Product final : public Schedule {
 public:
  Product(const Options& spec, const RunLength& length) : parts_(parts_of(spec, length)) {}

  double factor(std::int64_t step) override {
    double product = 1;
    for (const auto& part : parts_) product *= part->factor(step);
    return product;
  }
  void set_total(std::int64_t total_steps) override {
    for (const auto& part : parts_) part->set_total(total_steps);
  }
  void validated(double value, bool minimize) override {
    for (const auto& part : parts_) part->validated(value, minimize);
  }
  bool may_fall() const override { return may_any_fall(parts_); }
  Value state() const override { return states_of(parts_); }
  void restore(const Value& state) override { restore_parts(parts_, state); }

 private:
  std::vector<std::unique_ptr<Schedule>> parts_;
};

// Each part counts its steps, and the run's length, from where it begins to where the next one does.
class Sequence final : public LengthSchedule {
 public:
  Sequence(const Options& spec, const RunLength& length) : LengthSchedule(length), parts_(parts_of(spec, length)) {
    for (const Value& text : spec.get("at").list()) {
      at_.push_back(parse_duration(text.string()));
      if (at_.back().unit == Unit::seconds)
        throw spec.error("at", "expected durations in steps, epochs, samples or %, found " + to_text(at_.back()));
    }
    if (at_.size() + 1 != parts_.size())
      throw spec.error("at", "expected a time for each part but the first, " + std::to_string(parts_.size() - 1) +
                                 ", found " + std::to_string(at_.size()));
    Sequence::length_changed();
    if (!std::ranges::is_sorted(begins_)) throw spec.error("at", "expected times in rising order");
  }

  double factor(std::int64_t step) override {
    const auto next = std::ranges::upper_bound(begins_, step);
    present_ = static_cast<std::size_t>(next - begins_.begin()) - 1;
    return parts_[present_]->factor(step - begins_[present_]);
  }
  // A validation is that of the latest step; parts before and after it do not see it.
  void validated(double value, bool minimize) override { parts_[present_]->validated(value, minimize); }
  bool may_fall() const override { return may_any_fall(std::span(parts_).subspan(present_)); }

  Value state() const override {
    Value::Map state;
    if (const Value length = LengthSchedule::state(); !length.is_nil()) state = length.map();
    if (Value parts = states_of(parts_); !parts.is_nil()) {
      state["parts"] = std::move(parts);
      state["present"] = static_cast<std::int64_t>(present_);
    }
    return state.empty() ? Value() : Value(std::move(state));
  }
  void restore(const Value& state) override {
    LengthSchedule::restore(state);
    if (state["parts"].is_nil()) return;
    restore_parts(parts_, state["parts"]);
    present_ = static_cast<std::size_t>(state["present"].integer());
    Sequence::length_changed();  // a run that was extended since has longer parts
  }

 private:
  void length_changed() override {
    begins_.assign(1, 0);
    for (const Duration& one : at_) begins_.push_back(steps_of(one));
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      const std::int64_t end = i + 1 < begins_.size() ? begins_[i + 1] : total();
      parts_[i]->set_total(end - begins_[i]);
    }
  }

  std::vector<std::unique_ptr<Schedule>> parts_;
  std::vector<Duration> at_;
  std::vector<std::int64_t> begins_;  // of each part, in steps
  std::size_t present_ = 0;           // the part of the latest step
};

}  // namespace

void register_schedule_compositions(Registry& registry) {
  const auto parts = [](const char* doc) { return Option("parts", doc).entry("schedule").array().required(); };
  registry.add(
      Entry("sched.sequence", "schedule", "One schedule after another.")
          .with(parts("the schedules in order"))
          .with(Option("at", "times from the start of the run at which the second and later schedules begin")
                    .duration()
                    .many()
                    .required())
          .example("sched.sequence { sched.linear { start = 0.1, finish = 1 }, sched.cosine(), at = { \"10%\" } }")
          .note("Each part counts its steps from its own beginning, and percentages in a part refer to the length of "
                "that part. Equals PyTorch's SequentialLR. A sched.plateau looks at the validations during its own "
                "part only."),
      schedule_kind<Sequence>({{"at", "expected times within the run"}}));
  registry.add(Entry("sched.product", "schedule", "The product of schedules.")
                   .with(parts("the schedules; all see the same steps"))
                   .example("sched.product { sched.cosine(), sched.plateau() }")
                   .note("Equals PyTorch's ChainedScheduler for schedules that multiply the rate."),
               schedule_kind<Product>());
}

}  // namespace trainlab

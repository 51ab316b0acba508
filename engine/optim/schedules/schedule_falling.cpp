// sched.linear, exponential, polynomial, multi_step, wsd and inverse_sqrt: curves that fall once.
#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>
#include <vector>

#include "length_schedule.h"

namespace trainlab {
namespace {

// Curves over a stretch: the option `over`, or the rest of the run.
class Stretch : public WarmSchedule {
 public:
  Stretch(const Options& spec, const RunLength& length) : WarmSchedule(spec, length) {
    if (spec.given("over")) over_ = step_duration(spec, "over");
    Stretch::length_changed();
  }

 protected:
  // How much of the stretch is done, 0 … 1.
  double share(std::int64_t step, std::int64_t span) const {
    const std::int64_t whole = over_ ? steps_ : span;
    if (whole == 0) return 1;
    return static_cast<double>(std::min(step, whole)) / static_cast<double>(whole);
  }
  void length_changed() override {
    WarmSchedule::length_changed();
    if (over_) steps_ = steps_of(*over_);
  }

 private:
  std::optional<Duration> over_;
  std::int64_t steps_ = 0;
};

class Linear final : public Stretch {
 public:
  Linear(const Options& spec, const RunLength& length)
      : Stretch(spec, length), start_(spec.number("start")), finish_(spec.number("finish")) {}

 private:
  double at(std::int64_t step, std::int64_t span) const override {
    return start_ + (finish_ - start_) * share(step, span);
  }
  double start_, finish_;
};

class Polynomial final : public Stretch {
 public:
  Polynomial(const Options& spec, const RunLength& length)
      : Stretch(spec, length), power_(spec.number("power")), floor_(spec.number("floor")) {}

 private:
  double at(std::int64_t step, std::int64_t span) const override {
    return floor_ + (1 - floor_) * std::pow(1 - share(step, span), power_);
  }
  double power_, floor_;
};

class Exponential final : public WarmSchedule {
 public:
  Exponential(const Options& spec, const RunLength& length)
      : WarmSchedule(spec, length),
        every_(step_duration(spec, "every")),
        factor_(spec.number("factor")),
        floor_(spec.number("floor")) {
    Exponential::length_changed();
  }

 private:
  double at(std::int64_t step, std::int64_t) const override {
    return std::max(std::pow(factor_, static_cast<double>(step) / static_cast<double>(period_)), floor_);
  }
  void length_changed() override {
    WarmSchedule::length_changed();
    period_ = std::max<std::int64_t>(steps_of(every_), 1);
  }
  Duration every_;
  double factor_, floor_;
  std::int64_t period_ = 1;
};

class MultiStep final : public WarmSchedule {
 public:
  MultiStep(const Options& spec, const RunLength& length) : WarmSchedule(spec, length), factor_(spec.number("factor")) {
    for (const Value& text : spec.get("at").list()) {
      at_.push_back(parse_duration(text.string()));
      if (at_.back().unit == Unit::seconds)
        throw spec.error("at", "expected durations in steps, epochs, samples or %, found " + to_text(at_.back()));
    }
    MultiStep::length_changed();
  }

 private:
  // Milestones count from the start of the run, warm-up included.
  double at(std::int64_t step, std::int64_t) const override {
    const auto passed = std::ranges::count_if(steps_, [&](std::int64_t one) { return one <= step + rise(); });
    return std::pow(factor_, static_cast<double>(passed));
  }
  void length_changed() override {
    WarmSchedule::length_changed();
    steps_.clear();
    for (const Duration& one : at_) steps_.push_back(steps_of(one));
  }
  std::vector<Duration> at_;
  double factor_;
  std::vector<std::int64_t> steps_;
};

class Wsd final : public WarmSchedule {
 public:
  Wsd(const Options& spec, const RunLength& length)
      : WarmSchedule(spec, length),
        decay_(step_duration(spec, "decay")),
        shape_(spec.string("shape")),
        floor_(spec.number("floor")) {
    Wsd::length_changed();
  }

 private:
  double at(std::int64_t step, std::int64_t span) const override {
    const std::int64_t fall = std::max<std::int64_t>(std::min(steps_, span), 1), begin = span - fall;
    if (step < begin) return 1;
    const double x = std::min(1.0, static_cast<double>(step - begin) / static_cast<double>(fall));
    const double left = shape_ == "sqrt"     ? 1 - std::sqrt(x)
                        : shape_ == "cosine" ? (1 + std::cos(std::numbers::pi * x)) / 2
                                             : 1 - x;
    return floor_ + (1 - floor_) * left;
  }
  void length_changed() override {
    WarmSchedule::length_changed();
    steps_ = steps_of(decay_);
  }
  Duration decay_;
  std::string shape_;
  double floor_;
  std::int64_t steps_ = 0;
};

class InverseSqrt final : public WarmSchedule {
 public:
  InverseSqrt(const Options& spec, const RunLength& length) : WarmSchedule(spec, length) { length_changed(); }

 private:
  double at(std::int64_t step, std::int64_t) const override {
    return std::sqrt(static_cast<double>(rise() + 1) / static_cast<double>(rise() + step + 1));
  }
};

Option over_option() {
  return Option("over", "length of the fall after the warm-up (default: the rest of the run)").duration();
}

}  // namespace

void register_schedule_falling(Registry& registry) {
  registry.add(Entry("sched.linear", "schedule", "A straight line from one factor to another.")
                   .with(Option("start", "factor at the start").number().at_least(0).or_default(1.0))
                   .with(Option("finish", "factor at the end").number().at_least(0).or_default(0.0))
                   .with(over_option())
                   .with(warmup_option())
                   .example("sched.linear { warmup = \"5%\", finish = 0.1 }")
                   .note("start + (finish − start)·min(step / over, 1): PyTorch's LinearLR, whose defaults are start = "
                         "1/3 and finish = 1."),
               schedule_kind<Linear>());
  registry.add(
      Entry("sched.polynomial", "schedule", "Falls with a power of the remaining share of the run, down to a floor.")
          .with(Option("power", "exponent; 1 gives a straight line").number().more_than(0).or_default(1.0).positional())
          .with(over_option())
          .with(floor_option())
          .with(warmup_option())
          .example("sched.polynomial { power = 2, warmup = \"5%\" }")
          .note("floor + (1 − floor)·(1 − min(step / over, 1))^power: PyTorch's PolynomialLR."),
      schedule_kind<Polynomial>());
  registry.add(
      Entry("sched.exponential", "schedule", "Falls a little at each step: by the same factor in each period.")
          .with(Option("factor", "number by which the rate is multiplied each time")
                    .number()
                    .more_than(0)
                    .required()
                    .positional())
          .with(Option("every", "period in which the rate falls by the factor").duration().or_default("1 epochs"))
          .with(floor_option())
          .with(warmup_option())
          .example("sched.exponential { factor = 0.9, every = \"1 epochs\" }")
          .note("factor^(step / every), which at the end of each period equals PyTorch's ExponentialLR called once a "
                "period."),
      schedule_kind<Exponential>());
  registry.add(Entry("sched.multi_step", "schedule", "Multiplies the rate by a factor at given times.")
                   .with(Option("at", "times from the start of the run").duration().many().required())
                   .with(Option("factor", "number by which the rate is multiplied each time")
                             .number()
                             .more_than(0)
                             .or_default(0.1))
                   .with(warmup_option())
                   .example("sched.multi_step { at = { \"50%\", \"75%\" }, factor = 0.1 }")
                   .note("factor^n when n of the times have passed, as PyTorch's MultiStepLR."),
               schedule_kind<MultiStep>({{"at", "expected times within the run"}}));
  registry.add(Entry("sched.wsd", "schedule", "Warm-up, a stable stretch, a fall at the end (Hu et al. 2024).")
                   .with(Option("decay", "length of the fall, at the end of the run").duration().or_default("20%"))
                   .with(Option("shape", "shape of the fall over x = 0 … 1: 1 − x, 1 − √x, or half a cosine")
                             .choice({"linear", "sqrt", "cosine"})
                             .or_default("linear"))
                   .with(floor_option())
                   .with(warmup_option())
                   .example("sched.wsd { warmup = \"2%\", decay = \"20%\", shape = \"sqrt\" }")
                   .note("1 until the fall, then floor + (1 − floor)·shape(x). A longer run shares its stable stretch "
                         "with a shorter one."),
               schedule_kind<Wsd>());
  registry.add(
      Entry("sched.inverse_sqrt", "schedule", "Falls with the root of the step after a warm-up (Vaswani et al. 2017).")
          .with(warmup_option())
          .example("sched.inverse_sqrt { warmup = \"4000 steps\" }")
          .note("√((W + 1) / (step + 1)) after W steps of warm-up; it never reaches 0."),
      schedule_kind<InverseSqrt>());
}

}  // namespace trainlab

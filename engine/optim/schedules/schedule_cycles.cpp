// sched.one_cycle, cyclic and cosine_restarts: curves that rise again.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "length_schedule.h"

namespace trainlab {
namespace {

// PyTorch's OneCycleLR: phases that end at whole steps but for the first, which ends at rise·T − 1.
class OneCycle final : public LengthSchedule {
 public:
  OneCycle(const Options& spec, const RunLength& length)
      : LengthSchedule(length),
        start_(spec.number("start")),
        peak_(spec.number("peak")),
        finish_(spec.number("finish")),
        share_(spec.number("rise")),
        is_linear_(spec.string("shape") == "linear"),
        has_three_(spec.boolean("three_phases")) {}

  double factor(std::int64_t step) override {
    const auto whole = static_cast<double>(total()), now = std::min(static_cast<double>(step), whole - 1);
    const double top = share_ * whole - 1, back = has_three_ ? 2 * share_ * whole - 2 : top;
    if (now <= top) return between(start_, peak_, now / top);
    if (has_three_ && now <= back) return between(peak_, start_, (now - top) / (back - top));
    return between(has_three_ ? start_ : peak_, finish_, (now - back) / (whole - 1 - back));
  }

 private:
  void length_changed() override {}
  double between(double from, double to, double x) const {
    if (std::isnan(x)) return to;  // a phase of no length
    return is_linear_ ? from + (to - from) * x : to + (from - to) / 2 * (std::cos(std::numbers::pi * x) + 1);
  }

  double start_, peak_, finish_, share_;
  bool is_linear_, has_three_;
};

class Cyclic final : public LengthSchedule {
 public:
  Cyclic(const Options& spec, const RunLength& length)
      : LengthSchedule(length),
        floor_(spec.number("floor")),
        gamma_(spec.number("gamma")),
        mode_(spec.string("mode")),
        up_(step_duration(spec, "up")),
        down_(step_duration(spec, spec.given("down") ? "down" : "up")) {
    Cyclic::length_changed();
  }

  double factor(std::int64_t step) override {
    const double cycle = std::floor(1 + static_cast<double>(step) / size_);
    const double x = 1 + static_cast<double>(step) / size_ - cycle;
    const double height = x <= share_ ? x / share_ : (x - 1) / (share_ - 1);
    const double scale = mode_ == "triangular2" ? std::pow(2, 1 - cycle)
                         : mode_ == "exp_range" ? std::pow(gamma_, static_cast<double>(step))
                                                : 1;
    return floor_ + (1 - floor_) * height * scale;
  }

 private:
  void length_changed() override {
    const auto up = static_cast<double>(std::max<std::int64_t>(steps_of(up_), 1));
    const auto down = static_cast<double>(std::max<std::int64_t>(steps_of(down_), 1));
    size_ = up + down;
    share_ = up / size_;
  }

  double floor_, gamma_;
  std::string mode_;
  Duration up_, down_;
  double size_ = 1, share_ = 0.5;
};

class CosineRestarts final : public WarmSchedule {
 public:
  CosineRestarts(const Options& spec, const RunLength& length)
      : WarmSchedule(spec, length),
        every_(step_duration(spec, "every")),
        longer_(spec.integer("longer")),
        floor_(spec.number("floor")) {
    CosineRestarts::length_changed();
  }

 private:
  double at(std::int64_t step, std::int64_t) const override {
    std::int64_t period = period_;
    if (longer_ == 1) {
      step %= period;
    } else {
      for (; step >= period; period *= longer_) step -= period;
    }
    const double share = static_cast<double>(step) / static_cast<double>(period);
    return floor_ + (1 - floor_) * (1 + std::cos(std::numbers::pi * share)) / 2;
  }
  void length_changed() override {
    WarmSchedule::length_changed();
    period_ = std::max<std::int64_t>(steps_of(every_), 1);
  }

  Duration every_;
  std::int64_t longer_;
  double floor_;
  std::int64_t period_ = 1;
};

}  // namespace

void register_schedule_cycles(Registry& registry) {
  registry.add(
      Entry("sched.one_cycle", "schedule",
            "Rises to a peak and falls far below the start over the whole run (Smith and Topin 2018).")
          .with(Option("start", "factor at the start").number().at_least(0).or_default(0.04))
          .with(Option("peak", "factor at the top").number().at_least(0).or_default(1.0))
          .with(Option("finish", "factor at the end").number().at_least(0).or_default(4e-6))
          .with(Option("rise", "share of the run before the top").number().more_than(0).less_than(1).or_default(0.3))
          .with(Option("shape", "half cosines or straight lines").choice({"cosine", "linear"}).or_default("cosine"))
          .with(Option("three_phases", "fall to the start in as many steps as the rise took, then to the end")
                    .boolean()
                    .or_default(false))
          .example("sched.one_cycle { rise = 0.3 }")
          .note("PyTorch's OneCycleLR: start = 1 / div_factor, finish = start / final_div_factor, and for the momentum "
                "start = finish = 1 and peak = base_momentum / max_momentum with the optimizer's own as max_momentum."),
      schedule_kind<OneCycle>());
  registry.add(Entry("sched.cyclic", "schedule", "Straight up and down between a floor and the rate (Smith 2017).")
                   .with(Option("floor", "factor between two cycles").number().at_least(0).less_than(1).or_default(0.1))
                   .with(Option("up", "length of a rise").duration().or_default("2000 steps"))
                   .with(Option("down", "length of a fall (default: as long as the rise)").duration())
                   .with(Option("mode", "height of the peaks: all equal, each half of the peak before, or gamma^step")
                             .choice({"triangular", "triangular2", "exp_range"})
                             .or_default("triangular"))
                   .with(Option("gamma", "factor of each step in mode \"exp_range\"")
                             .number()
                             .more_than(0)
                             .at_most(1)
                             .or_default(1.0))
                   .example("sched.cyclic { floor = 0.1, up = \"2 epochs\", mode = \"triangular2\" }")
                   .note("PyTorch's CyclicLR with base_lr = floor·lr and max_lr = lr."),
               schedule_kind<Cyclic>());
  registry.add(Entry("sched.cosine_restarts", "schedule", "Half cosines that begin anew (Loshchilov and Hutter 2017).")
                   .with(Option("every", "length of the first cosine").duration().required().positional())
                   .with(Option("longer", "how many times longer each cosine is than the one before")
                             .integer()
                             .at_least(1)
                             .or_default(1))
                   .with(floor_option())
                   .with(warmup_option())
                   .example("sched.cosine_restarts { every = \"10 epochs\", longer = 2 }")
                   .note("floor + (1 − floor)·(1 + cos(π·t / T)) / 2 with t counted from the latest restart: PyTorch's "
                         "CosineAnnealingWarmRestarts, with T_0 = every and T_mult = longer."),
               schedule_kind<CosineRestarts>());
}

}  // namespace trainlab

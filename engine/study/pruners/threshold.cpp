// The pruner that compares a trial with a fixed range.
#include "pruners.h"

namespace trainlab {

namespace {

// Looks at the first objective only.
class Threshold final : public Pruner {
 public:
  Threshold(double lower, double upper, std::int64_t warmup) : lower_(lower), upper_(upper), warmup_(warmup) {}

  bool compares() const override { return false; }
  bool prunes(const Curves& curves, std::int64_t trial) const override {
    if (curves.trials().last_resource(trial) <= warmup_) return false;
    const double value = curves.trials().last_mean(trial).front();
    return !(value >= lower_ && value <= upper_);
  }

 private:
  double lower_, upper_;
  std::int64_t warmup_;
};

std::unique_ptr<Pruner> make_threshold(const Options& spec, std::size_t, const Delivery&) {
  if (!spec.given("lower") && !spec.given("upper"))
    throw spec.error("", "expected lower, upper, or both, found neither");
  return std::make_unique<Threshold>(
      spec.given("lower") ? spec.number("lower") : -std::numeric_limits<double>::infinity(),
      spec.given("upper") ? spec.number("upper") : std::numeric_limits<double>::infinity(), spec.integer("warmup"));
}

}  // namespace

void register_threshold(Registry& registry) {
  registry.add(Entry("pruner.threshold", "pruner", "Prunes a trial whose value leaves a range or is not a number.")
                   .with(Option("lower", "smallest value with which a trial continues").number())
                   .with(Option("upper", "largest value with which a trial continues").number())
                   .with(pruner_warmup_option())
                   .example("pruner.threshold { upper = 10 }")
                   .note("With several objectives the pruner looks at the first one."),
               PrunerFactory{make_threshold});
}

}  // namespace trainlab

// The pruner that compares a trial with its own past.
#include <algorithm>

#include "pruners.h"

namespace trainlab {

namespace {

class Patience final : public Pruner {
 public:
  Patience(std::int64_t patience, double min_delta, std::unique_ptr<Pruner> base)
      : patience_(patience), min_delta_(min_delta), base_(std::move(base)) {}

  bool compares() const override { return base_ && base_->compares(); }
  bool prunes(const Curves& curves, std::int64_t trial) const override {
    const std::int64_t resource = curves.trials().last_resource(trial);
    if (resource <= patience_) return false;
    std::vector<double> before;  // [validation, objective]
    bool improved = false;
    curves.walk(trial, [&](std::int64_t at, std::span<const double> values) {
      if (at > resource || improved) return;
      if (at > resource - patience_) {
        improved = improves(values, before);
      } else {
        for (const double x : values) before.push_back(worst_if_nan(x));
      }
    });
    if (improved) return false;
    // While the trial improved the base was not asked, so that rungs may have gone by.
    return !base_ || base_->prunes(curves.unjudged(), trial);
  }

 private:
  // None before is as good in all objectives, but for min_delta.
  bool improves(std::span<const double> values, std::span<const double> before) const {
    for (; !before.empty(); before = before.subspan(values.size())) {
      const bool is_as_good = std::ranges::equal(before.first(values.size()), values, [&](double old, double now) {
        return old - min_delta_ <= worst_if_nan(now);
      });
      if (is_as_good) return false;
    }
    return true;
  }

  std::int64_t patience_;
  double min_delta_;
  std::unique_ptr<Pruner> base_;
};

std::unique_ptr<Pruner> make_patience(const Options& spec, std::size_t objectives, const Delivery& delivery) {
  return std::make_unique<Patience>(
      spec.integer("patience"), spec.number("min_delta"),
      spec.given("base") ? make_pruner(spec.child("base"), objectives, delivery) : nullptr);
}

}  // namespace

void register_patience(Registry& registry) {
  registry.add(
      Entry("pruner.patience", "pruner", "Prunes a trial that has not improved for some validations.")
          .with(Option("patience", "number of validations without an improvement")
                    .integer()
                    .at_least(1)
                    .positional()
                    .required())
          .with(
              Option("min_delta", "smallest change that counts as an improvement").number().at_least(0).or_default(0.0))
          .with(Option("base", "prune only if this pruner agrees").entry("pruner"))
          .example("pruner.patience(3, { base = pruner.median() })")
          .note("With several objectives a validation is an improvement if no earlier one is at least as good in all "
                "of them. The base is asked while a trial does not improve; a base with rungs then judges all rungs "
                "that the trial has met."),
      PrunerFactory{make_patience});
}

}  // namespace trainlab

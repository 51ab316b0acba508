#include <fmt/format.h>

#include "core/value.h"
#include "core/words.h"
#include "paired_gradients.h"
#include "stop_rule.h"
#include "train/gradient_reader.h"

namespace trainlab {

namespace {

// The criterion of Mahsereci et al. (2017) for a gradient g_k of variance v_k is 1 − mean over k of g_k² / v_k > 0. The
// rule averages the inverse of this quotient, the share of noise: its mean is 1 where there is only noise, while the
// mean of a quotient by a variance that is estimated from few steps is larger.
class EvidenceRule final : public StopRule, public GradientReader {
 public:
  explicit EvidenceRule(const Options& options) : times_(options.integer("times")), steps_(options.integer("steps")) {}

  std::optional<std::string> validated(const Progress& progress) override {
    const std::int64_t steps = progress.step - begin_;
    if (is_read_ || steps < steps_) return std::nullopt;
    const double share = window_.noise_share();
    begin_ = progress.step;
    is_read_ = true;
    readings_ = share > 1 ? readings_ + 1 : 0;
    if (readings_ < times_) return std::nullopt;
    return fmt::format("the gradients hold no evidence of further progress: noise is {:.4g} % of their squares over {}",
                       100 * share, counted(steps, "step")) +
           (times_ > 1 ? fmt::format(", and more than 100 % in {} readings in a row", times_) : "");
  }

  void read(std::int64_t step, std::span<const at::Tensor> gradients, const at::Tensor& found_inf) override {
    // What was read stays until here, because a rule may be asked again about the same validation.
    if (is_read_) {
      window_ = {};
      is_read_ = false;
      if (begin_ < 0) begin_ = step;
    }
    window_.add(step, gradients, found_inf);
  }

  std::int64_t numbers_per_weight() const override { return 3; }
  GradientReader* gradient_reader() override { return this; }

  Value state() const override { return Value::Map{{"begin", begin_}, {"is_read", is_read_}, {"readings", readings_}}; }
  void restore(const Value& state) override {
    begin_ = state["begin"].integer();
    is_read_ = state["is_read"].boolean();
    readings_ = state["readings"].integer();
  }
  NamedTensors tensors() const override { return is_read_ ? NamedTensors() : window_.tensors(); }
  void restore_tensors(const NamedTensors& kept) override { window_.restore(kept); }

 private:
  std::int64_t times_, steps_;
  PairedGradients window_;     // of the steps since the latest reading
  std::int64_t begin_ = -1;    // the step of the latest reading, or the first that was seen; −1 before it
  bool is_read_ = true;        // whether the next step begins a window
  std::int64_t readings_ = 0;  // in a row that found nothing but noise
};

}  // namespace

void register_stop_evidence(Registry& registry) {
  registry.add(
      Entry("stop.evidence", "stop", "Stops when the gradients hold nothing but the noise of their batches.")
          .with(Option("times", "readings in a row that find nothing but noise")
                    .integer()
                    .at_least(1)
                    .or_default(5)
                    .positional())
          .with(Option("steps", "the fewest steps of a reading, which ends at a validation")
                    .integer()
                    .at_least(2)
                    .or_default(20))
          .example("stop.evidence { times = 5 }")
          .note("The idea is that of Mahsereci et al. (2017), \"Early stopping without a validation set\". A step has "
                "the mean gradient of its batch alone, so that a reading takes the steps in pairs: from the sums of "
                "(g − h)² and g² + h² over the gradients g and h of the pairs it estimates, for each weight, the share "
                "of noise in the squared gradient. A reading finds nothing but noise where the mean share of the "
                "weights is above 1. Gradients are read before they are clipped, and any optimizer may use them; where "
                "the rate is so high that steps overshoot, a pair differs by more than noise. The rule keeps three "
                "float32 numbers for each weight. It is no rule for everyday use: docs/forecasts.md says how early it "
                "stopped."),
      StopFactory{[](const Options& options, const StopContext&) -> std::unique_ptr<StopRule> {
        return std::make_unique<EvidenceRule>(options);
      }});
}

}  // namespace trainlab

// HealthFigures: the figures of a training that the rules of health read. The rules read nothing else, so that they can
// be tested on stored figures, without training. A figure that was not measured is NaN.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/value.h"
#include "health/floor.h"

namespace trainlab {

inline constexpr double unmeasured = std::numeric_limits<double>::quiet_NaN();

// Facts that are known when the fit starts.
struct RunFacts {
  std::int64_t total_steps = 0;       // with which the fit will end, an estimate where a budget ends it; 0: unknown
  std::int64_t batch = 0;             // samples in a batch
  std::int64_t accumulate = 1;        // batches in an optimizer step
  bool begins_trained = false;        // whether the model or a part of it begins with the weights of a training
  double lr = unmeasured;             // learning rate of the optimizer's options, without a schedule
  double largest_lr = unmeasured;     // largest_usual_rate() of the optimizer
  bool finds_step_size = false;       // whether the optimizer finds the size of its steps itself, as Prodigy does
  std::int64_t classes = 0;           // 0: the samples do not have one class label each
  double entropy = unmeasured;        // entropy of the training part's labels, in nats
  double largest_share = unmeasured;  // share of the training part's most frequent label
  bool is_weighted = false;           // whether the loss gives the samples or the classes weights
  // Loss of the best constant prediction for the training part: the entropy for the cross-entropy. NaN where it is not
  // known.
  double prior_loss = unmeasured;
  double val_prior_loss = unmeasured;    // of the same prediction, on the validation part; NaN: taken for prior_loss
  bool is_never_negative = false;        // whether the formula of the loss has no negative values
  double shared = unmeasured;            // share of validation samples that are training samples too
  double shared_by_test = unmeasured;    // the same of the test part
  double repeated = unmeasured;          // share of training samples that are in the training part four times or more
  std::optional<LabelFloor> floor = {};  // of the cross-entropy, by equal samples of the training part
  std::int64_t validation_samples = 0;   // in the validation part
};

// The first batch as the model's first layer gets it; floating-point numbers only.
struct InputFigures {
  double mean = unmeasured, deviation = unmeasured, root_mean_square = unmeasured;
  bool is_normalised = false;  // the model's first layer with parameters is a normalisation
};

// The training losses of some consecutive steps; all blocks but the last have equally many.
struct LossBlock {
  std::int64_t steps = 0;
  double sum = 0;
  double mean() const { return sum / static_cast<double>(steps); }
};

// The training loss of all steps in at most `most_blocks` blocks of equally many steps, which become longer as the run
// goes on. Only finite losses are added.
class LossCurve {
 public:
  static constexpr std::size_t most_blocks = 256;

  void add(double loss);
  std::int64_t steps() const { return steps_; }
  double first() const { return first_; }  // NaN before the first step
  // Mean loss of the first `steps` steps, and of further ones where their block ends later; NaN before these steps.
  double start(std::int64_t steps) const;
  // The last block may be shorter than the others.
  const std::vector<LossBlock>& blocks() const { return blocks_; }
  // Mean loss of the blocks between two shares of the steps so far: mean(0.75, 1) is the mean over the last quarter.
  double mean(double from, double to) const;
  // The largest mean of five steps that follow each other; −∞ before the first five.
  double worst() const { return worst_; }

  Value to_value() const;
  static LossCurve of_value(const Value& value);

 private:
  static constexpr std::int64_t span = 5;

  std::vector<LossBlock> blocks_;
  LossBlock recent_;  // the latest steps, at most `span` of them
  std::int64_t steps_ = 0, block_steps_ = 1;
  double first_ = unmeasured, worst_ = -std::numeric_limits<double>::infinity();
};

// The figures of two neighbouring steps k and k+1, whose weights and gradients were read. u is the update that step k
// subtracted, g and g' are the gradients of steps k and k+1. All are computed from samples of each weight (see
// watch/reading.h).
struct MeasuredStep {
  double step = unmeasured;  // k, from 0
  double rate = unmeasured;  // learning rate
  // ‖u‖ / ‖w‖ over the weights with two axes or more, without those that began at 0.
  double median_update = unmeasured;
  double gradient_norm = unmeasured;  // ‖g‖ of all parameters
  double largest_at = unmeasured;     // place in HealthFigures::weights of the parameter with the largest ‖g‖
  // The weight with two axes or more that has the least gradient: its place, its ‖g‖ divided by that of the last of
  // these weights, and its own ‖u‖ / ‖w‖ (NaN where it began at 0).
  double least_at = unmeasured, least_gradient = unmeasured, least_update = unmeasured;
  // g·u and g'·u. The ratio −g'·u / g·u is −1 where the loss has no curvature, 0 where the step went to the minimum
  // along u, and positive where the step went too far. (Cockpit's alpha by gradients alone: Schneider et al. 2021.)
  double slope_before = unmeasured, slope_after = unmeasured;
  // ‖g‖² and g·g', whose means give the noise scale: ‖g‖² = ‖G‖² + tr(Σ)/B and g·g' = ‖G‖² (McCandlish et al. 2018,
  // appendix A).
  double square = unmeasured, product = unmeasured;
  double top_share = unmeasured;  // share of the batch's samples for which the class chosen most often is chosen
};

// An activation layer.
struct UnitFigures {
  std::string path = {};                   // "model[2].ReLU"
  std::string kind = {};                   // "ReLU"
  double spread_at_start = unmeasured;     // standard deviation of the outputs, in the first batch that was read
  double dead_at_start = unmeasured;       // share of units that were not above 0 in the first window of batches
  double dead = unmeasured;                // the same share in the latest window
  double saturated_at_start = unmeasured;  // share of values near a limit of the function, at first
  double saturated = unmeasured;           // the same share in the latest reading
};

// A layer that uses statistics of the batch.
struct BatchNormFigures {
  std::string path = {};
  double values = unmeasured;  // values of a channel in a batch
};

// The loss of a validation, and the training loss before this validation.
struct MeasuredEvaluation {
  double step = unmeasured, train_loss = unmeasured, val_loss = unmeasured;
};

// The origin of the first value that is not finite, or of a loss that has jumped.
struct NotFinite {
  std::int64_t step = 0;    // step of the value, counted from 0
  std::string origin = {};  // "input", "weights", "layer", "loss", or "unknown" where the step cannot be repeated
  std::string path = {};    // path of the first layer whose output is not finite; empty: no layer
  std::string text = {};    // "12 of 640 values of the batch are not finite"
};

struct HealthFigures {
  RunFacts run = {};
  std::vector<std::string> weights = {};  // names of the parameters that train, in the order of the model
  InputFigures input = {};
  // Steps that were done before the first of these figures, with the options from before a fix: what is there at the
  // beginning is then no initial state.
  std::int64_t first_step = 0;
  LossCurve losses = {};
  std::vector<MeasuredStep> measured = {};  // in order of steps
  // Places in `weights` of those that were 0 in a reading. How large an update of such a weight is in relation to the
  // weight says nothing about the rate, and does not count.
  std::set<std::size_t> began_at_0 = {};
  std::vector<UnitFigures> units = {};  // in the order of the model
  std::vector<BatchNormFigures> norms = {};
  std::vector<MeasuredEvaluation> evaluations = {};  // in order of steps
  std::int64_t evaluated = 0;                        // evaluations that were added
  // Whether, at the latest evaluation, the rate was to fall before the end, or might have.
  bool may_rate_fall = false;
  std::optional<NotFinite> not_finite = {};
  // A finite loss that was enormous because values of the batch were.
  std::optional<NotFinite> outliers = {};
  // The rate that a function of the recipe has set in place of schedule × lr, and where in the recipe. NaN: none has.
  double set_rate = unmeasured;
  std::string set_at = {};

  // add() keeps at most most_rows rows of each list, the first and the latest among them, by leaving out every second
  // row and the rows between these that come later. From one evaluation to the next, but for the latest, equally many
  // are left out, so that rules may take a part of them for the same part of all. Measured steps are equally many steps
  // apart once they are many.
  static constexpr std::size_t most_rows = 512;
  void add(const MeasuredStep& row);
  void add(const MeasuredEvaluation& row);

  // Whether what is there at the beginning is an initial state, which initial weights make.
  bool from_start() const { return first_step == 0 && !run.begins_trained; }
  // The steps that are done. A fit with a step of its own shows its validations alone.
  std::int64_t steps_done() const;
  // Share of the planned steps after first_step that are done; 0 where the length is unknown.
  double progress() const;
};

// The figures as a checkpoint keeps them, without `run`, `weights` and the rate that was set, which the fit itself
// knows; and the conversion back, which raises std::logic_error for figures in another form.
Value to_value(const HealthFigures& figures);
void restore(HealthFigures& figures, const Value& value);

}  // namespace trainlab

// Rules for the learning rate and for the noise of gradients.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "core/statistics.h"
#include "core/value.h"
#include "measures.h"
#include "rules.h"

namespace trainlab {
namespace {

// A usual update relative to the weights. In healthy runs updates are 0.0025 to 0.037 of the weights.
constexpr double usual_update = 5e-3;

// Larger updates, relative to the weight, say nothing of the rate that is right: they are in proportion to the rate
// only near the initial weights, which such a training has left at once.
constexpr double telling_update = 5;

HealthVerdict too_high(const HealthFigures& figures, std::string confidence, const std::string& evidence,
                       std::int64_t good_until = 0) {
  const std::vector<double> updates = column(figures, &MeasuredStep::median_update);
  const double update = upper_median(updates);
  const double lower = std::clamp(usual_update / update, 1e-3, 0.25);
  const bool is_near = update <= telling_update && updates.front() <= telling_update;
  const bool tells = is_near && !figures.run.finds_step_size;  // else no update is in proportion to the rate
  const double factor = tells ? lower : std::min(lower, figures.run.largest_lr / rate_to_change(figures));
  const std::string_view warm_up = ", with a warm-up: schedule = sched.cosine { warmup = \"5%\" }";
  return {.kind = HealthKind::rate_too_high,
          .confidence = std::move(confidence),
          .evidence = fmt::format("{}; an update is {:.2g} of a weight", evidence, update),
          .remedy = fmt::format("{}{}{}", lr_text(figures, factor), rate_setter(figures).empty() ? warm_up : "",
                                tells ? "" : "; how far to go is a guess, which trainlab find lr RECIPE measures"),
          .cure = lr_cure(figures, factor, good_until)};
}

// The remedy for a rate that is too low.
struct HigherRate {
  std::string text;
  std::optional<Cure> cure = {};
};

HigherRate higher_rate(const HealthFigures& figures, double update) {
  if (figures.run.finds_step_size)
    return {.text =
                "another start of the search for the size of the steps, which the optimizer finds itself: d0 = "
                "1e-5 or 1e-4 with optim.Prodigy; else another optimizer"};
  const double wanted = update > 0 ? std::clamp(usual_update / update, 4.0, 1e3) : 10;
  const double to_largest = figures.run.largest_lr / rate_to_change(figures);
  if (to_largest < 2)
    return {.text = fmt::format("a loss of a larger scale: a rate of {:.4g} is as large as rates of this optimizer "
                                "usually are; trainlab find lr RECIPE measures whether a larger one is better",
                                rate_to_change(figures))};
  const double factor = to_largest < wanted ? to_largest : wanted;  // the largest usual rate may be unknown
  return {.text = lr_text(figures, factor), .cure = lr_cure(figures, factor, figures.steps_done())};
}

}  // namespace

Finding find_rate_too_high(const HealthFigures& figures) {
  const double update = typical_update(figures);
  const bool was_high = was_rate_high(figures);
  if (figures.not_finite && figures.not_finite->origin != "input" && was_high) {
    return too_high(figures, "high", fmt::format("the loss is not finite at step {}", figures.not_finite->step + 1));
  }
  const double gain = learnt(figures);
  if (loss_rose(figures) && was_high && !(gain > 0.7)) {
    return too_high(figures, gain < 0.1 ? "high" : "medium",
                    fmt::format("the loss rose from {} to {}", figure_text(figures.losses.first(), 3),
                                figure_text(figures.losses.worst(), 3)));
  }
  if (!has_seen(figures, 30, 0.25)) return {};
  // Nothing is learnt while the weights move a lot.
  const bool is_falling = figures.losses.mean(0.75, 1) < 0.97 * figures.losses.mean(0.25, 0.5);
  const bool is_large = was_high || update > 0.1 || (update > 3e-2 && has_seen(figures, 30, 0.5));
  if (gain < 0.1 && !is_falling && is_large) {
    return too_high(figures, was_high ? "high" : "medium",
                    fmt::format("the loss began at {} and is {} after {} steps", figure_text(figures.losses.first(), 3),
                                figure_text(figures.losses.mean(0.8, 1), 3), figures.losses.steps()));
  }
  return {};
}

Finding find_loss_lost_again(const HealthFigures& figures) {
  if (!has_seen(figures, 30, 0.25)) return {};
  double best = std::numeric_limits<double>::infinity();
  std::int64_t best_until = 0;
  for (int i = 0; i < 9; ++i) {
    const double mean = figures.losses.mean(0.1 * i, 0.1 * (i + 1));
    if (!(mean < best)) continue;
    best = mean;
    best_until = figures.first_step + figures.losses.steps() * (i + 1) / 10;
  }
  const double now = figures.losses.mean(0.9, 1);
  if (!(best > 0 && now > 2 * best && now > 0.3 * start_loss(figures) && typical_update(figures) > 1e-2)) return {};
  return too_high(figures, "medium",
                  fmt::format("the loss fell to {} and is {} again", figure_text(best, 3), figure_text(now, 3)),
                  best_until);
}

std::optional<std::string> refute_by_learning(const HealthVerdict&, const HealthFigures& figures) {
  if (!(learnt(figures) > 0.9)) return {};
  return fmt::format("the loss has fallen from {} to {}", figure_text(figures.losses.first(), 3),
                     figure_text(figures.losses.mean(0.8, 1), 3));
}

Finding find_rate_too_low(const HealthFigures& figures) {
  if (!has_seen(figures, 50, 0.25)) return {};
  if (is_start_unknown(figures)) return {};  // trained weights need small updates
  if (drowns_in_noise(figures)) return {};   // updates are small so that their noise remains small
  const double update = typical_update(figures), overshoot = typical_overshoot(figures);
  const bool is_small = update < 2e-3, meets_nothing = overshoot < -0.75;
  if (!is_small && !meets_nothing) return {};
  // A training that has converged has small updates too. Under a rate that is too low, the loss still falls evenly, or
  // has not begun to fall. A loss that falls faster and faster has left a plateau by itself, and before the middle of
  // the run it may still do so.
  if (!(update < 5e-4) && !has_seen(figures, 50, 0.5)) return {};
  const double gain = learnt(figures), late = late_share(figures);
  // The loss may fall evenly at usual updates too, in a short training, and at small ones that noise keeps small.
  const bool is_small_for_noise = are_gradients_noise(figures) && most_change(figures) > 0.1;
  const bool falls_evenly = late > 0.3 && late < 0.7 && !(update > usual_update) && !is_small_for_noise;
  if (!(gain < 0.1) && !falls_evenly) return {};
  HigherRate higher = higher_rate(figures, update);
  const std::string slope = meets_nothing ? fmt::format("changes {:.0f} % of the slope", 100 * (1 + overshoot)) : "";
  const std::string seen =
      (std::isnan(update) ? "an update"
                          : fmt::format("an update is {:.2g} of a weight{}", update, meets_nothing ? " and" : "")) +
      (slope.empty() ? "" : " " + slope);
  return HealthVerdict{
      .kind = HealthKind::rate_too_low,
      .confidence = is_small && gain < 0.1 ? "high"
                    : is_small             ? "medium"
                                           : "low",
      .evidence = fmt::format("{}the loss went from {} to {} in {} steps", seen.empty() ? "" : seen + ", and ",
                              figure_text(figures.losses.first(), 3), figure_text(figures.losses.mean(0.8, 1), 3),
                              figures.losses.steps()),
      .remedy = std::move(higher.text),
      .cure = std::move(higher.cure)};
}

Finding find_not_finite(const HealthFigures& figures) {
  if (!figures.not_finite || figures.not_finite->origin == "input" || was_rate_high(figures)) return {};
  const NotFinite& lost = *figures.not_finite;
  const bool is_loss = lost.origin == "loss";
  return HealthVerdict{
      .kind = HealthKind::not_finite,
      .step = lost.step,
      .confidence = lost.origin == "weights" ? "medium" : "high",
      .evidence = fmt::format("step {}: {}{}", lost.step + 1, lost.text,
                              is_loss             ? "; the outputs of all layers are finite, so the loss makes it"
                              : lost.path.empty() ? ""
                                                  : "; the first layer whose output is not finite is " + lost.path),
      .remedy = is_loss ? "check the targets and the loss: logarithms and quotients of 0"
                        : "clip = { norm = 1 }, and a check of the layer's arithmetic: roots, logarithms and quotients "
                          "of 0",
      .cure = is_loss ? std::nullopt
                      : std::optional(Cure{.option = FixedOption::clip, .value = 1.0, .good_until = lost.step - 1})};
}

Finding find_noisy_gradients(const HealthFigures& figures) {
  if (!has_seen(figures, 200, 0.75) || !drowns_in_noise(figures)) return {};
  // The loss of the first step is that of a single sample, where a batch has no more.
  const double prior = figures.run.prior_loss;
  const double gain = std::isnan(prior) ? learnt(figures) : 1 - figures.losses.mean(0.8, 1) / prior;
  if (!(gain < 0.05)) return {};
  const double share = common_share(figures);
  // The noise scale is 1 / share − 1 batches. Up to a third of the noise scale, a larger batch saves steps nearly in
  // proportion.
  const double factor = std::clamp(std::exp2(std::ceil(std::log2(0.3 / std::max(share, 1e-3)))), 4.0, 64.0);
  const std::int64_t accumulate = std::llround(factor) * figures.run.accumulate;
  return HealthVerdict{
      .kind = HealthKind::noisy_gradients,
      .confidence = "medium",
      .evidence =
          fmt::format("{:.2g} of a gradient's square is common to two batches, {:.0f} % of the slope along an "
                      "update is left in the next batch, and the loss has not fallen in {} steps",
                      std::max(share, 0.0), 100 * std::max(-typical_overshoot(figures), 0.0), figures.losses.steps()),
      .remedy = fmt::format("accumulate = {}, or a batch {:.0f} times larger", accumulate, factor),
      .cure = Cure{.option = FixedOption::accumulate, .value = accumulate}};
}

}  // namespace trainlab

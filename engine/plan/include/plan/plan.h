// A plan: the best size of a model and the best amount of data for a budget, or a judgement of a given choice of both.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/value.h"
#include "forecast/efficiency.h"
#include "plan/approaches.h"
#include "plan/ends_first.h"
#include "plan/law.h"
#include "plan/prices.h"
#include "plan/transformer.h"

namespace trainlab {

// The largest number in a question, and the most FLOPs of a budget. All that is computed from such numbers is finite.
inline constexpr double most_planned = 1e40;

// The flags of `trainlab plan`. Numbers are above 0.
struct PlanQuestion {
  // The budget, one of these.
  std::optional<double> flops{}, gpu_hours{}, within_seconds{};
  std::optional<std::string> money{};

  std::optional<double> usable_seconds{};  // the part of within_seconds that training can use
  // The speed: either the FLOP/s that training reaches, or the device's peak and the share of this peak that training
  // reaches.
  std::optional<double> rate{}, peak{}, mfu{};
  std::optional<std::string> device_name{};
  std::optional<std::string> prices{};  // path of the file of prices

  // The choices that the user has made already. A transformer stands for its number of parameters.
  std::optional<double> parameters{}, tokens{};
  std::optional<Transformer> transformer{};
  std::optional<double> unique_tokens{};

  KnownLaw law = known_law("besiroglu");
};

// How fast a device trains.
struct Speed {
  std::optional<double> rate{};  // FLOP/s
  std::optional<double> peak{};
  // The share of the peak that training reaches, without counting recomputation; unknown where the rate or the peak is.
  std::optional<double> mfu() const;
};

// The faults of a choice of parameters and tokens, each with the figure behind it. Any thread.
struct Judgement {
  double compute_share = 1;              // FLOPs that suffice for the same loss, divided by the FLOPs spent
  Allocation instead;                    // the allocation that reaches the loss with these FLOPs
  double tokens_per_parameter = 0;       // of the choice
  double best_tokens_per_parameter = 0;  // with the same FLOPs
  double epochs = 0;                     // passes over the unique tokens; 0 where their number is not given

  bool is_compute_inefficient() const { return compute_share <= inefficient_share; }
  bool is_over_trained() const { return is_compute_inefficient() && tokens_per_parameter > best_tokens_per_parameter; }
  bool is_repeated() const { return epochs > most_passes; }
};
Judgement judged(const Law& law, const Allocation& chosen, double unique_tokens = all_unique);

struct Plan {
  Allocation chosen;
  double flops = 0;                // FLOPs of the training: by the paper's count for a transformer, else 6 N D
  std::optional<double> budget{};  // FLOPs
  double loss = 0;
  std::optional<LossInterval> loss_interval{};  // of a law that was fitted to runs
  bool is_given = false;                        // whether the question chose parameters or tokens, rather than the law
  Judgement judgement;
  std::vector<Answer> answers;
  KnownLaw law;
  std::optional<Transformer> transformer{};
  double unique_tokens = all_unique;
  Speed speed;
  std::optional<double> seconds{};
  std::optional<Price> price{};
  std::optional<double> cost{};
  EndsFirst ends_first = EndsFirst::unknown;

  double flops_6nd() const { return chosen.flops(); }
  // The FLOPs of the question: those of the budget or, without one, of the training.
  double asked_flops() const { return budget.value_or(flops); }
  // Whether these FLOPs, or the FLOPs, parameters or tokens of the training, lie beyond those of the runs behind the
  // law; unknown where nobody knows the FLOPs of the runs.
  std::optional<bool> is_extrapolated() const;
};

// Reads the files that the question names. Raises Error{usage} for flags that contradict each other or are missing, and
// for a budget into which no training fits.
Plan make_plan(const PlanQuestion& question);

// { kind = "plan", approaches = …, … }; unknown numbers are nil.
Value to_value(const Plan& plan);
// The same with `curve`, a list of { parameters, loss }: models from a thirtieth to thirty times the best size for the
// plan's FLOPs (6 N D), as a page draws them.
Value page_value(const Plan& plan);

}  // namespace trainlab

// Fits the scaling law L(N, D) = E + A/N^alpha + B/D^beta to the user's own runs.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/value.h"
#include "plan/law.h"

namespace trainlab {

// A finished training. All numbers are above 0.
struct RunPoint {
  double parameters = 0, tokens = 0, loss = 0;

  Allocation allocation() const { return {parameters, tokens}; }
  double flops() const { return allocation().flops(); }
};

// The runs of which a law is to be fitted.
struct ReadRuns {
  std::vector<RunPoint> points;
  // Folders of fits that ended before their length, or failed by a loss that is not finite, each with the reason: no
  // law describes their loss.
  std::vector<std::string> left_out;
};

// The runs in the files and folders that the words name. A CSV file has a row for each run, with the columns parameters
// (or N), tokens (or D) and loss. A folder is that of a fit, whose summary has the parameters, val.loss and the FLOPs:
// its tokens are FLOPs / 6 N, or its samples where the FLOPs are unknown. Raises Error with the file and line for
// anything else.
ReadRuns read_runs(std::span<const std::string> words);

struct LawFit {
  Law law;
  std::vector<Law> samples;  // bootstrap: laws of the runs resampled with replacement
  std::size_t runs = 0;
  double objective = 0;                // huber_sum at the law
  double deviation = 0;                // the root mean square of the differences between the logarithms of the losses
  RunRange flops, parameters, tokens;  // of the runs; FLOPs are 6 N D
  // How far a law of the shorter runs alone misses the longest ones, those with more than 1/1.9 of the most FLOPs: the
  // logarithm of predicted to found loss for each doubling of FLOPs. nullopt where the shorter runs determine no law.
  std::optional<double> drift;
};

// The objective of the fit: the sum over the runs of Huber's function, delta = 1e-3, of the differences between the
// logarithms of the law's loss and the run's (Hoffmann et al. 2022, section D.2). It is the sum rather than the mean,
// because with the mean a minimiser ends too early (Besiroglu et al. 2024, arXiv 2404.10102).
double huber_sum(const Law& law, std::span<const RunPoint> points);

// The law with the least objective among the minima found from the 4,500 starts of Besiroglu et al. 2024, and 200 laws
// of resampled runs, which are the same for the same runs. Takes some seconds for some hundred runs. Raises
// Error{recipe} for runs that do not determine a law: fewer than 6, fewer than 3 sizes of models or of data, data in
// proportion to the parameters, or losses that do not fall with one of the two.
LawFit fit_law(std::span<const RunPoint> points);

// A fitted E below this loss is unknown: the runs tell nothing of the limit but that it is far away.
inline constexpr double unknown_limit = 1e-9;

// A constant of a fitted law, with the 10th and the 90th percentile over the law's samples.
struct FittedConstant {
  std::string name;
  double value = 0, low = 0, high = 0;
};
// E, A, B, alpha and beta, and the exponent with which the best number of parameters grows with the FLOPs.
std::vector<FittedConstant> fitted_constants(const LawFit& fit);

// { kind = "plan_fit", law = …, intervals = …, samples = …, … }. read_law reads this value as JSON.
Value to_value(const LawFit& fit);
// The fit as a page draws it: { runs, deviation, drift, most_flops } of to_value, and
// `constants`: { name, value, low, high }, where nil stands for an E that is unknown;
// `points`: of each run { parameters, tokens, flops, loss }, in rising order of FLOPs;
// `models`: for up to 6 numbers of parameters among the runs, evenly chosen, { parameters, curve }: the law's loss
//   { tokens, loss } over the tokens of all runs;
// `best`: for FLOPs from those of the shortest run to 100 times those of the longest the best allocation { flops,
//   parameters, low, high (10-90 %), tokens, loss, loss_low, loss_high (interval_of) };
// `budgets`: the same for 1, 10 and 100 times the FLOPs of the longest run.
Value page_value(const LawFit& fit, std::span<const RunPoint> points);

}  // namespace trainlab

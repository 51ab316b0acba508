// `trainlab profile A B`: two stages measured beside each other, and where their steps differ.
//
// Two profiles, taken one after the other, would also compare two moments of the machine. So both stages are loaded at
// once, short runs of each take turns (A B B A …), and differences are taken within pairs of neighbouring runs.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "profile/profile.h"

namespace trainlab {

struct StageBeside {
  const Options& stage;
  const RunSettings& settings;
  std::string recipe = {};         // the recipe's path, as the user would type it
  std::string note = {};           // "the first trial of sweep search", "with batch=128", or empty
  std::function<void()> ran = {};  // as in ProfileOptions
};

// The seconds that a part of a step takes in both stages.
struct PartBeside {
  std::string name = {};                          // a part of Shares, or the path of a row of LayerTable
  std::optional<double> a = {}, b = {};           // medians; absent where only the other stage has the part
  std::optional<MedianInterval> difference = {};  // b − a within pairs; absent where a or b is
  // The same for as many samples in B as a step of A has; absent where their steps have as many.
  std::optional<MedianInterval> for_samples = {};

  // The difference by which the stages are judged; absent as `difference`.
  const std::optional<MedianInterval>& judged() const { return for_samples ? for_samples : difference; }
};

// The samples of A's step over those of B's; nullopt where they are as many, or where either number is not known. A
// shorter step is not the faster training where they differ.
inline std::optional<double> samples_of_a_over_b(double a, double b) {
  return a > 0 && b > 0 && a != b ? std::optional(a / b) : std::nullopt;
}

struct StagesBeside {
  struct Side {
    std::string recipe = {}, note = {}, stage = {}, kind = {};
    MedianInterval step = {};  // seconds, with a step's proportion of validations and checkpoints
    double samples = 0;        // samples in a step, the mean over an epoch; 0: unknown
  };
  Side a, b;
  std::size_t pairs = 0;
  MedianInterval ratio = {};              // time of B's step divided by the time of A's
  std::vector<PartBeside> parts = {};     // the parts of a step as in Shares, without the estimated launch gap
  std::vector<PartBeside> layers = {};    // from further steps; in A's order, then rows that only B has
  Value cores = {};                       // cores_value() of the short runs
  std::vector<std::string> missing = {};  // "layers: they are measured on the CPU"

  bool differ_in_samples() const { return samples_of_a_over_b(a.samples, b.samples).has_value(); }
  // The time of B's step divided by that of A's, or where the two differ in samples, the time of a sample.
  MedianInterval judged() const { return ratio.times(samples_of_a_over_b(a.samples, b.samples).value_or(1)); }
  // B's samples a second divided by A's; absent where either is unknown.
  std::optional<MedianInterval> speed() const {
    return a.samples > 0 && b.samples > 0 ? std::optional(judged().inverse(1)) : std::nullopt;
  }
  // "equal" where judged() lies within 2 % of 1; else "slower" or "faster" where it leaves out 1; else "unclear".
  std::string verdict() const;
};

// Runs both stages for about `options.seconds` together, and for as long again for validations, checkpoints and
// layers. Raises the errors of the stages, with the recipe's name, and Error{usage} where a step is too long for the
// seconds. Asked to stop, it gives what it has measured where there are enough pairs for an interval, and raises
// Error{interrupted} otherwise. To be called on the recipes' thread.
StagesBeside measure_beside(const StageBeside& a, const StageBeside& b, const ProfileOptions& options);

// The part that explains best why B is slower, or why B is faster: the one with the largest judged difference in this
// direction, among those whose interval leaves out 0; null where there is none. Pure.
const PartBeside* largest_difference(const std::vector<PartBeside>& parts, bool is_slower);

std::string beside_text(const StagesBeside& stages);
// The result for --json, with the members that docs/profiling.md lists.
Value beside_value(const StagesBeside& stages);

}  // namespace trainlab

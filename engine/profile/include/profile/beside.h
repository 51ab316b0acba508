// `trainlab profile A B`: two stages measured beside each other, and where their steps differ.
//
// One profile after the other would also compare two moments of the machine. So both stages are loaded at once, short
// runs of each take turns (A B B A …), and what is said of the difference comes from pairs of neighbours.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "profile/profile.h"

namespace trainlab {

struct StageBeside {
  const Options& stage;
  const RunSettings& settings;
  std::string recipe = {};  // as the user would type it
  std::string note = {};    // "the first trial of sweep search", "with batch=128", or empty
};

// Seconds of a step.
struct PartBeside {
  std::string name = {};                    // of a part of Shares, or the path of a row of LayerTable
  std::optional<double> a = {}, b = {};     // medians; absent where only the other stage has the part
  std::optional<Interval> difference = {};  // b − a, of pairs; absent where a or b is
};

struct StagesBeside {
  struct Side {
    std::string recipe = {}, note = {}, stage = {}, kind = {};
    Interval step = {};        // seconds, with its part of validations and checkpoints
    std::int64_t samples = 0;  // of a step; 0: unknown
  };
  Side a, b;
  std::size_t pairs = 0;
  Interval ratio = {};                    // of the time of B's step to A's
  std::optional<Interval> speed = {};     // of B's samples a second to A's; absent where either is unknown
  std::vector<PartBeside> parts = {};     // of a step, as Shares has them, without the estimated launch gap
  std::vector<PartBeside> layers = {};    // from further steps; A's order, then rows that only B has
  std::vector<std::string> missing = {};  // "layers: a task has none"

  // "slower" or "faster": the interval of the ratio leaves out 1; "equal": it lies within 2 %; else "unclear".
  std::string verdict() const;
};

// Runs both for about `options.seconds` in all, and as long again for validations, checkpoints and layers. Errors are
// those of the stages, which then say whose they are; Error{usage} where a step is too long for the seconds. On the
// recipes' thread.
StagesBeside measure_beside(const StageBeside& a, const StageBeside& b, const ProfileOptions& options);

// The part that differs most for certain, whose interval leaves out 0; null where there is none. Pure.
const PartBeside* largest_difference(const std::vector<PartBeside>& parts);

std::string beside_text(const StagesBeside& stages);
// The result for --json, with the members that docs/profiling.md lists.
Value beside_value(const StagesBeside& stages);

}  // namespace trainlab

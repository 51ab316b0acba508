// Decides when to end a study because no more improvement is expected.
//
// A Gaussian process is fitted to the complete trials. The study ends when the largest improvement over the best trial
// that the process expects of one more trial, wherever in the space it lies, is below the smallest improvement that is
// worth a trial. For a search that goes where that improvement is largest, this bounds the regret (Nguyen, Gupta, Rana,
// Li and Venkatesh 2017, Regret for Expected Improvement over the Best-Observed Value and Stopping Condition, ACML);
// the next trial of any other sampler promises even less. With noise the process sees how much of the differences is
// chance, and the study ends earlier.
#pragma once

#include <optional>

#include "study/space.h"
#include "study/trials.h"

namespace trainlab {

class NoImprovement {
 public:
  // Number of complete trials before the first judgement.
  static constexpr std::int64_t startup = 20;

  // `min_delta`: the smallest improvement of the first objective that is worth a trial, in its unit (default: a
  // hundredth of the distance between the median trial and the best).
  explicit NoImprovement(const Space& space, std::optional<double> min_delta = {})
      : space_(space), min_delta_(min_delta) {}

  struct Verdict {
    bool ends = false;
    double expected = 0, min_delta = 0;  // the largest expected improvement, and what it was compared with
    std::int64_t trials = 0;             // number of complete trials that were used; 0: too few
  };
  // Judges the trials numbered below `visible`, always of the same study. The result is a pure function of these
  // trials: it uses a number of the first complete trials that grows in steps of a tenth, so that the process is fitted
  // anew only at these steps (O(n³), at most 400 trials). A call in between looks only at trials that had not ended at
  // the call before.
  const Verdict& judge(const Trials& trials, bool maximize, std::int64_t visible);

 private:
  void follow(const Trials& trials);

  const Space space_;
  std::optional<double> min_delta_;
  std::int64_t seen_ = 0;                      // trials that were looked at
  std::vector<std::int64_t> open_, complete_;  // seen trials that have not ended; complete trials, in order
  std::size_t judged_ = 0;                     // number of the first complete trials on which the verdict is based
  Verdict verdict_;
};

}  // namespace trainlab

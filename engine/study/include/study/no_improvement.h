// When to end a study: no more improvement is expected.
//
// A Gaussian process is fitted to the complete trials. The study ends when the largest improvement over the best trial
// that the process expects of one more trial, wherever in the space it lies, is too small to care for. For a search
// that goes where that improvement is largest the regret is bounded then (Nguyen, Gupta, Rana, Li and Venkatesh 2017,
// Regret for Expected Improvement over the Best-Observed Value and Stopping Condition, ACML); any other sampler's next
// trial promises less still. With noise the process sees how much of the differences is chance, and so ends earlier.
#pragma once

#include <optional>

#include "study/space.h"
#include "study/trials.h"

namespace trainlab {

class NoImprovement {
 public:
  // Complete trials before it judges.
  static constexpr std::int64_t startup = 20;

  // `min_delta`: the smallest improvement of the first objective worth a trial, in its unit; without it a hundredth of
  // what lies between the median trial and the best.
  explicit NoImprovement(const Space& space, std::optional<double> min_delta = {})
      : space_(space), min_delta_(min_delta) {}

  struct Verdict {
    bool ends = false;
    double expected = 0, min_delta = 0;  // the largest expected improvement, and what it was compared with
    std::int64_t trials = 0;             // complete ones that it was judged from; 0: too few
  };
  // Of the trials numbered below `visible`; always of the same study. A pure function of them: it looks at the first
  // complete ones, so many that it needs to fit anew only when they have grown by a tenth, which is O(n³) of the
  // trials, 400 at most. A call in between looks only at trials that had not ended at the one before.
  const Verdict& judge(const Trials& trials, bool maximize, std::int64_t visible);

 private:
  void follow(const Trials& trials);

  const Space space_;
  std::optional<double> min_delta_;
  std::int64_t seen_ = 0;                      // trials that were looked at
  std::vector<std::int64_t> open_, complete_;  // of those: that have not ended; that are complete, in order
  std::size_t judged_ = 0;                     // of the complete ones the first so many, of which the verdict is
  Verdict verdict_;
};

}  // namespace trainlab

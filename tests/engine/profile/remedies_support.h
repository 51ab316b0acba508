// For tests of remedies: facts of a made-up fit, and trials with the time for all of them.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "profile/remedies.h"
#include "support/fit_support.h"

namespace trainlab::test {

using Texts = std::vector<std::string>;

// The remedy of this single change.
inline const Remedy* with_set(const std::vector<Remedy>& remedies, const std::string& set) {
  const auto found = std::ranges::find(remedies, Texts{set}, &Remedy::set);
  return found == remedies.end() ? nullptr : &*found;
}

inline FitFacts facts() {
  return {.batch = 64, .samples = 1000, .validate_every = 10, .checkpoint_every = 20, .has_metrics = true, .cores = 4};
}

inline StepVerdict verdict_of(Bottleneck bottleneck, Bottleneck otherwise = Bottleneck::unknown) {
  StepVerdict verdict;
  verdict.bottleneck = bottleneck;
  verdict.otherwise = otherwise;
  return verdict;
}

// A fit of 40 steps with its profile, which is measured for a tenth of a second.
struct ProfiledFit {
  explicit ProfiledFit(int threads = cpu_settings().threads) : settings(cpu_settings()) {
    settings.threads = threads;
    profile = profile_stage(fit, settings, {.seconds = 0.1});
  }

  const Options fit = parse_options(digits_fit(R"(, "steps": 40)"));
  RunSettings settings;
  Profile profile;
};

inline TriedRemedies tried_remedies(const Profile& profile, const StepVerdict& verdict, const Options& training,
                                    const RunSettings& settings, const WithSet& with_set, const ProfileOptions& options,
                                    const StageOfTraining& stage = {}) {
  TriedRemedies tried;
  try_remedies(tried, profile, verdict, training, settings, with_set, options, stage);
  return tried;
}

// Time for all remedies, on a busy machine too.
inline ProfileOptions long_time() { return {.seconds = 1000}; }

}  // namespace trainlab::test

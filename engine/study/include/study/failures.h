// Why the trials of a study failed, in a sentence: the reason that most of them share.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "study/storage.h"

namespace trainlab {

struct Failures {
  std::int64_t count = 0, ended = 0;  // trials that have failed, and trials that have ended
  // The failed trials whose reasons are alike, where numbers may differ, such as steps and rates: the largest group,
  // and of equal ones that of the earliest trial. In order of number.
  std::vector<std::int64_t> alike = {};
  // Their reason, one line that is cut, with "…" in place of numbers that differ. Empty where no reason is known.
  std::string reason = {};
};

// nullopt if no trial has failed. A pure function.
std::optional<Failures> failures_of(std::span<const StoredTrial> trials);

// "12 of 16 trials failed, 9 of them with: r.lua:7: no luck"
std::string text_of(const Failures& failures);

}  // namespace trainlab

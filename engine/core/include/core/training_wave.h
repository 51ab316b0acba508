// TrainingWave: trainings of one length, by which a stage of many trainings is described before it runs.
#pragma once

#include <cstdint>

namespace trainlab {

// Trials that may train side by side, after those of the wave before have ended.
struct TrainingWave {
  std::int64_t trials = 1;
  // By which each of them goes on; 0: its trainings are whole ones.
  std::int64_t validations = 0;
  std::int64_t times = 1;  // such waves, one after the other

  bool operator==(const TrainingWave&) const = default;
};

}  // namespace trainlab

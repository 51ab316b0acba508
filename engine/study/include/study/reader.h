// A study as reports read it: a snapshot of the state that was committed last.
//
// Nothing is created, locked or changed: processes that work on the study are not disturbed, and a study in a read-only
// folder can be read. Used by one thread. StudyPlace::read() gives a StudyReader.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "core/value.h"
#include "study/storage.h"

namespace trainlab {

class StudyReader {
 public:
  virtual ~StudyReader() = default;

  // The description given to Storage::open; nil while the study is being made.
  virtual Value description() = 0;
  // Trials in the order of their numbers. Reading `info` of all trials takes as long as reading everything else;
  // without it `info` is nil.
  virtual std::vector<StoredTrial> trials(bool with_info) = 0;
  virtual Value info(std::int64_t trial) = 0;
  // Reports of these trials, in the order in which they were made.
  virtual std::vector<StoredReport> reports(std::span<const std::int64_t> trials) = 0;
  // Sum of `info.seconds`; nullopt if no trial has seconds.
  virtual std::optional<double> seconds() = 0;
};

}  // namespace trainlab

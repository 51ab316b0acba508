// A study as reports read it: what was committed last, all of it as it was at one moment.
//
// Nothing is created, locked or changed: those who work on the study do not notice, and a folder that cannot be written
// can be read. Used by one thread. StudyPlace::read() gives a StudyReader.
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

  // As it was given to Storage::open; nil where the study is only being made.
  virtual Value description() = 0;
  // In the order of their numbers. `info` of all of them costs as much again as everything else; without it it is nil.
  virtual std::vector<StoredTrial> trials(bool with_info) = 0;
  virtual Value info(std::int64_t trial) = 0;
  // Of these trials, in the order in which they came.
  virtual std::vector<StoredReport> reports(std::span<const std::int64_t> trials) = 0;
  // Sum of `info.seconds`; nullopt where no trial has any.
  virtual std::optional<double> seconds() = 0;
};

}  // namespace trainlab

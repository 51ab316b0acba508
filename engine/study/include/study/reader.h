// A study as reports read it: what was committed last, all of it as it was at one moment.
//
// Nothing is created, locked or changed: those who work on the study do not notice, and a folder that cannot be written
// can be read. Used by one thread.
#pragma once

#include <filesystem>
#include <functional>
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

// Hands a reader of a SQLite file to `read`, which may be called a second time, with a new reader, where the file
// changed under it. Raises what Storage does: Error{run} for a file that is damaged or cannot be read, Error{usage} for
// one of a newer version.
void read_sqlite_study(const std::filesystem::path& file, const std::function<void(StudyReader&)>& read);

}  // namespace trainlab

// StudyPlace: where a study lies. The one place that knows which databases there are: whoever opens or reads a study is
// given a StudyPlace.
//
// A plain value. Thread-safe.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "study/database.h"
#include "study/reader.h"
#include "study/storage.h"

namespace trainlab {

class StudyPlace {
 public:
  // A SQLite file.
  explicit StudyPlace(std::filesystem::path file) : file_(std::move(file)) {}
  // The study of this name in a database, which Database has made.
  StudyPlace(Database database, std::string study) : database_(std::move(database)), study_(std::move(study)) {}
  // The file of the study of a sweep or an ensemble, by the stage's folder: the study, or a copy of a study that lies
  // in a database.
  static StudyPlace of_stage(const std::filesystem::path& folder) { return StudyPlace(folder / "study.db"); }

  // Raises Error{run} where the folder of a stage has trials and the file of their study is gone: the trials would
  // begin again from the first, in the folders of those that have ended.
  static void check_not_lost(const std::filesystem::path& folder);

  // For messages; of a file its name.
  std::string text() const;
  // Whether there is a file with a study. SQLite takes an empty file for a database without tables; such a file is no
  // study.
  bool exists() const;

  // To work on the study, which is made in a file where there is none. Error{usage} when the study is of a newer
  // version or the place holds something else, Error{run} when the place cannot be used or has lost the study.
  // A database that goes away later is waited for; when that was in vain, Error{interrupted} is raised.
  std::unique_ptr<Storage> open(const Waiting& waiting = {}) const;

  // Hands a reader of a file to `read`, which may be called a second time, with a new reader, where the study changed
  // under it. Raises as open() does.
  void read(const std::function<void(StudyReader&)>& read) const;

  // After processes that were killed: nothing lies beside the file any more, unless other processes work on it. Never
  // raises, because whoever opens the study next does the same.
  void settle() const noexcept;

 private:
  std::filesystem::path file_;
  std::optional<Database> database_;
  std::string study_;  // its name in the database
};

}  // namespace trainlab

// Folders of runs that are not kept: a stage that is measured runs in one, and so do the stages before it.
#pragma once

#include <filesystem>

#include "core/error.h"

namespace trainlab {

// A new folder below the folder for temporary files, which is removed with the object. Raises Error{run}.
class ScratchFolder {
 public:
  // Removes such folders of this user's processes that are there no more. Whatever else has such a name stays, a
  // symbolic link among it. Lists all temporary files, and so it is called before a measurement and never within one,
  // and by the supervisor of an engine that was killed, once nothing of the run works any more. Raises nothing for what
  // cannot be listed or removed.
  static void remove_abandoned();

  ScratchFolder();
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

  // Adds what helps to an Error{run} that names the folder, in which a file cannot be written; other errors stay.
  static Error explained(Error error, const std::filesystem::path& folder);

 private:
  std::filesystem::path path_;
};

}  // namespace trainlab

// The folder in which a stage runs while it is measured.
#pragma once

#include <filesystem>

namespace trainlab {

// A new folder below the folder for temporary files, which is removed with the object. Raises Error{run}.
class ScratchFolder {
 public:
  // Removes such folders of this user's processes that are there no more. Whatever else has such a name stays, a
  // symbolic link among it. Lists all temporary files, and so it is called before a measurement and never within one.
  static void remove_abandoned();

  ScratchFolder();
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

  // What helps where a file cannot be written there.
  static constexpr const char* hint = "the environment variable TMPDIR names another folder for temporary files";

 private:
  std::filesystem::path path_;
};

}  // namespace trainlab

// The folder in which a stage runs while it is measured. Private to the room.
#pragma once

#include <filesystem>

namespace trainlab {

// A new folder below the folder for temporary files, which is removed with the object. Such folders of measurements
// that were killed are removed first. Raises Error{run}.
class ScratchFolder {
 public:
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

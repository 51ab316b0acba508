// Image files arranged by class: a folder or a tar archive as a list of files with labels.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "formats/tar.h"

namespace trainlab {

struct ImageFile {
  std::string name;                   // in the folder or archive: "train/cat/1.png"
  std::int64_t offset = 0, size = 0;  // of an archive's
  std::int64_t label = 0;
};

// Reads from any thread.
struct ImageFiles {
  std::string path;                     // of the folder or archive
  std::unique_ptr<RandomFile> archive;  // or none
  std::vector<std::string> classes;     // sorted by bytes
  std::vector<ImageFile> train;         // sorted by name, as the others
  std::optional<std::vector<ImageFile>> val, test;

  // The file's bytes. Error{recipe} when it is missing, or more than 1 GiB.
  void read(const ImageFile& file, std::string& bytes) const;
  std::string name_of(const ImageFile& file) const;  // for messages
};

// Finds CLASS/FILE, or train/CLASS/FILE beside val/… and test/…; in an archive also below one outer folder. Hidden
// files are passed over. Error{recipe}: no images, files that are not named as JPEG or PNG, files outside of a class or
// deeper than one, splits with other classes than train/, an empty class folder, and see list_tar().
ImageFiles find_images(const std::filesystem::path& path);

}  // namespace trainlab

// Tar archives (ustar, with the long names and sizes of GNU tar and of pax): the files in them are listed once and then
// read from any thread. Plain archives only.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace trainlab {

// A file that is read at any place by any thread.
class RandomFile {
 public:
  // Error{recipe} when the file is missing, not regular, or unreadable.
  explicit RandomFile(const std::filesystem::path& path);
  ~RandomFile();
  RandomFile(const RandomFile&) = delete;

  const std::string& name() const { return name_; }
  std::int64_t size() const { return size_; }  // when it was opened
  // `count` bytes from `offset`. Error{recipe} where the file ends before.
  void read(std::int64_t offset, std::size_t count, char* out) const;

 private:
  std::string name_;
  int fd_ = -1;
  std::int64_t size_ = 0;
};

struct TarEntry {
  std::string name;  // "train/cat/1.png": relative, without "." and ".."
  std::int64_t offset = 0, size = 0;
};

// The plain files of an archive, in its order; folders are passed over. Error{recipe} names archive and entry: a
// damaged header, a size beyond the archive's end, an archive that is cut short, links and devices, names that lead
// out of the archive, a name that is there twice, a compressed archive.
std::vector<TarEntry> list_tar(const RandomFile& file);

}  // namespace trainlab

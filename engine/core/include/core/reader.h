// Reading a file in pieces, with errors that name it.
#pragma once

#include <cstddef>
#include <filesystem>

#include "core/byte_source.h"

namespace trainlab {

class FileReader final : public ByteSource {
 public:
  explicit FileReader(std::filesystem::path path);  // Error{recipe} when it is not regular or cannot be opened
  ~FileReader() override;
  FileReader(const FileReader&) = delete;

  // Less than `out` has room for only at the end. Error{recipe} when reading fails.
  std::size_t read(std::span<char> out) override;
  // From the size that the file system states; 0 for files of the kernel, which have no size.
  std::int64_t at_most() const override;
  // The size that the file system states.
  std::size_t expected_size() const;
  // Bytes of any place, which read() does not notice. Error{recipe} when the file does not have all of them.
  void read_at(std::uint64_t begin, std::span<char> out) const;

 private:
  std::filesystem::path path_;
  int fd_ = -1;
  std::int64_t done_ = 0;  // bytes that read() gave
};

}  // namespace trainlab

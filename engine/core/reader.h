// Reading a file in pieces, with errors that name it.
#pragma once

#include <cstddef>
#include <filesystem>

namespace trainlab {

class Reader {
 public:
  explicit Reader(std::filesystem::path path);  // Error{recipe} when it is not regular or cannot be opened
  ~Reader();
  Reader(const Reader&) = delete;

  // Bytes read into `to`, less than `size` only at the end. Error{recipe} when reading fails.
  std::size_t read(char* to, std::size_t size);
  // The size that the file system states; 0 for files of the kernel, which have no size.
  std::size_t expected_size() const;

 private:
  std::filesystem::path path_;
  int fd_ = -1;
};

}  // namespace trainlab

// Files that a recipe names as data: read whole, plain or gzip, with errors that say what lies beside a missing one.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "core/error.h"

namespace trainlab {

// The bytes of a file in order, inflated if it is gzip (told by its first bytes, not by its name). Members that follow
// each other count as one stream, as gzip has it. One thread.
class InputFile {
 public:
  // Error{recipe} when the file is missing, a folder, or unreadable.
  explicit InputFile(const std::filesystem::path& path);
  // Bytes in memory, named `name` in messages; they must outlive the object.
  InputFile(std::string_view bytes, std::string name);
  ~InputFile();
  InputFile(InputFile&&) noexcept;

  const std::string& name() const { return name_; }
  bool compressed() const { return inflater_ != nullptr; }
  // No more bytes than this can still come, whatever the data claims: what a size in a header may be held against
  // before memory is asked for.
  std::int64_t at_most() const;
  // Fills `out` as far as there are bytes; returns their number. Error{recipe} for damaged gzip data.
  std::size_t read(std::span<char> out);
  // All that is left. Error{recipe} when it is more than `limit` bytes.
  std::string read_all(std::int64_t limit);

 private:
  struct Inflater;
  Error damaged(std::string_view what) const;

  std::string name_, owned_;
  std::string_view rest_;
  std::unique_ptr<Inflater> inflater_;  // null for plain bytes
};

// All of a text file. Error{recipe} as InputFile, and when gzip data give more than text ever does.
std::string read_text(const std::filesystem::path& path);

// Error{recipe} saying that `path` does not exist, with what in its folder could be meant.
Error missing_file(const std::filesystem::path& path);

}  // namespace trainlab

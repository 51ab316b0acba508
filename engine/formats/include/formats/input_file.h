// Files that a recipe names as data: read in order, plain or gzip, with errors that say what lies beside a missing one.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "core/byte_source.h"
#include "core/error.h"

namespace trainlab {

class FileReader;

// Called before memory is taken for content: with the bytes that a text or an array then has in all. May raise.
using BeforeTaking = std::function<void(std::int64_t bytes)>;

// The bytes of a file in order, inflated if it is gzip (told by its first bytes, not by its name). Members that follow
// each other count as one stream, as gzip has it. Plain bytes go from the file to where they stay. One thread.
class InputFile final : public ByteSource {
 public:
  // Error{recipe} when the file is missing, a folder, or unreadable.
  explicit InputFile(const std::filesystem::path& path);
  // Bytes in memory, named `name` in messages; they must outlive the object.
  InputFile(std::string_view bytes, std::string name);
  ~InputFile() override;
  InputFile(InputFile&&) noexcept;

  const std::string& name() const { return name_; }
  bool compressed() const { return inflater_ != nullptr; }
  std::int64_t at_most() const override;
  // Error{recipe} for damaged gzip data.
  std::size_t read(std::span<char> out) override;
  // Appends all that is left. Error{recipe} when `bytes` then has more than `limit`.
  void read_all(std::string& bytes, std::int64_t limit, const BeforeTaking& before = {});
  std::string read_all(std::int64_t limit);

 private:
  struct Inflater;
  Error damaged(std::string_view what) const;
  void fill();                // makes more of the file stand in rest_, if there is more
  std::int64_t left() const;  // bytes of the file

  std::string name_;
  std::unique_ptr<FileReader> reader_;  // null for bytes in memory, and at the end of the file
  std::unique_ptr<char[]> buffer_;      // of the file: rest_ lies in it
  std::string_view rest_;
  std::unique_ptr<Inflater> inflater_;  // null for plain bytes
};

// Appends all that is left of a text. Error{recipe} when gzip data give more than text ever does.
void read_text(InputFile& file, std::string& text, const BeforeTaking& before = {});

// Error{recipe} saying that `path` does not exist, with what in its folder could be meant.
Error missing_file(const std::filesystem::path& path);

}  // namespace trainlab

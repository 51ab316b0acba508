#include "input_files.h"

#include "formats/csv.h"
#include "tensor/free_memory.h"

namespace trainlab {

void check_room_for(std::int64_t bytes, const std::string& file) {
  const auto amount = static_cast<double>(bytes);
  try {
    check_free_memory(amount, memory_text(amount) + " for the content of " + file);
  } catch (Error& error) {
    if (error.kind() != ErrorKind::run) throw;  // the limit of --memory, with its own hint
    throw error.hint("a file with fewer rows, or of a smaller type such as float32 or uint8, needs less memory");
  }
}

BeforeTaking room_for(const InputFile& file) {
  return [name = file.name()](std::int64_t bytes) { check_room_for(bytes, name); };
}

InputFile open_input(const std::filesystem::path& path) {
  InputFile file(path);
  if (!file.compressed()) check_room_for(file.at_most(), file.name());
  return file;
}

LoadedTensors tensors_of(const std::filesystem::path& path) {
  open_input(path);
  return load_safetensors(path);
}

std::string text_of(const std::filesystem::path& path) {
  InputFile file(path);
  std::string text;
  read_text(file, text, room_for(file));
  return text;
}

std::string csv_text_of(const std::filesystem::path& path) {
  constexpr std::size_t start = std::size_t{1} << 20;
  InputFile file(path);
  std::string text(start, '\0');
  text.resize(file.read(text));
  check_csv_start(text, text.size() < start, file.name());
  read_text(file, text, room_for(file));
  return text;
}

}  // namespace trainlab

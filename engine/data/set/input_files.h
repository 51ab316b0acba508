// Files of data as sources read them: memory is asked for before it is taken, and held once.
#pragma once

#include <filesystem>
#include <string>

#include "formats/input_file.h"
#include "tensor/safetensors.h"

namespace trainlab {

// Raises Error{run}, which names the file, where less memory is free than these bytes.
void check_room_for(std::int64_t bytes, const std::string& file);
BeforeTaking room_for(const InputFile& file);

// Opens a file whose content is to be held. Error{run} for a plain file that does not fit into the memory.
InputFile open_input(const std::filesystem::path& path);

// The tensors of a file. Error{recipe} as for other files of data, and as load_safetensors.
LoadedTensors tensors_of(const std::filesystem::path& path);

// All of a file. A table is looked at from its beginning before the rest is read: see check_csv_start.
std::string text_of(const std::filesystem::path& path);
std::string csv_text_of(const std::filesystem::path& path);

}  // namespace trainlab

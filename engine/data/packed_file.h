// Packed data: all parts of a data set decoded into one file, which is mapped into memory when it is used.
//
// The file: the line "trainlab-pack 1", the length of the header (8 bytes, little-endian), the header (JSON: the key,
// the parts with their columns, and where each tensor lies), then the tensors, each at a multiple of 64 bytes.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "data/dataset.h"

namespace trainlab {

// The parts in the file, their columns views of the mapping; nothing when there is no file, or it was packed under
// another key. Error{recipe} when the file is something else than packed data, or shorter than it says.
std::optional<DataParts> open_packed(const std::filesystem::path& path, const std::string& key);

// Decodes all rows, on all cores, and writes them: to a temporary file, which then takes the name. Only what is stored
// is written: no augmentation, no transforms. Errors as of core/files.h and of the sources.
void write_packed(const std::filesystem::path& path, const std::string& key, const DataParts& parts);

}  // namespace trainlab

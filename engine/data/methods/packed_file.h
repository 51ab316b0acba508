// Packed data: all parts of a data set decoded into one file, which is mapped into memory when it is used.
//
// The file: the line "trainlab-pack 2", the length of the header (8 bytes, little-endian), the header (JSON: the key,
// the parts with their columns, and where each tensor lies), then the tensors, each at a multiple of 64 bytes, and last
// the hash of everything before (64 hex digits).
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "data/dataset.h"

namespace trainlab {

// The parts in the file, whose columns are views of the mapping; nothing if there is no file, or if the file was packed
// under another key or in an older format. Reads the whole file once, on all cores, for its hash. Error{recipe} if the
// file is not packed data, or damaged: its hash differs, or its header contradicts itself.
std::optional<DataParts> open_packed(const std::filesystem::path& path, const std::string& key);

// Decodes all rows, on all cores, and writes them: to a temporary file, which then takes the name. Only what is stored
// is written: no augmentation, no transforms. Errors as of core/files.h and of the sources.
void write_packed(const std::filesystem::path& path, const std::string& key, const DataParts& parts);

// Constants of the format, for reading and writing.
constexpr std::string_view packed_mark = "trainlab-pack 2\n";
constexpr std::int64_t packed_piece = 16 << 20;  // bytes that are hashed together
inline std::int64_t packed_aligned(std::int64_t bytes) { return (bytes + 63) / 64 * 64; }

// The hash at a file's end: the hash of the hashes of its pieces, which are computed on all cores.
std::string packed_hash(std::string_view bytes);

}  // namespace trainlab

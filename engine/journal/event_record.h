// Records of TensorBoard's event files: TFRecord framing round protocol-buffer messages, both encoded here from their
// documented formats (tensorflow/core/util/event.proto, summary.proto; lib/io/record_writer). Private to the module.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace trainlab {

// CRC-32C (Castagnoli), and TFRecord's masked form of it: rotated right by 15 and shifted by a constant.
std::uint32_t crc32c(std::string_view bytes);
std::uint32_t masked_crc32c(std::string_view bytes);

// length (8 bytes), masked CRC of the length, data, masked CRC of the data; little-endian.
std::string framed(std::string_view data);

// Encoded Event messages. wall: seconds since 1970.
std::string version_event(double wall);
std::string session_start_event(double wall, std::int64_t step);
std::string scalars_event(double wall, std::int64_t step, const std::vector<std::pair<std::string, double>>& scalars);

}  // namespace trainlab

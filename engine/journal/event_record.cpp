#include "event_record.h"

#include <array>
#include <bit>

namespace trainlab {

namespace {

constexpr std::array<std::uint32_t, 256> make_table() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0x82F63B78u : 0u);
    table[i] = crc;
  }
  return table;
}
constexpr std::array<std::uint32_t, 256> crc_table = make_table();

template <class T>
std::string little_endian(T x) {
  static_assert(std::endian::native == std::endian::little);
  return {reinterpret_cast<const char*>(&x), sizeof x};
}

// The four parts of the protocol-buffer wire format that are needed. A message is the concatenation of its fields.
std::string varint(std::uint64_t x) {
  std::string bytes;
  for (; x >= 0x80; x >>= 7) bytes += static_cast<char>(0x80 | (x & 0x7F));
  return bytes += static_cast<char>(x);
}
std::string key(int field, int wire_type) {
  return varint(static_cast<std::uint64_t>(field) << 3 | static_cast<std::uint64_t>(wire_type));
}
std::string varint_field(int field, std::int64_t x) { return key(field, 0) + varint(static_cast<std::uint64_t>(x)); }
std::string double_field(int field, double x) { return key(field, 1) + little_endian(x); }
std::string float_field(int field, float x) { return key(field, 5) + little_endian(x); }
std::string bytes_field(int field, std::string_view bytes) {
  return key(field, 2) + varint(bytes.size()) + std::string(bytes);
}

// Field numbers.
namespace event {
constexpr int wall_time = 1, step = 2, file_version = 3, summary = 5, session_log = 7;
}
namespace summary {
constexpr int value = 1, value_tag = 1, value_simple_value = 2;
}
namespace session_log {
constexpr int status = 1, start = 1;
}

}  // namespace

std::uint32_t crc32c(std::string_view bytes) {
  std::uint32_t crc = 0xFFFFFFFFu;
  for (const char byte : bytes) crc = crc_table[(crc ^ static_cast<unsigned char>(byte)) & 0xFF] ^ (crc >> 8);
  return ~crc;
}

std::uint32_t masked_crc32c(std::string_view bytes) { return std::rotr(crc32c(bytes), 15) + 0xA282EAD8u; }

std::string framed(std::string_view data) {
  const std::string length = little_endian(static_cast<std::uint64_t>(data.size()));
  return length + little_endian(masked_crc32c(length)) + std::string(data) + little_endian(masked_crc32c(data));
}

std::string version_event(double wall) {
  return double_field(event::wall_time, wall) + bytes_field(event::file_version, "brain.Event:2");
}

std::string session_start_event(double wall, std::int64_t step) {
  return double_field(event::wall_time, wall) + varint_field(event::step, step) +
         bytes_field(event::session_log, varint_field(session_log::status, session_log::start));
}

std::string scalars_event(double wall, std::int64_t step, const std::vector<std::pair<std::string, double>>& scalars) {
  std::string values;
  for (const auto& [tag, x] : scalars) {
    values += bytes_field(summary::value, bytes_field(summary::value_tag, tag) +
                                              float_field(summary::value_simple_value, static_cast<float>(x)));
  }
  return double_field(event::wall_time, wall) + varint_field(event::step, step) + bytes_field(event::summary, values);
}

}  // namespace trainlab

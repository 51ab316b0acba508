#include <sodium.h>

#include <array>
#include <stdexcept>
#include <vector>

#include "core/files.h"
#include "core/reader.h"

namespace trainlab {

namespace {

// BLAKE2b-256 (RFC 7693), fed in pieces.
class Hasher {
 public:
  Hasher() {
    static const bool ready = sodium_init() >= 0;  // picks the fastest implementation for this processor
    if (!ready) throw std::logic_error("libsodium does not start");
    crypto_generichash_init(&state_, nullptr, 0, kBytes);
  }
  void update(std::string_view bytes) {
    crypto_generichash_update(&state_, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
  }
  std::string hex() {
    std::array<unsigned char, kBytes> digest;
    crypto_generichash_final(&state_, digest.data(), digest.size());
    std::array<char, 2 * kBytes + 1> text;
    sodium_bin2hex(text.data(), text.size(), digest.data(), digest.size());
    return text.data();
  }

 private:
  static constexpr std::size_t kBytes = 32;
  crypto_generichash_state state_;
};

}  // namespace

std::string hash_parts(std::span<const std::string_view> parts) {
  Hasher hasher;
  for (const std::string_view part : parts) hasher.update(part);
  return hasher.hex();
}

std::string hash_bytes(std::string_view bytes) { return hash_parts({&bytes, 1}); }

std::string hash_file(const std::filesystem::path& path) {
  FileReader reader(path);
  Hasher hasher;
  std::vector<char> buffer(std::size_t{1} << 18);
  std::size_t got = 0;
  do {
    got = reader.read(buffer);
    hasher.update({buffer.data(), got});
  } while (got == buffer.size());
  return hasher.hex();
}

}  // namespace trainlab

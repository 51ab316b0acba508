// The key of a random draw: what the draw is for.
//
// Nothing but a key is ever saved. A key is made from the seed by folding in what the draw is for:
//   Key(seed).fold("dropout").fold("model.3").fold(step).fold(micro_batch)
// so that any draw can be repeated at any time, in any order, on any thread and any device (core/random/stream.h).
// Thread-safe.
#pragma once

#include <cstdint>
#include <string_view>

namespace trainlab {

class Key {
 public:
  explicit Key(std::uint64_t seed);  // mixed, so that neighbouring seeds share nothing
  Key fold(std::uint64_t n) const;
  Key fold(std::string_view text) const;
  std::uint64_t bits() const { return bits_; }
  bool operator==(const Key&) const = default;

 private:
  struct Raw {};
  Key(Raw, std::uint64_t bits) : bits_(bits) {}
  std::uint64_t bits_;
};

}  // namespace trainlab

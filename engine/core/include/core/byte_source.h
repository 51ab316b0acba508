// Bytes that come in order, from memory or from a file, so that a parser puts them where they stay, without a copy of
// the whole.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string_view>

namespace trainlab {

class ByteSource {
 public:
  virtual ~ByteSource() = default;
  // Fills `out` as far as there are bytes; returns their number.
  virtual std::size_t read(std::span<char> out) = 0;
  // No more bytes than this can still come, whatever the data claims: what a size in a header may be held against
  // before memory is asked for.
  virtual std::int64_t at_most() const = 0;
};

// Bytes in memory, which must outlive the object.
class MemoryBytes final : public ByteSource {
 public:
  explicit MemoryBytes(std::string_view bytes) : rest_(bytes) {}

  std::size_t read(std::span<char> out) override {
    const std::size_t count = std::min(out.size(), rest_.size());
    std::copy_n(rest_.data(), count, out.data());
    rest_.remove_prefix(count);
    return count;
  }
  std::int64_t at_most() const override { return static_cast<std::int64_t>(rest_.size()); }

 private:
  std::string_view rest_;
};

}  // namespace trainlab

// Tokenizer: text as whole numbers from 0 and back. A checkpoint keeps it, so that a trained model can be prompted.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tensor/named_tensors.h"

namespace trainlab {

// Immutable, thread-safe.
class Tokenizer {
 public:
  // Each byte is a token: a vocabulary of 256, for any text.
  static Tokenizer bytes();
  // Each Unicode code point is a token; the vocabulary holds the code points found in `text`, in order. Error{recipe}
  // naming `name` and the line for text that is not UTF-8.
  static Tokenizer characters(std::string_view text, const std::string& name);

  // The tensor "tokenizer" of DataParts::state, or of a checkpoint. Error{run} where it is damaged.
  void store(NamedTensors& state) const;
  static Tokenizer load(const NamedTensors& state);

  bool is_bytes() const { return code_points_.empty(); }
  std::int64_t size() const { return is_bytes() ? 256 : static_cast<std::int64_t>(code_points_.size()); }

  // Error{recipe} naming `name` and the line for text that is not UTF-8; for a character that is not in the vocabulary
  // also the character, its place in the line (in characters, from 1) and the vocabulary.
  std::vector<std::int32_t> encode(std::string_view text, const std::string& name) const;
  // std::logic_error for a number that is not a token. The text of byte tokens need not be UTF-8.
  std::string decode(std::span<const std::int64_t> tokens) const;

 private:
  Tokenizer() = default;
  explicit Tokenizer(std::vector<char32_t> code_points);

  std::vector<char32_t> code_points_;   // in order, distinct; empty: bytes
  std::vector<std::int32_t> token_of_;  // of each code point up to the largest; −1: none
};

}  // namespace trainlab

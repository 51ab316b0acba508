#include "data/tokenizer.h"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <cstdio>
#include <stdexcept>

#include "core/error.h"
#include "core/value.h"

namespace trainlab {

namespace {

constexpr char32_t no_character = 0xFFFFFFFF;

// The code point that begins at text[at], which moves behind it; no_character where this is not UTF-8 (cut short, a
// stray continuation, longer than needed, a surrogate, beyond U+10FFFF).
char32_t next_code_point(std::string_view text, std::size_t& at) {
  const auto first = static_cast<unsigned char>(text[at]);
  const std::size_t length = first < 0x80   ? 1
                             : first < 0xC2 ? 0
                             : first < 0xE0 ? 2
                             : first < 0xF0 ? 3
                             : first < 0xF5 ? 4
                                            : 0;
  if (length == 0 || text.size() - at < length) return no_character;
  char32_t code = length == 1 ? first : first & (0x7F >> length);
  for (std::size_t i = 1; i < length; ++i) {
    const auto byte = static_cast<unsigned char>(text[at + i]);
    if ((byte & 0xC0) != 0x80) return no_character;
    code = code << 6 | (byte & 0x3F);
  }
  constexpr char32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
  if (code < smallest[length] || (code >= 0xD800 && code < 0xE000) || code > 0x10FFFF) return no_character;
  at += length;
  return code;
}

void append_utf8(std::string& text, char32_t code) {
  if (code < 0x80) {
    text += static_cast<char>(code);
    return;
  }
  const int more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
  constexpr char32_t lead[] = {0, 0xC0, 0xE0, 0xF0};
  text += static_cast<char>(lead[more] | code >> (6 * more));
  for (int i = more - 1; i >= 0; --i) text += static_cast<char>(0x80 | (code >> (6 * i) & 0x3F));
}

// 'é' (U+00E9); control characters by number only.
std::string character_text(char32_t code) {
  char number[16];
  std::snprintf(number, sizeof number, "U+%04X", static_cast<unsigned>(code));
  if (code < 0x20 || (code >= 0x7F && code < 0xA0)) return number;
  std::string text = "'";
  append_utf8(text, code);
  return text + "' (" + number + ")";
}

std::string place(const std::string& name, std::string_view text, std::size_t at) {
  return name + ":" +
         std::to_string(1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n'));
}

// The character's place in its line, from 1.
std::int64_t column(std::string_view text, std::size_t at) {
  const std::size_t line = text.substr(0, at).rfind('\n') + 1;  // 0 in the first line, because npos + 1 is 0
  return 1 + std::count_if(text.begin() + static_cast<std::ptrdiff_t>(line),
                           text.begin() + static_cast<std::ptrdiff_t>(at),
                           [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; });
}

// The characters that can be seen, the first of a large vocabulary.
std::string vocabulary_text(std::span<const char32_t> code_points) {
  constexpr std::size_t shown = 80;
  std::string text;
  std::size_t count = 0;
  for (const char32_t code : code_points) {
    if (code <= 0x20 || (code >= 0x7F && code <= 0xA0)) continue;
    if (count++ == shown) return text + "…";
    append_utf8(text, code);
  }
  return text.empty() ? "the vocabulary" : text;
}

// f(code point, its offset) for each.
template <class F>
void each_code_point(std::string_view text, const std::string& name, F&& f) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t begin = at;
    const char32_t code = next_code_point(text, at);
    if (code == no_character) {
      throw recipe_error(place(name, text, begin) + ": byte " + std::to_string(begin + 1) + " is not UTF-8 text")
          .hint("tokenizer = \"byte\" takes any bytes");
    }
    f(code, begin);
  }
}

}  // namespace

Tokenizer::Tokenizer(std::vector<char32_t> code_points) : code_points_(std::move(code_points)) {
  if (code_points_.empty()) return;
  token_of_.assign(static_cast<std::size_t>(code_points_.back()) + 1, -1);
  for (std::size_t i = 0; i < code_points_.size(); ++i) token_of_[code_points_[i]] = static_cast<std::int32_t>(i);
}

Tokenizer Tokenizer::bytes() { return {}; }

Tokenizer Tokenizer::characters(std::string_view text, const std::string& name) {
  std::vector<bool> found(0x110000);
  each_code_point(text, name, [&](char32_t code, std::size_t) { found[code] = true; });
  std::vector<char32_t> code_points;
  for (char32_t code = 0; code < found.size(); ++code)
    if (found[code]) code_points.push_back(code);
  if (code_points.empty()) throw recipe_error(name + ": there are no characters in it");
  return Tokenizer(std::move(code_points));
}

void Tokenizer::store(NamedTensors& state) const {
  std::string vocabulary;
  for (const char32_t code : code_points_) append_utf8(vocabulary, code);
  const std::string text = to_json(is_bytes() ? Value(Value::Map{{"kind", "byte"}})
                                              : Value(Value::Map{{"kind", "char"}, {"vocabulary", vocabulary}}));
  at::Tensor bytes = at::empty({static_cast<std::int64_t>(text.size())}, at::kByte);
  std::copy(text.begin(), text.end(), bytes.mutable_data_ptr<std::uint8_t>());
  state["tokenizer"] = bytes;
}

Tokenizer Tokenizer::load(const NamedTensors& state) {
  const auto found = state.find("tokenizer");
  const auto wrong = [] { return run_error("the checkpoint's tokenizer is missing or damaged"); };
  if (found == state.end() || found->second.scalar_type() != at::kByte) throw wrong();
  const at::Tensor bytes = found->second.contiguous();
  const Value value = parse_json({reinterpret_cast<const char*>(bytes.const_data_ptr<std::uint8_t>()), bytes.nbytes()},
                                 "the checkpoint's tokenizer");
  if (value["kind"] == Value("byte")) return Tokenizer::bytes();
  if (!(value["kind"] == Value("char")) || !value["vocabulary"].is_string() || value["vocabulary"].string().empty())
    throw wrong();
  return characters(value["vocabulary"].string(), "the checkpoint's tokenizer");
}

std::vector<std::int32_t> Tokenizer::encode(std::string_view text, const std::string& name) const {
  std::vector<std::int32_t> tokens;
  tokens.reserve(text.size());
  if (is_bytes()) {
    for (const char byte : text) tokens.push_back(static_cast<unsigned char>(byte));
    return tokens;
  }
  each_code_point(text, name, [&](char32_t code, std::size_t at) {
    const std::int32_t token = code < token_of_.size() ? token_of_[code] : -1;
    if (token < 0) {
      throw recipe_error(place(name, text, at) + ": character " + std::to_string(column(text, at)) + ", " +
                         character_text(code) + ", is not among the " + std::to_string(size()) +
                         " of the text that the vocabulary was made from")
          .hint("replace this character by one of " + vocabulary_text(code_points_) +
                ", or train on a text that has the character");
    }
    tokens.push_back(token);
  });
  return tokens;
}

std::string Tokenizer::decode(std::span<const std::int64_t> tokens) const {
  std::string text;
  for (const std::int64_t token : tokens) {
    if (token < 0 || token >= size()) throw std::logic_error("there is no token " + std::to_string(token));
    if (is_bytes()) {
      text += static_cast<char>(token);
    } else {
      append_utf8(text, code_points_[static_cast<std::size_t>(token)]);
    }
  }
  return text;
}

}  // namespace trainlab

#include "tensor/npy.h"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstring>
#include <optional>
#include <span>
#include <vector>

#include "core/value.h"
#include "tensor/types.h"

namespace trainlab {

namespace {

static_assert(std::endian::native == std::endian::little, "values are written as they lie in memory");

constexpr std::string_view magic("\x93NUMPY", 6);
constexpr std::size_t most_npy_header_bytes = 65'536, most_npy_axes = 64, npy_alignment = 64;

struct NpyType {
  std::string_view name;  // without byte order
  at::ScalarType type;
  std::size_t word;  // bytes that a byte order reverses
};
constexpr std::array npy_types = {
    NpyType{"b1", at::kBool, 1},         NpyType{"i1", at::kChar, 1},          NpyType{"u1", at::kByte, 1},
    NpyType{"i2", at::kShort, 2},        NpyType{"u2", at::kUInt16, 2},        NpyType{"i4", at::kInt, 4},
    NpyType{"u4", at::kUInt32, 4},       NpyType{"i8", at::kLong, 8},          NpyType{"u8", at::kUInt64, 8},
    NpyType{"f2", at::kHalf, 2},         NpyType{"f4", at::kFloat, 4},         NpyType{"f8", at::kDouble, 8},
    NpyType{"c8", at::kComplexFloat, 4}, NpyType{"c16", at::kComplexDouble, 8}};

struct Header {
  const NpyType* type = nullptr;
  bool swapped = false, fortran = false;
  Shape shape;
};

// The header's literal: {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }, its keys in any order.
class HeaderReader {
 public:
  HeaderReader(std::string_view text, const std::string& name) : text_(text), name_(name) {}

  Header read() {
    Header header;
    bool has_order = false, has_shape = false;
    expect('{');
    while (!take('}')) {
      const std::string_view key = string();
      expect(':');
      if (key == "descr" && !header.type) {
        read_type(header);
      } else if (key == "fortran_order" && !has_order) {
        has_order = true;
        header.fortran = boolean();
      } else if (key == "shape" && !has_shape) {
        has_shape = true;
        header.shape = shape();
      } else {
        throw wrong("an unexpected key '" + valid_utf8(key) + "'");
      }
      if (!take(',') && peek() != '}') throw wrong("',' or '}' is missing");
    }
    skip_blanks();
    if (at_ != text_.size()) throw wrong("something follows its end");
    if (!header.type || !has_order || !has_shape) throw wrong("descr, fortran_order or shape is missing");
    return header;
  }

 private:
  Error wrong(const std::string& what) const {
    return recipe_error(name_ + ": not a valid npy file: the header is damaged: " + what);
  }

  void skip_blanks() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t')) ++at_;
  }
  char peek() {
    skip_blanks();
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool take(char c) {
    const bool there = peek() == c && at_ < text_.size();
    if (there) ++at_;
    return there;
  }
  void expect(char c) {
    if (!take(c)) throw wrong(std::string("'") + c + "' is missing at byte " + std::to_string(at_));
  }

  std::string_view string() {
    const char quote = peek();
    if (quote != '\'' && quote != '"') throw wrong("a string is missing at byte " + std::to_string(at_));
    const std::size_t end = text_.find(quote, ++at_);
    if (end == std::string_view::npos) throw wrong("a string has no end");
    const std::string_view content = text_.substr(at_, end - at_);
    at_ = end + 1;
    return content;
  }

  bool boolean() {
    skip_blanks();
    for (const auto& [word, value] : {std::pair{std::string_view("True"), true}, {std::string_view("False"), false}}) {
      if (text_.substr(at_, word.size()) != word) continue;
      at_ += word.size();
      return value;
    }
    throw wrong("fortran_order is neither True nor False");
  }

  Shape shape() {
    Shape sizes;
    expect('(');
    while (!take(')')) {
      skip_blanks();
      std::int64_t size = 0;
      const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), size);
      if (error != std::errc() || size < 0) throw wrong("its shape holds something else than sizes");
      at_ = static_cast<std::size_t>(end - text_.data());
      take('L');  // of Python 2
      sizes.push_back(size);
      if (sizes.size() > most_npy_axes)
        throw wrong("its shape has more than " + std::to_string(most_npy_axes) + " axes");
      if (!take(',') && peek() != ')') throw wrong("its shape has no end");
    }
    return sizes;
  }

  void read_type(Header& header) {
    if (peek() == '[') {
      throw recipe_error(name_ + ": an array of records (a structured dtype), expected one of numbers")
          .hint("save each field as an array of its own");
    }
    const std::string_view text = string();
    const auto known = std::find_if(npy_types.begin(), npy_types.end(),
                                    [&](const NpyType& t) { return text.size() > 1 && text.substr(1) == t.name; });
    if (text.size() >= 2 && text[1] == 'O') {
      throw recipe_error(name_ + ": an array of Python objects: a pickle, which can run any code and is never executed")
          .hint("save an array of numbers: array.astype(\"float32\")");
    }
    if (known == npy_types.end() || std::string_view("<>|=").find(text[0]) == std::string_view::npos)
      throw recipe_error(name_ + ": dtype '" + valid_utf8(text) + "' cannot be a tensor; expected numbers or booleans");
    header.type = known;
    header.swapped = text[0] == '>' && known->word > 1;
  }

  std::string_view text_;
  const std::string& name_;
  std::size_t at_ = 0;
};

// Bytes of the shape; none where no memory holds them. Zeros count as ones in the check: strides must not overflow.
std::optional<std::int64_t> bytes_of(const Shape& shape, std::int64_t item) {
  bool is_empty = false;
  for (const std::int64_t size : shape) {
    is_empty = is_empty || size == 0;
    if (__builtin_mul_overflow(item, std::max<std::int64_t>(size, 1), &item)) return {};
  }
  return is_empty ? 0 : item;
}

// The text of the header; what follows are the values.
std::string read_header(ByteSource& source, const std::string& name) {
  const auto wrong = [&](const std::string& what) { return recipe_error(name + ": not a valid npy file: " + what); };
  const auto cut_short = [&](std::size_t bytes) {
    return wrong("it is cut short: it has " + std::to_string(bytes) + " bytes");
  };
  std::array<char, 12> start{};
  const std::size_t got = source.read(std::span(start).first(10));
  const std::string_view bytes(start.data(), got);
  if (!bytes.starts_with(magic)) {
    if (bytes.size() >= 2 && bytes[0] == '\x80' && bytes[1] >= 2 && bytes[1] <= 5) {
      throw recipe_error(name + ": a Python pickle, which can run any code and is never executed")
          .hint("save the array with numpy.save(…, allow_pickle=False)");
    }
    throw wrong("it does not begin with \\x93NUMPY");
  }
  if (got < 10) throw cut_short(got);
  const auto version = static_cast<unsigned char>(start[6]);
  if (version < 1 || version > 3) throw wrong("version " + std::to_string(version) + " is unknown");
  const std::size_t width = version == 1 ? 2 : 4;
  const std::size_t more = width == 4 ? source.read(std::span(start).subspan(10)) : 0;
  if (got + more < 8 + width) throw cut_short(got + more);
  std::size_t length = 0;
  for (std::size_t i = width; i-- > 0;) length = length << 8 | static_cast<unsigned char>(start[8 + i]);
  if (length > most_npy_header_bytes)
    throw wrong("a header of " + std::to_string(length) + " bytes, expected at most " +
                std::to_string(most_npy_header_bytes));
  std::string header(length, '\0');
  const std::size_t there = source.read(header);
  if (there < length)
    throw wrong("it is cut short: the header has " + std::to_string(length) + " bytes, " + std::to_string(there) +
                " follow");
  return header;
}

}  // namespace

at::Tensor load_npy(std::string_view bytes, const std::string& name) {
  MemoryBytes source(bytes);
  return load_npy(source, name);
}

at::Tensor load_npy(ByteSource& source, const std::string& name) {
  const std::string text = read_header(source, name);
  const Header header = HeaderReader(text, name).read();
  const auto item = static_cast<std::int64_t>(c10::elementSize(header.type->type));
  const std::optional<std::int64_t> size = bytes_of(header.shape, item);
  const auto misfit = [&](std::int64_t found) {
    return recipe_error(name + ": not a valid npy file: its shape " + shape_text(header.shape) + " needs " +
                        (size ? std::to_string(*size) : "more than 2^63") + " bytes, " + std::to_string(found) +
                        " follow the header");
  };
  if (!size || *size > source.at_most()) throw misfit(source.at_most());
  Shape shape = header.shape;
  if (header.fortran) std::reverse(shape.begin(), shape.end());
  at::Tensor tensor = at::empty(shape, header.type->type);
  auto* data = static_cast<char*>(tensor.mutable_data_ptr());
  char beyond = 0;
  auto found = static_cast<std::int64_t>(source.read({data, static_cast<std::size_t>(*size)}));
  // Asked for also because a checksum is compared at the end.
  found += static_cast<std::int64_t>(source.read({&beyond, 1}));
  if (found != *size) throw misfit(found > *size ? found + source.at_most() : found);
  if (header.swapped)
    for (char* word = data; word < data + *size; word += header.type->word)
      std::reverse(word, word + header.type->word);
  // A bool with another bit pattern is undefined behaviour wherever it is used.
  if (header.type->type == at::kBool && std::any_of(data, data + *size, [](char b) { return b != 0 && b != 1; }))
    throw recipe_error(name + ": an array of booleans holds a byte that is neither 0 nor 1");
  if (!header.fortran) return tensor;
  std::vector<std::int64_t> axes;
  for (std::int64_t i = tensor.dim() - 1; i >= 0; --i) axes.push_back(i);
  return tensor.permute(axes).contiguous();
}

std::string npy_bytes(const at::Tensor& tensor, const std::string& name) {
  const at::Tensor values = tensor.detach().cpu().contiguous();
  const auto known = std::find_if(npy_types.begin(), npy_types.end(),
                                  [&](const NpyType& t) { return t.type == values.scalar_type(); });
  if (known == npy_types.end())
    throw recipe_error("npy files cannot hold " + dtype_name(values.scalar_type()) + ", the dtype of '" + name + "'");
  std::string header = std::string("{'descr': '") + (values.element_size() > 1 ? '<' : '|') + std::string(known->name) +
                       "', 'fortran_order': False, 'shape': (";
  for (std::int64_t i = 0; i < values.dim(); ++i)
    header += (i ? ", " : "") + std::to_string(values.size(i)) + (values.dim() == 1 ? "," : "");
  header += "), }";
  header.append(npy_alignment - 1 - (magic.size() + 4 + header.size()) % npy_alignment, ' ');
  header += '\n';
  std::string bytes(magic);
  bytes += {'\1', '\0', static_cast<char>(header.size() & 0xFF), static_cast<char>(header.size() >> 8)};
  bytes += header;
  bytes.append(static_cast<const char*>(values.const_data_ptr()), values.nbytes());
  return bytes;
}

}  // namespace trainlab

#include "formats/idx.h"

#include <algorithm>
#include <array>
#include <bit>

namespace trainlab {

static_assert(std::endian::native == std::endian::little, "IDX values are swapped to little-endian order");

std::size_t idx_item_size(IdxType type) {
  switch (type) {
    case IdxType::uint8:
    case IdxType::int8: return 1;
    case IdxType::int16: return 2;
    case IdxType::int32:
    case IdxType::float32: return 4;
    case IdxType::float64: return 8;
  }
  return 0;
}

std::string idx_type_name(IdxType type) {
  switch (type) {
    case IdxType::uint8: return "uint8";
    case IdxType::int8: return "int8";
    case IdxType::int16: return "int16";
    case IdxType::int32: return "int32";
    case IdxType::float32: return "float32";
    case IdxType::float64: return "float64";
  }
  return "";
}

namespace {

Error wrong(const InputFile& file, const std::string& text) { return recipe_error(file.name() + ": " + text); }

std::string hex(std::span<const unsigned char> bytes) {
  std::string text;
  for (const unsigned char byte : bytes) {
    constexpr const char* digits = "0123456789abcdef";
    text += text.empty() ? "" : " ";
    text += digits[byte >> 4];
    text += digits[byte & 15];
  }
  return text;
}

std::string sizes_text(const std::vector<std::int64_t>& sizes) {
  std::string text;
  for (const std::int64_t size : sizes) text += (text.empty() ? "" : " x ") + std::to_string(size);
  return text;
}

template <std::size_t width>
void swap_bytes(std::byte* bytes, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) std::reverse(bytes + i * width, bytes + (i + 1) * width);
}

std::size_t read_bytes(InputFile& file, void* out, std::size_t count) {
  return file.read({static_cast<char*>(out), count});
}

}  // namespace

IdxArray read_idx(InputFile& file, const BeforeTaking& before) {
  std::array<unsigned char, 4> magic{};
  const std::size_t got = read_bytes(file, magic.data(), magic.size());
  if (got == 0) throw wrong(file, "the file is empty; an IDX file was expected");
  if (got < magic.size())
    throw wrong(file,
                "an IDX file begins with 4 bytes of type and dimensions, but there are only " + std::to_string(got));

  IdxArray array;
  array.type = static_cast<IdxType>(magic[2]);
  if (magic[0] != 0 || magic[1] != 0 || idx_item_size(array.type) == 0 || magic[3] == 0) {
    throw wrong(file, "not an IDX file: it begins with " + hex(magic) +
                          ", where 00 00, a type (08, 09, 0b … 0e) and a number of dimensions were expected")
        .hint("MNIST's files are named like train-images-idx3-ubyte.gz");
  }

  for (int i = 0; i < magic[3]; ++i) {
    std::array<unsigned char, 4> size{};
    if (read_bytes(file, size.data(), size.size()) < size.size())
      throw wrong(file, "the file ends within its header, which promises " + std::to_string(magic[3]) + " dimensions");
    array.sizes.push_back(std::int64_t{size[0]} << 24 | size[1] << 16 | size[2] << 8 | size[3]);
  }

  if (std::find(array.sizes.begin(), array.sizes.end(), 0) != array.sizes.end())
    throw wrong(file, "the file holds no values (its header says " + sizes_text(array.sizes) + ")");
  const std::string promise =
      "the header promises " + sizes_text(array.sizes) + " values of " + idx_type_name(array.type);
  const std::int64_t most = file.at_most();
  auto length = static_cast<std::int64_t>(idx_item_size(array.type));
  for (const std::int64_t size : array.sizes) {
    if (length > most / size) {
      throw wrong(file, promise + ", but " + std::to_string(most) + " bytes are the most that can follow it")
          .hint("the file was cut short, or its header is wrong");
    }
    length *= size;
  }

  if (before) before(length);
  const auto count = static_cast<std::size_t>(length);
  array.bytes = std::make_unique_for_overwrite<std::byte[]>(count);
  const std::size_t there = read_bytes(file, array.bytes.get(), count);
  if (there < count) {
    throw wrong(file, promise + " (" + std::to_string(count) + " bytes), but only " + std::to_string(there) +
                          " bytes follow it")
        .hint("the file was cut short, or its header is wrong");
  }
  // Also lets gzip compare its checksum, which comes last.
  char more = 0;
  if (read_bytes(file, &more, 1) != 0)
    throw wrong(file, promise + " (" + std::to_string(count) + " bytes), but more bytes follow than that");

  switch (idx_item_size(array.type)) {
    case 2: swap_bytes<2>(array.bytes.get(), count / 2); break;
    case 4: swap_bytes<4>(array.bytes.get(), count / 4); break;
    case 8: swap_bytes<8>(array.bytes.get(), count / 8); break;
    default: break;
  }
  return array;
}

}  // namespace trainlab

#include "tensor/safetensors.h"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <stdexcept>
#include <string_view>
#include <tuple>
#include <vector>

#include "core/error.h"
#include "core/files.h"
#include "core/pickle.h"
#include "core/value.h"
#include "tensor/types.h"

namespace trainlab {

namespace {

static_assert(std::endian::native == std::endian::little, "tensor bytes are written and read as they lie in memory");

constexpr std::string_view metadata_key = "__metadata__";
constexpr std::int64_t most_header_bytes = 100'000'000;  // the limit of the reference implementation
constexpr std::size_t most_dimensions = 64;
constexpr std::size_t alignment = 64;

struct FormatType {
  std::string_view name;
  at::ScalarType type;
};
constexpr std::array format_types = {FormatType{"BOOL", at::kBool},
                                     FormatType{"U8", at::kByte},
                                     FormatType{"I8", at::kChar},
                                     FormatType{"I16", at::kShort},
                                     FormatType{"U16", at::kUInt16},
                                     FormatType{"F16", at::kHalf},
                                     FormatType{"BF16", at::kBFloat16},
                                     FormatType{"I32", at::kInt},
                                     FormatType{"U32", at::kUInt32},
                                     FormatType{"F32", at::kFloat},
                                     FormatType{"F64", at::kDouble},
                                     FormatType{"I64", at::kLong},
                                     FormatType{"U64", at::kUInt64},
                                     FormatType{"F8_E4M3", at::kFloat8_e4m3fn},
                                     FormatType{"F8_E5M2", at::kFloat8_e5m2}};

std::string_view format_name(const std::string& tensor, at::ScalarType type) {
  for (const FormatType& known : format_types)
    if (known.type == type) return known.name;
  throw recipe_error("safetensors files cannot hold " + dtype_name(type) + ", the dtype of '" + tensor + "'");
}

std::string_view bytes_of(const at::Tensor& tensor) {
  return {static_cast<const char*>(tensor.const_data_ptr()), tensor.nbytes()};
}

// --- reading ---

struct Place {
  const std::string* name = nullptr;
  at::ScalarType type = at::kFloat;
  Shape shape;
  std::int64_t begin = 0, end = 0;  // in the data section
};

class Parser {
 public:
  explicit Parser(const std::filesystem::path& path) : path_(path) {
    check_regular(path);
    file_.open(path, std::ios::binary);
    std::error_code code;
    const std::uintmax_t size = std::filesystem::file_size(path, code);
    if (code || !file_)
      throw recipe_error("cannot read " + path.string() + ": " + (code ? code.message() : std::strerror(errno)));
    size_ = static_cast<std::int64_t>(size);
  }

  LoadedTensors load() {
    const std::string header = read_header();
    const Value root = parse_json(header, path_.string() + ": header");
    if (!root.is_map()) throw wrong("expected the header to be an object, found " + root.brief());
    LoadedTensors loaded;
    std::vector<Place> places;
    for (const auto& [name, entry] : root.map()) {
      if (name == metadata_key) {
        loaded.metadata = read_metadata(entry);
      } else {
        places.push_back(read_place(name, entry));
      }
    }
    check_cover(places);
    for (const Place& place : places) loaded.tensors.emplace(*place.name, read_tensor(place));
    return loaded;
  }

 private:
  Error wrong(const std::string& what) const {
    return recipe_error(path_.string() + ": not a valid safetensors file: " + what);
  }

  void read(char* to, std::int64_t n) {
    if (!file_.read(to, n))
      throw recipe_error("cannot read " + path_.string() + ": the file ended early; did it change?");
  }

  std::string read_header() {
    if (size_ < 8) throw wrong("expected at least 8 bytes, found " + std::to_string(size_));
    std::array<char, 8> bytes{};
    read(bytes.data(), 8);
    const auto length = std::bit_cast<std::uint64_t>(bytes);
    const bool is_too_long = length > static_cast<std::uint64_t>(most_header_bytes);
    const bool is_cut = !is_too_long && static_cast<std::int64_t>(length) > size_ - 8;
    const std::string_view first(bytes.data(), bytes.size());
    if ((is_too_long || is_cut) && (is_pickle(first) || first.starts_with("PK\x03\x04"))) {
      throw recipe_error(path_.string() +
                         ": expected a safetensors file, found one that looks like a file of torch.save, PyTorch's "
                         "pickle format")
          .hint(std::string(from_pickle));
    }
    if (is_too_long)
      throw wrong("expected a header of at most " + std::to_string(most_header_bytes) + " bytes, found a length of " +
                  std::to_string(length));
    if (is_cut)
      throw wrong("it is cut short: the header has " + std::to_string(length) + " bytes, " + std::to_string(size_ - 8) +
                  " follow");
    std::string header(length, '\0');
    read(header.data(), static_cast<std::int64_t>(length));
    data_size_ = size_ - 8 - static_cast<std::int64_t>(length);
    return header;
  }

  Metadata read_metadata(const Value& entry) const {
    if (!entry.is_map()) throw wrong("expected __metadata__ to be an object of strings, found " + entry.brief());
    Metadata metadata;
    for (const auto& [key, value] : entry.map()) {
      if (!value.is_string()) throw wrong("expected __metadata__ to hold strings, found " + value.brief());
      metadata.emplace(key, value.string());
    }
    return metadata;
  }

  Place read_place(const std::string& name, const Value& entry) const {
    const auto error = [&](const std::string& what) { return wrong("tensor '" + name + "': " + what); };
    if (!entry.is_map()) throw error("expected an object, found " + entry.brief());
    Place place;
    place.name = &name;

    const Value& dtype = entry["dtype"];
    const auto known = std::ranges::find_if(
        format_types, [&](const FormatType& t) { return dtype.is_string() && t.name == dtype.string(); });
    if (known == format_types.end()) throw error("unknown dtype " + dtype.brief());
    place.type = known->type;

    const Value& shape = entry["shape"];
    if (!shape.is_list()) throw error("expected a shape, found " + shape.brief());
    if (shape.list().size() > most_dimensions)
      throw error("a shape of " + std::to_string(shape.list().size()) + " axes");
    // Zeros count as ones here: the strides of an empty tensor must not overflow either.
    auto bytes = static_cast<std::int64_t>(c10::elementSize(place.type));
    bool is_empty = false;
    for (const Value& extent : shape.list()) {
      if (!extent.is_integer() || extent.integer() < 0)
        throw error("expected sizes of at least 0 in the shape, found " + extent.brief());
      place.shape.push_back(extent.integer());
      is_empty = is_empty || extent.integer() == 0;
      if (__builtin_mul_overflow(bytes, std::max<std::int64_t>(extent.integer(), 1), &bytes))
        throw error("its shape is too large for any memory");
    }
    if (is_empty) bytes = 0;

    const Value& offsets = entry["data_offsets"];
    if (!offsets.is_list() || offsets.list().size() != 2 || !offsets.list()[0].is_integer() ||
        !offsets.list()[1].is_integer())
      throw error("expected two data_offsets, found " + offsets.brief());
    place.begin = offsets.list()[0].integer();
    place.end = offsets.list()[1].integer();
    if (place.begin < 0 || place.end < place.begin || place.end > data_size_)
      throw error("data_offsets " + std::to_string(place.begin) + " to " + std::to_string(place.end) +
                  " do not lie in the " + std::to_string(data_size_) + " bytes of data");
    if (place.end - place.begin != bytes)
      throw error("its shape " + shape_text(place.shape) + " needs " + std::to_string(bytes) +
                  " bytes, its data_offsets span " + std::to_string(place.end - place.begin));
    return place;
  }

  // Sorts by place; the tensors must cover the data exactly.
  void check_cover(std::vector<Place>& places) const {
    std::ranges::sort(places, [](const Place& a, const Place& b) {
      return std::tie(a.begin, a.end, *a.name) < std::tie(b.begin, b.end, *b.name);
    });
    std::int64_t covered = 0;
    for (const Place& place : places) {
      if (place.begin != covered)
        throw wrong(
            "tensor '" + *place.name + "' begins at byte " + std::to_string(place.begin) +
            (place.begin < covered ? " inside the one before it, which ends at " : " after a gap that begins at ") +
            std::to_string(covered));
      covered = place.end;
    }
    if (covered != data_size_)
      throw wrong("its tensors end at byte " + std::to_string(covered) + " of " + std::to_string(data_size_) +
                  " bytes of data");
  }

  at::Tensor read_tensor(const Place& place) {
    at::Tensor tensor = at::empty(place.shape, at::TensorOptions().dtype(place.type));
    char* data = static_cast<char*>(tensor.mutable_data_ptr());
    if (place.end > place.begin) read(data, place.end - place.begin);
    // A bool with another bit pattern is undefined behaviour wherever it is used.
    if (place.type == at::kBool)
      for (std::int64_t i = 0; i < tensor.numel(); ++i)
        if (data[i] != 0 && data[i] != 1)
          throw wrong("tensor '" + *place.name + "' of booleans holds a byte that is neither 0 nor 1");
    return tensor;
  }

  std::filesystem::path path_;
  std::ifstream file_;
  std::int64_t size_ = 0, data_size_ = 0;
};

}  // namespace

std::string unsavable_kind(const at::Tensor& tensor) {
  if (!tensor.defined() || tensor.is_meta()) return "a tensor without values";
  if (tensor.layout() != at::kStrided) return "a sparse tensor";
  const bool known =
      std::ranges::any_of(format_types, [&](const FormatType& t) { return t.type == tensor.scalar_type(); });
  return known ? "" : "a tensor of dtype " + dtype_name(tensor.scalar_type());
}

std::string save_safetensors(const std::filesystem::path& path, const NamedTensors& tensors, const Metadata& metadata,
                             FolderSync folder_sync) {
  struct Item {
    const std::string* name;
    at::Tensor tensor;  // on the CPU, contiguous
  };
  std::vector<Item> items;
  items.reserve(tensors.size());
  for (const auto& [name, tensor] : tensors) {
    if (name == metadata_key) throw std::logic_error("save_safetensors: a tensor cannot be called __metadata__");
    items.push_back({&name, tensor.detach().cpu().contiguous()});
  }
  std::ranges::stable_sort(items, std::greater{}, [](const Item& item) { return item.tensor.element_size(); });

  Value::Map header;
  if (!metadata.empty()) {
    Value::Map texts;
    for (const auto& [key, text] : metadata) texts.emplace(key, text);
    header.emplace(metadata_key, std::move(texts));
  }
  std::int64_t offset = 0;
  for (const Item& item : items) {
    const std::int64_t end = offset + static_cast<std::int64_t>(item.tensor.nbytes());
    Value::List shape;
    for (const std::int64_t extent : item.tensor.sizes()) shape.emplace_back(extent);
    header.emplace(*item.name, Value::Map{{"dtype", format_name(*item.name, item.tensor.scalar_type())},
                                          {"shape", std::move(shape)},
                                          {"data_offsets", Value::List{offset, end}}});
    offset = end;
  }

  std::string text = to_json(std::move(header));
  text.append((alignment - (text.size() + 8) % alignment) % alignment, ' ');
  const auto length = std::bit_cast<std::array<char, 8>>(static_cast<std::uint64_t>(text.size()));
  std::vector<std::string_view> parts{{length.data(), length.size()}, text};
  for (const Item& item : items) parts.push_back(bytes_of(item.tensor));
  write_atomic(path, parts, folder_sync);
  return hash_parts(parts);
}

LoadedTensors load_safetensors(const std::filesystem::path& path) { return Parser(path).load(); }

}  // namespace trainlab

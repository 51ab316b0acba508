// Packed data is read. Nothing in the file is believed before it was checked.
#include <ATen/ops/from_blob.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <set>

#include "core/files.h"
#include "core/threads/parallel.h"
#include "packed_file.h"
#include "set/arrays.h"

namespace trainlab {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t hash_digits = 64;

Error damaged(const std::string& name, const std::string& what) {
  return recipe_error(name + ": the packed data is damaged (" + what + ")").hint("delete the file: it is made anew");
}

// The file in memory, for as long as a tensor looks at it.
class Mapping {
 public:
  explicit Mapping(const fs::path& path) {
    check_regular(path);
    const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    size_ = static_cast<std::size_t>(fs::file_size(path));
    void* const at = fd < 0 ? MAP_FAILED : mmap(nullptr, size_, PROT_READ, MAP_SHARED, fd, 0);
    const int error = errno;
    if (fd >= 0) close(fd);
    if (at == MAP_FAILED) throw run_error(path.string() + " cannot be mapped: " + std::strerror(error));
    data_ = static_cast<char*>(at);
  }
  ~Mapping() { munmap(data_, size_); }
  Mapping(const Mapping&) = delete;
  std::string_view bytes() const { return {data_, size_}; }
  char* data() const { return data_; }

 private:
  char* data_ = nullptr;
  std::size_t size_ = 0;
};

bool storable(std::int64_t type) {
  for (const at::ScalarType known :
       {at::kByte, at::kChar, at::kShort, at::kInt, at::kLong, at::kFloat, at::kDouble, at::kBool}) {
    if (type == static_cast<std::int64_t>(known)) return true;
  }
  return false;
}

// Reads what a header says, each value only if it is of the kind that is wanted.
class Reader {
 public:
  // Tensors lie in bytes `begin` to `end` of the file.
  Reader(std::string name, std::shared_ptr<const Mapping> mapping, std::int64_t begin, std::int64_t end)
      : name_(std::move(name)), begin_(begin), end_(end), mapping_(std::move(mapping)) {}

  at::Tensor tensor(const Value& place, const std::string& what) const {
    Shape shape;
    std::int64_t elements = 1;
    for (const Value& given : list(place["shape"], what)) {
      const std::int64_t size = whole(given, what);
      if (size > 0 && elements > (std::int64_t{1} << 48) / size) throw bad(what);
      shape.push_back(size);
      elements *= size;
    }
    const std::int64_t number = whole(place["type"], what), offset = whole(place["offset"], what);
    if (!storable(number) || offset % 64 != 0) throw bad(what);
    const auto type = static_cast<at::ScalarType>(number);
    const std::int64_t bytes = elements * static_cast<std::int64_t>(c10::elementSize(type));
    if (offset > end_ - begin_ || bytes > end_ - begin_ - offset) throw bad(what);
    return at::from_blob(
        mapping_->data() + begin_ + offset, shape, [mapping = mapping_](void*) {}, at::TensorOptions(type));
  }

  Part part(const Value& described, const std::string& part_name) const {
    Dataset data;
    data.size = whole(described["size"], part_name);
    data.classes = whole(described["classes"], part_name);
    data.class_names = names(described["class_names"], part_name);
    data.feature_names = names(described["feature_names"], part_name);
    if (!data.class_names.empty() && static_cast<std::int64_t>(data.class_names.size()) != data.classes)
      throw bad(part_name);
    std::set<std::string> known;
    for (const Value& from : list(described["columns"], part_name)) {
      data.columns.push_back(column(from, part_name, data.size));
      if (!known.insert(data.columns.back().name).second) throw bad(part_name);
    }
    if (data.columns.empty()) throw bad(part_name);
    const Column* y = data.find("y");
    if (y && data.classes > 0) check_labels(*y, data, part_name);
    return {std::make_shared<const Dataset>(std::move(data)), nullptr};
  }

  Error bad(const std::string& what) const { return damaged(name_, "what it says of " + what); }

 private:
  Column column(const Value& from, const std::string& part_name, std::int64_t size) const {
    if (!from["name"].is_string() || !from["as_int64"].is_boolean()) throw bad(part_name);
    const std::string what = part_name + "." + from["name"].string();
    Column column{from["name"].string(), tensor(from["values"], what), {}, {}};
    column.as_int64 = from["as_int64"].boolean();
    if (!from["scale"].is_nil()) column.scale = tensor(from["scale"], what);
    if (!from["shift"].is_nil()) column.shift = tensor(from["shift"], what);
    if (column.values.dim() == 0 || column.values.size(0) != size) throw bad(what);
    if (size > 0 && column.values.numel() == 0) throw bad(what);
    const bool converted = column.scale.defined() || column.shift.defined();
    const bool whole_numbers = at::isIntegralType(column.values.scalar_type(), /*includeBool=*/false);
    if (column.as_int64 && (converted || !whole_numbers)) throw bad(what);
    if (converted && column.values.scalar_type() == at::kBool) throw bad(what);
    for (const at::Tensor& factor : {column.scale, column.shift}) {
      if (!factor.defined()) continue;
      const bool exact = column.values.scalar_type() == at::kDouble && factor.scalar_type() == at::kDouble;
      if ((factor.scalar_type() != at::kFloat && !exact) || !fits(factor, column.sample_shape())) throw bad(what);
    }
    return column;
  }

  // Whether it broadcasts to a sample.
  static bool fits(const at::Tensor& factor, const Shape& sample) {
    const auto dims = static_cast<std::size_t>(factor.dim());
    if (dims > sample.size()) return false;
    for (std::size_t i = 0; i < dims; ++i) {
      const std::int64_t size = factor.size(static_cast<std::int64_t>(i));
      if (size != 1 && size != sample[sample.size() - dims + i]) return false;
    }
    return true;
  }

  // Notes the marks among the labels.
  void check_labels(const Column& y, Dataset& data, const std::string& part_name) const {
    if (!at::isIntegralType(y.values.scalar_type(), /*includeBool=*/false)) return;
    if (y.values.numel() == 0) return;
    const std::int64_t highest = highest_class(y.values);
    if (highest >= data.classes) throw bad(part_name + ".y");
    const auto [least, most] = y.values.aminmax();
    data.lowest_label = std::min<std::int64_t>(least.item<std::int64_t>(), 0);
    if (const auto high = most.item<std::int64_t>(); high >= most_classes) data.highest_mark = high;
  }

  std::int64_t whole(const Value& value, const std::string& what) const {
    if (!value.is_integer() || value.integer() < 0) throw bad(what);
    return value.integer();
  }
  const Value::List& list(const Value& value, const std::string& what) const {
    if (!value.is_list()) throw bad(what);
    return value.list();
  }
  std::vector<std::string> names(const Value& value, const std::string& what) const {
    std::vector<std::string> all;
    for (const Value& name : list(value, what)) {
      if (!name.is_string()) throw bad(what);
      all.push_back(name.string());
    }
    return all;
  }

  std::string name_;
  std::int64_t begin_, end_;
  std::shared_ptr<const Mapping> mapping_;
};

}  // namespace

std::string packed_hash(std::string_view bytes) {
  const auto piece = static_cast<std::size_t>(packed_piece);
  std::string hashes((bytes.size() + piece - 1) / piece * hash_digits, '\0');
  for_each_block(static_cast<std::int64_t>(hashes.size() / hash_digits), [&](std::int64_t number) {
    const auto i = static_cast<std::size_t>(number);
    hashes.replace(i * hash_digits, hash_digits, hash_bytes(bytes.substr(i * piece, piece)));
  });
  return hash_bytes(hashes);
}

std::optional<DataParts> open_packed(const fs::path& path, const std::string& key) {
  if (!fs::exists(path)) return {};
  const Error other = recipe_error(path.string() + " is there, and is no packed data")
                          .hint("give data:pack another file: existing files are not overwritten");
  constexpr std::size_t before_header = packed_mark.size() + sizeof(std::uint64_t);
  if (fs::file_size(path) < before_header) throw other;
  const auto mapping = std::make_shared<const Mapping>(path);
  const std::string_view all = mapping->bytes();
  if (!all.starts_with(packed_mark.substr(0, packed_mark.find(' ') + 1))) throw other;
  if (!all.starts_with(packed_mark)) return {};
  std::uint64_t length = 0;
  std::memcpy(&length, all.data() + packed_mark.size(), sizeof length);
  if (all.size() < before_header + hash_digits || length > all.size() - before_header - hash_digits)
    throw damaged(path.string(), "it is shorter than it says");
  const std::string_view content = all.substr(0, all.size() - hash_digits);
  if (packed_hash(content) != all.substr(content.size())) throw damaged(path.string(), "its hash is another");
  const Value header = parse_json(content.substr(before_header, length), path.string());
  if (!header["key"].is_string() || header["key"].string() != key) return {};

  const Reader reader(path.string(), mapping, packed_aligned(static_cast<std::int64_t>(before_header + length)),
                      static_cast<std::int64_t>(content.size()));
  DataParts parts;
  parts.train = reader.part(header["train"], "train");
  if (!header["val"].is_nil()) parts.val = reader.part(header["val"], "val");
  if (!header["test"].is_nil()) parts.test = reader.part(header["test"], "test");
  if (!header["state"].is_map()) throw reader.bad("state");
  for (const auto& [name, place] : header["state"].map()) parts.state[name] = reader.tensor(place, "state." + name);
  return parts;
}

}  // namespace trainlab

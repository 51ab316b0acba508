#include "packed_file.h"

#include <ATen/ops/from_blob.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

#include "core/files.h"
#include "parallel.h"
#include "row_gather.h"
#include "tar.h"

namespace trainlab {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view mark = "trainlab-pack 1\n";
constexpr std::int64_t longest_header = 1 << 28;
constexpr std::int64_t piece_bytes = 16 << 20;  // that is decoded at once while packing

std::int64_t aligned(std::int64_t bytes) { return (bytes + 63) / 64 * 64; }

// What is written one after the other: the rows of a column, or a tensor.
struct Block {
  const Part* part = nullptr;  // with the column whose stored rows these are …
  const Column* column = nullptr;
  at::Tensor tensor;  // … or as it is
  std::int64_t rows = 1, row_bytes = 0;

  std::int64_t bytes() const { return rows * row_bytes; }
};

class Plan {
 public:
  Value part(const Part& part) {
    const Dataset& data = *part.data;
    Value::List columns;
    for (const Column& column : data.columns) {
      Value described;
      described.set("name", column.name);
      described.set("as_int64", column.as_int64);
      Shape shape = column.sample_shape();
      shape.insert(shape.begin(), part.size());
      Block block{&part, &column, {}, part.size(), 0};
      block.row_bytes =
          element_count(column.sample_shape()) * static_cast<std::int64_t>(c10::elementSize(column.stored_type()));
      described.set("values", add(std::move(block), column.stored_type(), shape));
      if (column.scale.defined()) described.set("scale", tensor(column.scale));
      if (column.shift.defined()) described.set("shift", tensor(column.shift));
      columns.push_back(std::move(described));
    }
    Value described;
    described.set("size", part.size());
    described.set("columns", std::move(columns));
    described.set("classes", data.classes);
    described.set("class_names", Value::List(data.class_names.begin(), data.class_names.end()));
    described.set("feature_names", Value::List(data.feature_names.begin(), data.feature_names.end()));
    return described;
  }

  Value tensor(const at::Tensor& tensor) {
    Block block{nullptr, nullptr, tensor.contiguous(), 1, static_cast<std::int64_t>(tensor.nbytes())};
    return add(std::move(block), tensor.scalar_type(), tensor.sizes().vec());
  }

  const std::vector<Block>& blocks() const { return blocks_; }

 private:
  // Offsets count from the end of the header.
  Value add(Block block, at::ScalarType type, const Shape& shape) {
    Value place;
    place.set("type", static_cast<std::int64_t>(type));
    place.set("shape", Value::List(shape.begin(), shape.end()));
    place.set("offset", end_);
    end_ += aligned(block.bytes());
    blocks_.push_back(std::move(block));
    return place;
  }

  std::vector<Block> blocks_;
  std::int64_t end_ = 0;
};

void write_rows(const Append& append, const Block& block) {
  Column stored = *block.column;  // as it lies, without conversion
  stored.scale = stored.shift = at::Tensor();
  stored.as_int64 = false;
  const RowGather rows(stored, stored.stored_type() == at::kDouble ? at::kDouble : at::kFloat);
  const std::int64_t at_once = std::max<std::int64_t>(1, piece_bytes / std::max<std::int64_t>(1, block.row_bytes));
  constexpr std::int64_t rows_of_block = 64;
  std::string bytes;
  for (std::int64_t first = 0; first < block.rows; first += at_once) {
    const std::int64_t count = std::min(at_once, block.rows - first);
    bytes.resize(static_cast<std::size_t>(count * block.row_bytes));
    for_each_block((count + rows_of_block - 1) / rows_of_block, [&](std::int64_t number) {
      std::vector<std::int64_t> wanted;
      const std::int64_t begin = number * rows_of_block;
      for (std::int64_t i = begin; i < std::min(begin + rows_of_block, count); ++i)
        wanted.push_back(block.part->row(first + i));
      rows.copy(wanted, reinterpret_cast<std::byte*>(bytes.data() + begin * block.row_bytes));
    });
    append(bytes);
  }
}

// The file in memory, for as long as a tensor looks at it.
class Mapping {
 public:
  explicit Mapping(const fs::path& path) {
    const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    size_ = static_cast<std::size_t>(fs::file_size(path));
    void* const at = fd < 0 ? MAP_FAILED : mmap(nullptr, size_, PROT_READ, MAP_SHARED, fd, 0);
    if (fd >= 0) close(fd);
    if (at == MAP_FAILED) throw run_error(path.string() + " cannot be mapped: " + std::strerror(errno));
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

class Reader {
 public:
  Reader(const fs::path& path, std::int64_t begin)
      : name_(path.string()), begin_(begin), mapping_(std::make_shared<const Mapping>(path)) {}

  at::Tensor tensor(const Value& place) const {
    Shape shape;
    std::int64_t elements = 1;
    for (const Value& size : place["shape"].list()) {
      shape.push_back(size.integer());
      if (shape.back() < 0 || (shape.back() > 0 && elements > (std::int64_t{1} << 48) / shape.back())) throw damaged();
      elements *= shape.back();
    }
    const auto type = static_cast<at::ScalarType>(place["type"].integer());
    const auto bytes = elements * static_cast<std::int64_t>(c10::elementSize(type));
    const std::int64_t left = static_cast<std::int64_t>(mapping_->bytes().size()) - begin_ - place["offset"].integer();
    if (place["offset"].integer() < 0 || bytes > left) throw damaged();
    return at::from_blob(
        mapping_->data() + begin_ + place["offset"].integer(), shape, [mapping = mapping_](void*) {},
        at::TensorOptions(type));
  }

  Part part(const Value& described) const {
    Dataset data;
    data.size = described["size"].integer();
    data.classes = described["classes"].integer();
    for (const Value& name : described["class_names"].list()) data.class_names.push_back(name.string());
    for (const Value& name : described["feature_names"].list()) data.feature_names.push_back(name.string());
    for (const Value& from : described["columns"].list()) {
      Column column{from["name"].string(), tensor(from["values"]), {}, {}};
      column.as_int64 = from["as_int64"].boolean();
      if (!from["scale"].is_nil()) column.scale = tensor(from["scale"]);
      if (!from["shift"].is_nil()) column.shift = tensor(from["shift"]);
      data.columns.push_back(std::move(column));
    }
    return {std::make_shared<const Dataset>(std::move(data)), nullptr};
  }

  Error damaged() const {
    return recipe_error(name_ + ": the packed data is shorter than it says").hint("delete the file: it is made anew");
  }

 private:
  std::string name_;
  std::int64_t begin_;
  std::shared_ptr<const Mapping> mapping_;
};

}  // namespace

std::optional<DataParts> open_packed(const fs::path& path, const std::string& key) {
  if (!fs::exists(path)) return {};
  const RandomFile file(path);
  const Error other = recipe_error(path.string() + " is there, and is no packed data")
                          .hint("give data:pack a file of its own: what is there is not overwritten");
  std::string head(mark.size() + 8, '\0');
  if (file.size() < static_cast<std::int64_t>(head.size())) throw other;
  file.read(0, head.size(), head.data());
  if (!head.starts_with(mark)) throw other;
  std::uint64_t length = 0;
  std::memcpy(&length, head.data() + mark.size(), sizeof length);
  const auto begin = static_cast<std::int64_t>(head.size());
  if (length > longest_header || static_cast<std::int64_t>(length) > file.size() - begin)
    throw recipe_error(path.string() + ": the packed data is damaged").hint("delete the file: it is made anew");
  std::string text(length, '\0');
  file.read(begin, text.size(), text.data());
  const Value header = parse_json(text, path.string());
  if (!header["key"].is_string() || header["key"].string() != key) return {};

  const Reader reader(path, aligned(begin + static_cast<std::int64_t>(length)));
  DataParts parts;
  parts.train = reader.part(header["train"]);
  if (!header["val"].is_nil()) parts.val = reader.part(header["val"]);
  if (!header["test"].is_nil()) parts.test = reader.part(header["test"]);
  for (const auto& [name, place] : header["state"].map()) parts.state[name] = reader.tensor(place);
  return parts;
}

void write_packed(const fs::path& path, const std::string& key, const DataParts& parts) {
  Plan plan;
  Value header, state = Value(Value::Map{});
  header.set("key", key);
  header.set("train", plan.part(parts.train));
  if (parts.val) header.set("val", plan.part(*parts.val));
  if (parts.test) header.set("test", plan.part(*parts.test));
  for (const auto& [name, tensor] : parts.state) state.set(name, plan.tensor(tensor));
  header.set("state", std::move(state));
  std::string head = to_json(header);
  const std::uint64_t length = head.size();
  head.insert(0, std::string(mark) + std::string(reinterpret_cast<const char*>(&length), sizeof length));
  head.resize(static_cast<std::size_t>(aligned(static_cast<std::int64_t>(head.size()))));

  write_atomic(path, [&](const Append& append) {
    append(head);
    for (const Block& block : plan.blocks()) {
      if (block.column) {
        write_rows(append, block);
      } else {
        append({static_cast<const char*>(block.tensor.const_data_ptr()), static_cast<std::size_t>(block.bytes())});
      }
      append(std::string(static_cast<std::size_t>(aligned(block.bytes()) - block.bytes()), '\0'));
    }
  });
}

}  // namespace trainlab

// Packed data is written.
#include "packed_file.h"

#include <algorithm>
#include <functional>

#include "core/files.h"
#include "core/threads/parallel.h"
#include "loader/row_gather.h"

namespace trainlab {

namespace fs = std::filesystem;

namespace {

constexpr std::int64_t piece_bytes = 16 << 20;  // that is decoded at once while packing

// One item of the file: the rows of a column, or a tensor.
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
    end_ += packed_aligned(block.bytes());
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

// Hashes on the way to the file, a piece at a time.
class HashedAppend {
 public:
  explicit HashedAppend(const Append& append) : append_(append) {}
  void operator()(std::string_view bytes) {
    append_(bytes);
    while (!bytes.empty()) {
      const std::size_t taken = std::min(bytes.size(), static_cast<std::size_t>(packed_piece) - piece_.size());
      piece_ += bytes.substr(0, taken);
      bytes.remove_prefix(taken);
      if (piece_.size() == static_cast<std::size_t>(packed_piece)) end_piece();
    }
  }
  void finish() {
    if (!piece_.empty()) end_piece();
    append_(hash_bytes(hashes_));
  }

 private:
  void end_piece() {
    hashes_ += hash_bytes(piece_);
    piece_.clear();
  }

  const Append& append_;
  std::string piece_, hashes_;
};

}  // namespace

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
  head.insert(0, std::string(packed_mark) + std::string(reinterpret_cast<const char*>(&length), sizeof length));
  head.resize(static_cast<std::size_t>(packed_aligned(static_cast<std::int64_t>(head.size()))));

  write_atomic(path, [&](const Append& to_file) {
    HashedAppend hashed(to_file);
    const Append append = std::ref(hashed);
    append(head);
    for (const Block& block : plan.blocks()) {
      if (block.column) {
        write_rows(append, block);
      } else {
        append({static_cast<const char*>(block.tensor.const_data_ptr()), static_cast<std::size_t>(block.bytes())});
      }
      append(std::string(static_cast<std::size_t>(packed_aligned(block.bytes()) - block.bytes()), '\0'));
    }
    hashed.finish();
  });
}

}  // namespace trainlab

#include "data/data_hashes.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/index_select.h>

#include <algorithm>
#include <functional>
#include <mutex>
#include <span>
#include <utility>

#include "core/files.h"

namespace trainlab {

namespace {

constexpr std::int64_t most_hashed = std::int64_t{2} << 20;  // bytes of a column: some milliseconds
constexpr std::int64_t most_made = 8;                        // rows that a source makes

std::int64_t spread(std::int64_t i, std::int64_t count, std::int64_t size) {
  return static_cast<std::int64_t>(static_cast<double>(i) * static_cast<double>(size) / static_cast<double>(count));
}

// A row that cannot be made has the hash of zeros: the batch that needs the row says what is wrong.
void make_row(const RowSource& source, std::int64_t row, std::span<char> bytes) {
  try {
    source.make(row, reinterpret_cast<std::byte*>(bytes.data()));
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::recipe) throw;
    std::ranges::fill(bytes, '\0');
  }
}

// The number of rows that count, of `size` rows of this size: all of them within most_hashed bytes.
std::int64_t hashed_rows(std::int64_t size, std::int64_t row_bytes) {
  return std::min(size, std::max<std::int64_t>(most_hashed / row_bytes, 1));
}

// The bytes of the rows that count, spread over `size` rows of a column; row i lies at place_of(i). They are gathered
// in small pieces, because a training may be given hardly more memory for tensors than its steps take. `convert`
// changes a piece before its bytes are taken.
template <class PlaceOf, class Convert>
std::string bytes_of_rows(const Column& column, std::int64_t size, std::int64_t row_bytes, const PlaceOf& place_of,
                          const Convert& convert) {
  constexpr std::int64_t piece_bytes = std::int64_t{64} << 10;
  const std::int64_t count = hashed_rows(size, row_bytes);
  const std::int64_t at_once = std::max<std::int64_t>(piece_bytes / std::max<std::int64_t>(row_bytes, 8), 1);
  std::string bytes;
  for (std::int64_t begin = 0; begin < count; begin += at_once) {
    const at::Tensor places = at::empty({std::min(at_once, count - begin)}, at::kLong);
    for (std::int64_t i = 0; i < places.numel(); ++i)
      places.mutable_data_ptr<std::int64_t>()[i] = place_of(spread(begin + i, count, size));
    const at::Tensor rows = convert(at::index_select(column.values, 0, places));
    bytes.append(static_cast<const char*>(rows.const_data_ptr()), rows.nbytes());
  }
  return bytes;
}

// The bytes of some rows of a column that a source makes, spread over `size` rows; row i is row_at(i) of the source.
template <class RowAt>
std::string bytes_of_made_rows(const Column& column, std::int64_t size, std::int64_t row_bytes, const RowAt& row_at) {
  const std::int64_t count = std::min(size, most_made);
  const auto length = static_cast<std::size_t>(row_bytes);
  std::string bytes(static_cast<std::size_t>(count) * length, '\0');
  for (std::int64_t i = 0; i < count; ++i) {
    const std::span<char> row = std::span(bytes).subspan(static_cast<std::size_t>(i) * length, length);
    make_row(*column.source, row_at(spread(i, count, size)), row);
  }
  return bytes;
}

// The bytes of a row as it is stored, or as a source makes it; at least 1.
std::int64_t stored_row_bytes(const Column& column) {
  const auto value_bytes = static_cast<std::int64_t>(c10::elementSize(column.stored_type()));
  return std::max<std::int64_t>(element_count(column.sample_shape()) * value_bytes, 1);
}

std::string hash_of(const Column& column, std::int64_t size) {
  const std::int64_t row_bytes = stored_row_bytes(column);
  const std::string head = dtype_name(column.stored_type()) + shape_text(column.sample_shape()) + std::to_string(size);
  if (size == 0) return hash_bytes(head);
  if (column.source) return hash_bytes(head + bytes_of_made_rows(column, size, row_bytes, std::identity()));
  if (hashed_rows(size, row_bytes) == size) {
    const at::Tensor all = column.values.contiguous();
    const std::string_view parts[] = {head, {static_cast<const char*>(all.const_data_ptr()), all.nbytes()}};
    return hash_parts(parts);
  }
  return hash_bytes(head + bytes_of_rows(column, size, row_bytes, std::identity(), std::identity()));
}

Value::Map hashes_of(const Dataset& data) {
  Value::Map hashes;
  for (const Column& column : data.columns) hashes.emplace(column.name, hash_of(column, data.size));
  return hashes;
}

// The trials of a sweep share their data.
Value::Map kept_hashes(const std::shared_ptr<const Dataset>& data) {
  static std::mutex mutex;
  static std::vector<std::pair<std::weak_ptr<const Dataset>, Value::Map>> kept;
  const std::lock_guard lock(mutex);
  std::erase_if(kept, [](const auto& one) { return one.first.expired(); });
  for (const auto& [known, hashes] : kept) {
    if (known.lock() == data) return hashes;
  }
  return kept.emplace_back(data, hashes_of(*data)).second;
}

}  // namespace

Value data_hashes(const DataParts& parts) {
  Value::Map all;
  std::vector<const Dataset*> seen;
  const auto add = [&](const std::string& name, const Part& part) {
    if (std::ranges::find(seen, part.data.get()) != seen.end()) return;
    seen.push_back(part.data.get());
    for (auto& [column, hash] : kept_hashes(part.data)) all.emplace(name + "." + column, hash);
  };
  add("train", parts.train);
  if (parts.val) add("val", *parts.val);
  if (parts.test) add("test", *parts.test);
  return all;
}

std::string hash_of_rows(const Column& column, std::span<const std::int64_t> rows) {
  const auto row_at = [&](std::int64_t i) { return rows[static_cast<std::size_t>(i)]; };
  if (column.source) {
    return hash_bytes(bytes_of_made_rows(column, std::ssize(rows), stored_row_bytes(column), row_at));
  }
  constexpr std::int64_t value_bytes = sizeof(double);  // in whatever type the values are stored
  const std::int64_t row_bytes = std::max<std::int64_t>(element_count(column.sample_shape()) * value_bytes, 1);
  const auto in_doubles = [](const at::Tensor& values) {
    return at::isFloatingType(values.scalar_type()) ? values.to(at::kDouble) : values;
  };
  return hash_bytes(bytes_of_rows(column, std::ssize(rows), row_bytes, row_at, in_doubles));
}

std::string changed_columns(const Value& before, const Value& now) {
  std::string names;
  for (const auto& [name, hash] : now.map()) {
    if (before[name] != hash) names += (names.empty() ? "" : ", ") + name;
  }
  return names;
}

}  // namespace trainlab

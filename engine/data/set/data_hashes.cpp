#include "data/data_hashes.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/index_select.h>

#include <algorithm>
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

std::string_view bytes_of_rows(const at::Tensor& rows) {
  return {static_cast<const char*>(rows.const_data_ptr()), rows.nbytes()};
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

// The places, spread over `size` rows of this size, of the rows that count: all of them within most_hashed bytes.
at::Tensor hashed_places(std::int64_t size, std::int64_t row_bytes) {
  const std::int64_t count = std::min(size, std::max<std::int64_t>(most_hashed / row_bytes, 1));
  const at::Tensor places = at::empty({count}, at::kLong);
  for (std::int64_t i = 0; i < count; ++i) places.mutable_data_ptr<std::int64_t>()[i] = spread(i, count, size);
  return places;
}

std::string hash_of(const Column& column, std::int64_t size) {
  const Shape shape = column.sample_shape();
  const auto value_bytes = static_cast<std::int64_t>(c10::elementSize(column.stored_type()));
  const std::int64_t row_bytes = std::max<std::int64_t>(element_count(shape) * value_bytes, 1);
  const std::string head = dtype_name(column.stored_type()) + shape_text(shape) + std::to_string(size);
  if (size == 0) return hash_bytes(head);
  if (column.source) {
    const std::int64_t count = std::min(size, most_made);
    const auto length = static_cast<std::size_t>(row_bytes);
    std::string bytes(static_cast<std::size_t>(count) * length, '\0');
    for (std::int64_t i = 0; i < count; ++i) {
      const std::span<char> row = std::span(bytes).subspan(static_cast<std::size_t>(i) * length, length);
      make_row(*column.source, spread(i, count, size), row);
    }
    return hash_bytes(head + bytes);
  }
  const bool is_small = size <= most_hashed / row_bytes;
  const at::Tensor rows =
      is_small ? column.values.contiguous() : at::index_select(column.values, 0, hashed_places(size, row_bytes));
  const std::string_view parts[] = {head, bytes_of_rows(rows)};
  return hash_parts(parts);
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
  constexpr std::int64_t value_bytes = sizeof(double);  // in whatever type the values are stored
  const std::int64_t row_bytes = std::max<std::int64_t>(element_count(column.sample_shape()) * value_bytes, 1);
  const at::Tensor places = hashed_places(static_cast<std::int64_t>(rows.size()), row_bytes);
  auto* const place = places.mutable_data_ptr<std::int64_t>();
  std::transform(place, place + places.numel(), place,
                 [&](std::int64_t i) { return rows[static_cast<std::size_t>(i)]; });
  const at::Tensor values = at::index_select(column.values, 0, places);
  return hash_bytes(bytes_of_rows(at::isFloatingType(values.scalar_type()) ? values.to(at::kDouble) : values));
}

std::string changed_columns(const Value& before, const Value& now) {
  std::string names;
  for (const auto& [name, hash] : now.map()) {
    if (before[name] != hash) names += (names.empty() ? "" : ", ") + name;
  }
  return names;
}

}  // namespace trainlab

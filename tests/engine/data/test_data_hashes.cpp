// Hashes of data, by which a run that goes on notices that its files have changed.
#include "data/data_hashes.h"

#include <ATen/ops/arange.h>

#include <algorithm>
#include <catch2/catch.hpp>

namespace trainlab::data_hashes_test {

namespace {

// 100 rows of three bytes; those from `broken` on cannot be read.
class Rows final : public RowSource {
 public:
  explicit Rows(std::int64_t broken) : broken_(broken) {}
  at::ScalarType type() const override { return at::kByte; }
  Shape shape() const override { return {3}; }
  void make(std::int64_t row, std::byte* out) const override {
    std::fill_n(out, 2, static_cast<std::byte>(row));
    if (row >= broken_) throw recipe_error("row " + std::to_string(row) + " is cut short");
    out[2] = std::byte{1};
  }

 private:
  std::int64_t broken_;
};

Column column(const char* name, at::Tensor values, std::shared_ptr<const RowSource> source = nullptr) {
  Column made;
  made.name = name;
  made.values = std::move(values);
  made.source = std::move(source);
  return made;
}

Value hashes(Column x, at::Tensor y) {
  Dataset data;
  data.columns = {std::move(x), column("y", std::move(y))};
  data.size = 100;
  DataParts parts;
  parts.train.data = std::make_shared<const Dataset>(std::move(data));
  parts.val = parts.train;
  return data_hashes(parts);
}

Value with_rows(std::int64_t broken) {
  return hashes(column("x", {}, std::make_shared<Rows>(broken)), at::arange(100));
}

}  // namespace

TEST_CASE("a column that has changed is named, of parts that share their data once") {
  const at::Tensor y = at::arange(100);
  const Value before = hashes(column("x", at::arange(100).mul(0.5)), y);
  CHECK(before.map().size() == 2);
  const at::Tensor changed = y.clone();
  changed.select(0, 57).fill_(7);
  const Value now = hashes(column("x", at::arange(100).mul(0.5)), changed);
  CHECK(changed_columns(before, before).empty());
  CHECK(changed_columns(before, now) == "train.y");
}

TEST_CASE("rows that cannot be read end no run before they are needed") {
  CHECK(changed_columns(with_rows(50), with_rows(50)).empty());
  CHECK(changed_columns(with_rows(100), with_rows(50)) == "train.x");
}

}  // namespace trainlab::data_hashes_test

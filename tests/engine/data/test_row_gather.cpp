#include "loader/row_gather.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/full.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>

#include <catch2/catch.hpp>

namespace trainlab::row_gather_test {

namespace {

constexpr at::ScalarType stored_types[] = {at::kByte, at::kChar,  at::kShort, at::kInt,
                                           at::kLong, at::kFloat, at::kDouble};

template <class To>
std::vector<To> gathered(const Column& column, const std::vector<std::int64_t>& rows) {
  const RowGather gather(column, c10::CppTypeToScalarType<To>::value);
  REQUIRE(gather.type() == c10::CppTypeToScalarType<To>::value);
  std::vector<To> out(rows.size() * gather.row_bytes() / sizeof(To));
  gather.copy(rows, reinterpret_cast<std::byte*>(out.data()));
  return out;
}

// out = value · scale + shift with a rounding after each step, element by element: in float64 where the stored values
// are, else in the type of the batch.
template <class To, class Work = To>
void check_affine(at::ScalarType stored, const Shape& sample, const at::Tensor& scale, const at::Tensor& shift) {
  const std::int64_t rows = 9, elements = element_count(sample);
  Shape sizes = sample;
  sizes.insert(sizes.begin(), rows);
  const at::Tensor values = at::arange(rows * elements, at::kLong).remainder(127).to(stored).reshape(sizes);
  const std::vector<std::int64_t> wanted{8, 0, 3, 3, 7, 1};
  const std::vector<To> out = gathered<To>({"x", values, scale, shift}, wanted);

  const at::Tensor flat = values.to(at::kDouble).reshape({rows, elements});
  const at::Tensor a = (scale.defined() ? scale : at::full({}, 1.0f)).expand(sample).contiguous();
  const at::Tensor b = (shift.defined() ? shift : at::full({}, 0.0f)).expand(sample).contiguous();
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    for (std::int64_t j = 0; j < elements; ++j) {
      const auto value = static_cast<Work>(flat.const_data_ptr<double>()[wanted[i] * elements + j]);
      const Work product = value * static_cast<Work>(a.const_data_ptr<float>()[j]);
      const auto expected = static_cast<To>(product + static_cast<Work>(b.const_data_ptr<float>()[j]));
      REQUIRE(out[i * static_cast<std::size_t>(elements) + static_cast<std::size_t>(j)] == expected);
    }
  }
}

template <class To, class Work>
void check_affines(at::ScalarType stored) {
  check_affine<To, Work>(stored, {3, 5, 7}, at::full({}, 0.37f), {});
  check_affine<To, Work>(stored, {3, 5, 7}, {}, at::full({}, -1.25f));
  check_affine<To, Work>(stored, {3, 5, 7}, at::tensor({0.1f, 0.2f, 0.3f}).reshape({3, 1, 1}),
                         at::tensor({1.f, -2.f, 3.f}).reshape({3, 1, 1}));
  check_affine<To, Work>(stored, {3, 5, 7}, at::arange(7, at::kFloat), at::full({1, 5, 1}, 0.5f));
  check_affine<To, Work>(stored, {11}, at::arange(11, at::kFloat).mul(0.1), at::arange(11, at::kFloat).mul(-0.3));
  check_affine<To, Work>(stored, {1}, at::tensor({0.7f}), at::tensor({0.1f}));
  check_affine<To, Work>(stored, {}, at::full({}, 3.0f), at::full({}, 0.1f));
}

template <class To>
void check_all() {
  for (const at::ScalarType stored : stored_types) {
    INFO(dtype_name(stored));
    stored == at::kDouble ? check_affines<To, double>(stored) : check_affines<To, To>(stored);
  }
}

}  // namespace

TEST_CASE("rows are scaled and shifted: one factor, one a channel, one an element; from every type to both") {
  check_all<float>();
  check_all<double>();
}

TEST_CASE("columns without scale: floats are cast, others copied") {
  const at::Tensor floats = at::arange(12, at::kFloat).mul(0.1).reshape({4, 3});
  CHECK(gathered<float>({"x", floats, {}, {}}, {3, 1}) ==
        std::vector<float>{9 * 0.1f, 10 * 0.1f, 11 * 0.1f, 3 * 0.1f, 4 * 0.1f, 5 * 0.1f});
  CHECK(gathered<double>({"x", floats, {}, {}}, {1})[0] == static_cast<double>(3 * 0.1f));

  const RowGather labels({"y", at::arange(5, at::kLong), {}, {}}, at::kDouble);
  CHECK(labels.type() == at::kLong);
  CHECK(labels.sample_shape().empty());
  std::int64_t out[2];
  labels.copy(std::vector<std::int64_t>{4, 2}, reinterpret_cast<std::byte*>(out));
  CHECK(out[0] == 4);
  CHECK(out[1] == 2);
}

TEST_CASE("what no source makes is refused") {
  CHECK_THROWS_AS(RowGather({"x", at::zeros({2, 2}), {}, {}}, at::kHalf), std::logic_error);
  CHECK_THROWS_AS(RowGather({"x", at::zeros({2, 2}).t(), {}, {}}, at::kFloat), std::logic_error);
  CHECK_THROWS_AS(RowGather({"x", at::zeros({2, 2}, at::kBool), at::full({}, 1.0f), {}}, at::kFloat), std::logic_error);
}

namespace {

// Row r is r, r + 1, r + 2 as bytes.
class CountingRows : public RowSource {
 public:
  at::ScalarType type() const override { return at::kByte; }
  Shape shape() const override { return {3}; }
  void make(std::int64_t row, std::byte* out) const override {
    for (int i = 0; i < 3; ++i) out[i] = static_cast<std::byte>(row + i);
  }
};

}  // namespace

TEST_CASE("rows that a source makes are converted like stored ones") {
  const at::Tensor stored = at::arange(60, at::kLong).unsqueeze(1).add(at::arange(3, at::kLong)).to(at::kByte);
  const std::vector<std::int64_t> rows{7, 0, 59, 7};
  for (const at::Tensor& scale : {at::Tensor(), at::full({}, 0.3f)}) {
    Column column{"x", {}, scale, {}};
    column.source = std::make_shared<CountingRows>();
    const RowGather made(column, at::kFloat), kept(Column{"x", stored, scale, {}}, at::kFloat);
    REQUIRE(made.type() == kept.type());
    REQUIRE(made.sample_shape() == Shape{3});
    REQUIRE(made.row_bytes() == kept.row_bytes());
    std::vector<std::byte> a(rows.size() * made.row_bytes()), b(a.size());
    made.copy(rows, a.data());
    kept.copy(rows, b.data());
    CHECK((a == b));
    // A change sees the stored values, and the how many-th row they are, before they are converted.
    const RowGather::Change add_row = [](std::size_t i, std::byte* values) {
      values[1] = static_cast<std::byte>(static_cast<std::size_t>(values[1]) + 3 * i + 1);
    };
    made.copy(rows, a.data(), add_row);
    const std::vector<std::byte> unchanged = b;
    kept.copy(rows, b.data(), add_row);
    CHECK((a == b));
    CHECK((b != unchanged));
  }
}

}  // namespace trainlab::row_gather_test

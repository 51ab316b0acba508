// data:map: a column passed once through a function of the recipe.
#include <ATen/ops/equal.h>
#include <ATen/ops/rand.h>

#include <functional>

#include "core/callable.h"
#include "specs.h"
#include "support/stand_in_device.h"
#include "tensor/tensor_object.h"
#include "tensor/types.h"

namespace trainlab::map_test {

using namespace test;

namespace {

// Stands for a function of a recipe; remembers how it was called.
class RowFunction : public Callable {
 public:
  using Rows = std::function<at::Tensor(const at::Tensor&)>;
  explicit RowFunction(Rows rows) : rows_(std::move(rows)) {}

  std::vector<Argument> call(std::span<const Argument> arguments) override {
    const auto given = std::dynamic_pointer_cast<TensorObject>(std::get<std::shared_ptr<Object>>(arguments[0]));
    sizes.push_back(given->tensor.size(0));
    const at::Tensor result = rows_(given->tensor);
    if (!result.defined()) return {Value(5)};
    return {std::shared_ptr<Object>(std::make_shared<TensorObject>(result))};
  }
  void rekey(Key key) override { keys.push_back(key.bits()); }
  const std::string& where() const override { return where_; }

  std::vector<std::int64_t> sizes;
  std::vector<std::uint64_t> keys;

 private:
  Rows rows_;
  std::string where_ = "recipe.lua:9";
};

std::shared_ptr<RowFunction> rows(RowFunction::Rows function) {
  return std::make_shared<RowFunction>(std::move(function));
}

Value mapped(Value source, const std::string& column) {
  return method("map", std::move(source), {{"column", column}, {"run", Value::Map{{"@", "function"}, {"index", 0}}}});
}

DataParts open_with(const Value& value, const std::shared_ptr<RowFunction>& function, std::int64_t seed = 1) {
  auto spec = std::make_shared<Spec>();
  spec->functions = {function};
  spec->value = registry().check(value, "fit.data");
  return open_data(Options(registry(), spec, "fit.data"), {.seed = seed});
}

Value halves(Value source) { return method("split", std::move(source), {{"train", 0.5}, {"val", 0.5}, {"seed", 1}}); }

}  // namespace

TEST_CASE("map: the rows of all parts, once, some at a time") {
  const auto twice = rows([](const at::Tensor& x) { return x.mul(2); });
  const Batch plain = all_of(open(data("digits")).train);
  const Batch whole = all_of(open_with(mapped(data("digits"), "x"), twice).train);
  CHECK(at::equal(whole.columns[0], plain.columns[0].mul(2)));
  CHECK(at::equal(whole.columns[1], plain.columns[1]));
  CHECK(twice->sizes == std::vector<std::int64_t>{1024, 773});

  // Before or after a split it is the same data, and parts that share it are mapped together.
  const auto before = rows([](const at::Tensor& x) { return x.mul(2); });
  const auto after = rows([](const at::Tensor& x) { return x.mul(2); });
  const DataParts first = open_with(halves(mapped(data("digits"), "x")), before);
  const DataParts second = open_with(mapped(halves(data("digits")), "x"), after);
  CHECK(at::equal(all_of(first.train).columns[0], all_of(second.train).columns[0]));
  CHECK(at::equal(all_of(*first.val).columns[0], all_of(*second.val).columns[0]));
  CHECK(before->sizes == after->sizes);
  CHECK(after->sizes.size() == 2);
}

TEST_CASE("map: a column of float64 keeps all digits") {
  const auto thirds = rows([](const at::Tensor& x) { return x.to(at::kDouble).div(3); });
  const auto same = rows([](const at::Tensor& x) {
    CHECK(x.scalar_type() == at::kDouble);
    return x;
  });
  const at::Tensor expected = all_of(open(data("digits")).train, at::kDouble).columns[0].div(3);
  const DataParts once = open_with(mapped(data("digits"), "x"), thirds);
  CHECK(at::equal(all_of(once.train, at::kDouble).columns[0], expected));
  // The second function gets what the first one gave.
  const DataParts twice = open_with(mapped(mapped(data("digits"), "x"), "x"), rows([&](const at::Tensor& x) {
                                      return x.scalar_type() == at::kDouble ? x : x.to(at::kDouble).div(3);
                                    }));
  CHECK(at::equal(all_of(twice.train, at::kDouble).columns[0], expected));
  CHECK(at::equal(all_of(twice.train).columns[0], expected.to(at::kFloat)));
}

TEST_CASE("map: rows that the function has taken to another device come back") {
  const auto twice = rows([](const at::Tensor& x) { return x.to(test_device()).mul(2); });
  const Batch plain = all_of(open(data("digits")).train);
  const Batch whole = all_of(open_with(mapped(data("digits"), "x"), twice).train);
  CHECK(at::equal(whole.columns[0], plain.columns[0].mul(2)));
}

TEST_CASE("map: what it draws is keyed by the seed, the column and the rows") {
  const auto keys = [](const std::string& column, std::int64_t seed) {
    const auto same = rows([](const at::Tensor& x) { return x; });
    open_with(mapped(data("digits"), column), same, seed);
    REQUIRE(same->keys.size() == 2);
    CHECK(same->keys[0] != same->keys[1]);
    return same->keys;
  };
  CHECK(keys("x", 1) == keys("x", 1));
  CHECK(keys("x", 1) != keys("x", 2));
  CHECK(keys("x", 1) != keys("y", 1));
}

TEST_CASE("map: shape and dtype may change, and labels that are none any more are targets") {
  const DataParts flat =
      open_with(mapped(data("digits"), "x"), rows([](const at::Tensor& x) { return x.flatten(1).slice(1, 0, 5); }));
  CHECK(flat.train.data->find("x")->sample_shape() == Shape{5});
  CHECK(flat.train.data->classes == 10);

  const DataParts real =
      open_with(mapped(data("digits"), "y"), rows([](const at::Tensor& y) { return y.to(at::kFloat); }));
  CHECK(real.train.data->classes == 0);
  CHECK(real.train.data->find("y")->batch_type() == at::kFloat);
  const DataParts odd =
      open_with(mapped(data("digits"), "y"), rows([](const at::Tensor& y) { return y.remainder(2); }));
  CHECK(odd.train.data->classes == 2);
  // The classes are the same for all parts, whatever labels each part has.
  const DataParts halved = open_with(mapped(halves(data("digits")), "y"),
                                     rows([](const at::Tensor& y) { return y.div(2, "floor").to(at::kLong); }));
  CHECK(halved.train.data->classes == 5);
  CHECK(halved.val->data->classes == 5);
  // And targets that become labels.
  const DataParts labels = open_with(mapped(mapped(data("digits"), "y"), "y"), rows([](const at::Tensor& y) {
                                       return y.is_floating_point() ? y.gt(4).to(at::kLong) : y.to(at::kFloat);
                                     }));
  CHECK(labels.train.data->classes == 2);
}

TEST_CASE("labels below 0 are marks: no classes, and nothing that mixup could mix") {
  const auto without_zeros = rows([](const at::Tensor& y) { return y.masked_fill(y.eq(0), -100); });
  const Value marked = mapped(halves(data("digits")), "y");
  const DataParts parts = open_with(marked, without_zeros);
  CHECK(parts.train.data->classes == 10);
  CHECK(parts.val->data->lowest_label == -100);
  const Value mixed = method("augment", marked, {{"entries", Value::List{Value::Map{{"@", "augment.mixup"}}}}});
  CHECK(contains(error_of([&] { open_with(mixed, without_zeros); }).message(),
                 "mixup and cutmix mix classes from 0, found a label -100"));
  const auto without_nines = rows([](const at::Tensor& y) { return y.masked_fill(y.eq(9), 4'000'000'000); });
  const DataParts high = open_with(marked, without_nines);
  CHECK(high.train.data->classes == 9);
  CHECK(high.val->data->highest_mark == 4'000'000'000);
  CHECK(contains(error_of([&] { open_with(mixed, without_nines); }).message(), "found a label 4000000000"));
}

TEST_CASE("map: what is refused") {
  const auto refused = [](const Value& value, RowFunction::Rows function) {
    return error_of([&] { open_with(value, rows(std::move(function))); });
  };
  const auto same = [](const at::Tensor& x) { return x; };
  const Value digits = data("digits");
  const Error fewer = refused(mapped(digits, "x"), [](const at::Tensor& x) { return x.slice(0, 1); });
  CHECK(contains(fewer.message(),
                 "the function of data:map was given 1024 rows, [1024, 1, 8, 8], and gave back [1023, 1, 8, 8]"));
  CHECK(fewer.line() == 9);
  CHECK(contains(refused(mapped(digits, "x"), [](const at::Tensor& x) { return x.sum(); }).message(), "gave back []"));
  CHECK(contains(refused(mapped(digits, "y"), [](const at::Tensor& y) { return y.sub(10); }).message(),
                 "data:map at recipe.lua:9 gave: labels from -10 to -1, expected whole numbers from 0"));
  CHECK(contains(refused(mapped(digits, "x"), [](const at::Tensor&) { return at::Tensor(); }).message(),
                 "the function of data:map gives back a tensor, a row for each row"));
  const Error unknown = refused(mapped(digits, "z"), same);
  CHECK(contains(unknown.message(), "the data has no column \"z\""));
  CHECK(unknown.path() == "fit.data.column");
  CHECK(contains(unknown.hint(), "it has x, y"));
  CHECK(contains(refused(mapped(method("normalize", digits), "x"), same).message(), "the data is normalised already"));
  CHECK(contains(refused(method("pack", mapped(digits, "x"), {{"path", "x.pack"}}), same).message(),
                 "what a function made cannot be packed"));
}

}  // namespace trainlab::map_test

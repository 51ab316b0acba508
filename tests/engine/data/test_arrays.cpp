#include <ATen/ops/arange.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>

#include "specs.h"
#include "tensor/npy.h"
#include "tensor/safetensors.h"
#include "tensor/tensor_object.h"

namespace trainlab::arrays_test {

using namespace test;

namespace {

std::string npy_file(const std::string& name, const at::Tensor& values) {
  return write_file(name, npy_bytes(values, name));
}

std::string message_of(const Value& value) {
  return error_of([&] { open(value); }).message();
}

std::string npz_corpus(const std::string& name) { return TRAINLAB_SOURCE_DIR "/tests/fuzz/corpus/npz/" + name; }

at::Tensor column(const DataParts& parts, const std::string& name) {
  const Batch all = all_of(parts.train);
  for (std::size_t i = 0; i < all.columns.size(); ++i)
    if (parts.train.data->columns[i].name == name) return all.columns[i];
  FAIL("there is no column " << name);
  return {};
}

// A function of a recipe that gives what it is told.
class Gives : public Callable {
 public:
  explicit Gives(std::vector<Argument> results) : results_(std::move(results)) {}
  std::vector<Argument> call(std::span<const Argument>) override { return results_; }
  void rekey(Key) override {}
  const std::string& where() const override { return where_; }

 private:
  std::vector<Argument> results_;
  std::string where_ = "recipe.lua:9";
};

DataParts open_tensors(std::vector<Argument> results, Value::Map options = {}) {
  options["load"] = Value::Map{{"@", "function"}, {"index", 0}};
  auto spec = std::make_shared<Spec>();
  spec->functions.push_back(std::make_shared<Gives>(std::move(results)));
  spec->value = registry().check(data("tensors", std::move(options)), "fit.data");
  return open_data(Options(registry(), spec, "fit.data"), {});
}

Argument tensor(const at::Tensor& t) { return std::make_shared<TensorObject>(t); }

}  // namespace

TEST_CASE("npy: a file for each column") {
  const at::Tensor x = at::arange(12, at::kFloat).reshape({4, 3});
  const std::string path = npy_file("x.npy", x);
  const DataParts parts =
      open(data("npy", {{"x", path},
                        {"y", npy_file("y.npy", at::tensor({0, 2, 1, 2}).to(at::kInt))},
                        {"more", Value::List{npy_file("ids.npy", at::tensor({7, 8, 9, 300}).to(at::kShort)),
                                             npy_file("image.npy", at::full({4, 2, 2}, 51, at::kByte)),
                                             npy_file("mask.npy", at::ones({4, 2}, at::kBool)),
                                             npy_file("age.npy", at::arange(4, at::kDouble))}}}));
  CHECK(parts.train.size() == 4);
  CHECK(parts.train.data->classes == 3);
  CHECK(at::equal(column(parts, "x"), x));
  CHECK(at::equal(column(parts, "y"), at::tensor({0, 2, 1, 2}, at::kLong)));
  CHECK(at::equal(column(parts, "ids"), at::tensor({7, 8, 9, 300}, at::kLong)));
  CHECK(at::equal(column(parts, "image"), at::full({4, 2, 2}, 51 * (1 / 255.0f))));
  CHECK(at::equal(column(parts, "mask"), at::ones({4, 2})));
  CHECK(at::equal(column(parts, "age"), at::arange(4, at::kFloat).unsqueeze(1)));

  const DataParts regression = open(data("npy", {{"x", path}, {"y", npy_file("t.npy", at::arange(4, at::kHalf))}}));
  CHECK(regression.train.data->classes == 0);
  CHECK(at::equal(column(regression, "y"), at::arange(4, at::kFloat).unsqueeze(1)));
  CHECK_FALSE(open(data("npy", {{"x", path}})).train.data->find("y"));
}

TEST_CASE("float64 arrays are columns of numbers as float32 arrays are") {
  const at::Tensor x = at::arange(12, at::kDouble).div(7).reshape({4, 3});
  const Value source = data("npy", {{"x", npy_file("x.npy", x)}, {"y", npy_file("t.npy", at::arange(4, at::kDouble))}});
  const DataParts parts = open(source);
  for (const Column& column : parts.train.data->columns) CHECK(column.batch_type() == at::kFloat);
  CHECK(at::equal(all_of(parts.train, at::kDouble).columns[0], x));
  CHECK(at::equal(all_of(parts.train).columns[0], x.to(at::kFloat)));
  const Batch normal = all_of(open(method("normalize", source)).train, at::kDouble);
  CHECK(normal.columns[0].mean(0).abs().max().item<double>() < 1e-6);
  CHECK(normal.columns[0].square().mean(0).sub(1).abs().max().item<double>() < 1e-5);
}

TEST_CASE("float64 numbers that differ by little keep their differences when they are normalised") {
  const at::Tensor seconds = at::arange(1000, at::kDouble).add(1.7e9).reshape({1000, 1});
  const DataParts parts = open(method(
      "normalize",
      data("npy", {{"x", npy_file("seconds.npy", seconds)}, {"y", npy_file("t.npy", at::arange(1000, at::kDouble))}})));
  const at::Tensor expected =
      at::arange(1000, at::kDouble).sub(499.5).div(std::sqrt((1e6 - 1) / 12)).reshape({1000, 1});
  CHECK(all_of(parts.train, at::kDouble).columns[0].sub(expected).abs().max().item<double>() < 1e-8);
  CHECK(all_of(parts.train).columns[0].sub(expected).abs().max().item<double>() < 1e-6);
  const DataParts packed =
      open(method("pack",
                  method("normalize", data("npy", {{"x", npy_file("seconds.npy", seconds)},
                                                   {"y", npy_file("t.npy", at::arange(1000, at::kDouble))}})),
                  {{"path", std::filesystem::absolute("packed").string()}}));
  CHECK(at::equal(all_of(packed.train, at::kDouble).columns[0], all_of(parts.train, at::kDouble).columns[0]));
}

TEST_CASE("labels that are too high for a class are marks, in a pack too") {
  const at::Tensor labels = at::tensor(at::IntArrayRef{0, 3, 1, 4'000'000'000}, at::kLong);
  const Value source = data("npy", {{"x", npy_file("four.npy", at::ones({4, 2}))}, {"y", npy_file("l.npy", labels)}});
  const Value packed = method("pack", source, {{"path", std::filesystem::absolute("marked").string()}});
  for (const Value& one : {source, packed, packed}) {  // the pack is made, then read
    const DataParts parts = open(one);
    CHECK(parts.train.data->classes == 4);
    CHECK(parts.train.data->lowest_label == 0);
    CHECK(parts.train.data->highest_mark == 4'000'000'000);
    CHECK(at::equal(column(parts, "y"), labels));
  }
}

TEST_CASE("npz and safetensors: columns by the arrays' names") {
  const DataParts stored = open(data("npz", {{"path", npz_corpus("stored")}}));
  CHECK(at::equal(column(stored, "x"), at::arange(4, at::kFloat).reshape({2, 2})));
  CHECK(at::equal(column(stored, "y"), at::tensor({0, 1}, at::kLong)));
  const DataParts more = open(data("npz", {{"path", npz_corpus("deflated")}, {"more", Value::List{"mask"}}}));
  CHECK(at::equal(column(more, "x"), at::zeros({8, 4})));
  CHECK(at::equal(column(more, "mask"), at::ones({8, 1})));
  CHECK_FALSE(more.train.data->find("y"));

  save_safetensors("set.safetensors", {{"a", at::ones({3, 2})}, {"b", at::tensor({0, 1, 0})}, {"c", at::ones({3})}});
  const std::string path = std::filesystem::absolute("set.safetensors").string();
  const DataParts set = open(data("safetensors", {{"path", path}, {"x", "a"}, {"y", "b"}, {"more", Value::List{"c"}}}));
  CHECK(at::equal(column(set, "x"), at::ones({3, 2})));
  CHECK(set.train.data->classes == 2);
  CHECK(at::equal(column(set, "c"), at::ones({3, 1})));

  CHECK(contains(message_of(data("npz", {{"path", npz_corpus("stored")}, {"x", "images"}})),
                 "there is no array \"images\" in it"));
  CHECK(error_of([&] {
          open(data("npz", {{"path", npz_corpus("stored")}, {"x", "images"}}));
        }).hint() == "the arrays are x, y");
  CHECK(contains(message_of(data("npz", {{"path", npz_corpus("deflated")}, {"y", "labels"}})), "no array \"labels\""));
  CHECK(contains(message_of(data("npz", {{"path", npz_corpus("comment")}})),
                 "a Python pickle, which can run any code and is never executed"));
  CHECK(contains(message_of(data("safetensors", {{"path", "/nowhere/a.safetensors"}})), "a.safetensors"));
}

TEST_CASE("arrays: what is refused") {
  const at::Tensor x = at::arange(4, at::kFloat).reshape({2, 2});
  const auto message = [&](const at::Tensor& inputs, const at::Tensor& targets) {
    return message_of(data("npy", {{"x", npy_file("x.npy", inputs)}, {"y", npy_file("y.npy", targets)}}));
  };
  CHECK(contains(message(x, at::arange(3)), "y.npy holds 3 samples, but"));
  CHECK(contains(message(x, at::tensor({-2, -1})), "labels from -2 to -1, expected whole numbers from 0"));
  CHECK(contains(message(x, at::tensor({1'000'000, 5'000'000})), "labels from 1000000 to 5000000, expected whole"));
  CHECK(contains(message(x.div(0), at::arange(2)), "x.npy: some values are not finite"));
  CHECK(contains(message(at::full({}, 1.0), at::arange(2)), "a single number"));
  CHECK(contains(message(at::zeros({0, 3}), at::arange(2)), "no values in its shape [0, 3]"));
  CHECK(contains(message(x.to(at::kComplexFloat), at::arange(2)), "complex numbers"));
  CHECK(contains(message_of(data("npy", {{"x", npy_file("x.npy", x)}, {"more", Value::List{npy_file("x.npy", x)}}})),
                 "two columns are named \"x\""));
}

TEST_CASE("table: lists of numbers in the recipe") {
  const Value x = Value::List{Value::List{0, 1}, Value::List{2.5, 3}};
  const DataParts parts = open(data("table", {{"x", x},
                                              {"y", Value::List{1, 0}},
                                              {"task", "classification"},
                                              {"more", Value::Map{{"w", Value::List{1, 2}}}}}));
  CHECK(at::equal(column(parts, "x"), at::tensor({0.f, 1.f, 2.5f, 3.f}).reshape({2, 2})));
  CHECK(at::equal(column(parts, "y"), at::tensor({1, 0}, at::kLong)));
  CHECK(at::equal(column(parts, "w"), at::tensor({1.f, 2.f}).unsqueeze(1)));
  CHECK(at::equal(column(open(data("table", {{"x", x}, {"y", Value::List{1, 0}}})), "y"),
                  at::tensor({1.f, 0.f}).unsqueeze(1)));

  const auto message = [](Value::Map options) { return message_of(data("table", std::move(options))); };
  CHECK(contains(message({{"x", Value::List{Value::List{0, 1}, Value::List{2}}}}),
                 "expected a list of 2 at [2], as the first is"));
  CHECK(contains(message({{"x", Value::List{0, "a"}}}), "expected a number at [2], found \"a\""));
  CHECK(contains(message({{"x", Value::List{0, 1e300}}}), "1e+300 is not finite in float32"));
  CHECK(contains(message({{"x", Value::List{}}}), "expected a list with an element for each sample"));
  CHECK(contains(message({{"x", Value::List{0, 1}}, {"y", Value::List{0, 0.5}}, {"task", "classification"}}),
                 "found 0.5"));
  CHECK(contains(message({{"x", x}, {"y", Value::List{1}}}), "y holds 1 samples, but x 2"));
}

TEST_CASE("tensors: a function of the recipe makes the data") {
  at::Tensor x = at::arange(6, at::kFloat).reshape({3, 2});
  const DataParts parts = open_tensors({tensor(x), tensor(at::tensor({0, 1, 1}))});
  x.zero_();  // what the recipe does to its own tensor later
  CHECK(at::equal(column(parts, "x"), at::arange(6, at::kFloat).reshape({3, 2})));
  CHECK(parts.train.data->classes == 2);
  CHECK(open_tensors({tensor(x), tensor(x)}, {{"columns", Value::List{"x", "mask"}}}).train.data->find("mask"));

  const auto message = [](std::vector<Argument> results) {
    return error_of([&] { open_tensors(std::move(results)); }).message();
  };
  CHECK(message({tensor(x)}) ==
        "expected 2 tensors from the function at recipe.lua:9, one for each of `columns`, found 1 values");
  CHECK(
      contains(message({tensor(x), Value(3)}), "result 2 of the function at recipe.lua:9: expected a tensor, found 3"));
}

}  // namespace trainlab::arrays_test

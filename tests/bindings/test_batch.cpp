// The object `batch`.
#include <ATen/ops/arange.h>
#include <ATen/ops/zeros.h>

#include "data/batch_object.h"
#include "support.h"

namespace trainlab::batch_test {

using trainlab::testing::returned_function;
using trainlab::testing::Sandbox;

namespace {

struct Fixture {
  Fixture() {
    batch->columns = {{"x", at::zeros({3, 2})}, {"y", at::arange(3)}};
    batch->size = 3;
  }
  std::vector<Argument> call(const std::string& body) {
    const auto function =
        returned_function(sandbox.execute("return lab.stage { call = function(batch)\n" + body + "\nend }"));
    const Argument arguments[] = {std::shared_ptr<Object>(batch)};
    return function->call(arguments);
  }
  Sandbox sandbox;
  std::shared_ptr<BatchObject> batch = std::make_shared<BatchObject>();
};

}  // namespace

TEST_CASE_METHOD(Fixture, "a batch gives its columns, size and index") {
  batch->index = at::arange(5, 8);
  const auto results = call(
      "return batch.x.shape[2], batch.y[2]:item(), batch.size, batch.index[0]:item(), tostring(batch), "
      "batch.x:equal(batch.x)");
  CHECK(std::get<Value>(results.at(0)) == Value(2));
  CHECK(std::get<Value>(results.at(1)) == Value(2));
  CHECK(std::get<Value>(results.at(2)) == Value(3));
  CHECK(std::get<Value>(results.at(3)) == Value(5));
  CHECK(std::get<Value>(results.at(4)) == Value("batch of 3: x float32 [3, 2] y int64 [3]"));
  CHECK(std::get<Value>(results.at(5)) == Value(true));
}

TEST_CASE_METHOD(Fixture, "columns can be set") {
  call("batch.x = batch.x + 1 batch.noise = batch.y * 2");
  CHECK(batch->columns.at("x").sum().item<float>() == 6);
  CHECK(batch->columns.at("noise").equal(at::arange(3).mul(2)));
}

TEST_CASE_METHOD(Fixture, "wrong use of a batch") {
  struct Row {
    const char* body;
    const char* message;
  };
  const Row row = GENERATE(
      Row{"return batch.z", "this batch has no 'z'\n  hint: it has x, y, size and index"},
      Row{"batch.x = 3", "batch.x: expected a tensor, found the number 3"},
      Row{"batch.x = batch.x[{ {0, 2} }]", "batch.x: expected a row for each of the 3 samples, found float32 [2, 2]"},
      Row{"batch.size = 3", "batch.size cannot be set"}, Row{"return batch[1]", "a batch is read by name"});
  CAPTURE(row.body);
  CHECK_THROWS_WITH(call(row.body), Catch::Contains(row.message));
}

}  // namespace trainlab::batch_test

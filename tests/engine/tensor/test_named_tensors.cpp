#include <ATen/ops/ones.h>

#include <catch2/catch.hpp>

#include "tensor/named_tensors.h"

namespace trainlab::named_tensors_test {

TEST_CASE("tensors below a prefix are those whose names begin with it, and come back under it") {
  const at::Tensor tensor = at::ones({2});
  const NamedTensors all{{"model", tensor},         {"model.1.bias", tensor},  {"model.1.weight", tensor},
                         {"model.10.bias", tensor}, {"models.1.bias", tensor}, {"optim.1", tensor}};
  const NamedTensors first = tensors_below(all, "model.1.");
  REQUIRE(first.size() == 2);
  CHECK(first.at("bias").is_same(tensor));
  CHECK(first.contains("weight"));
  CHECK(tensors_below(all, "model.").size() == 3);
  CHECK(tensors_below(all, "").size() == all.size());
  CHECK(tensors_below(all, "state.").empty());

  NamedTensors again;
  add_below(again, "model.1.", first);
  CHECK(again.size() == 2);
  CHECK(again.at("model.1.weight").is_same(tensor));
}

}  // namespace trainlab::named_tensors_test

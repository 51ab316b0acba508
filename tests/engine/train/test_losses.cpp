// Losses against PyTorch's numbers (tests/golden/loss_golden.py), and heads that they refuse.
#include <ATen/ops/allclose.h>

#include <catch2/catch.hpp>

#include "embedded/golden_parts.h"
#include "parts_support.h"

using namespace trainlab;
using namespace trainlab::test;

namespace {

Head head(Shape output, Shape target, std::int64_t classes) {
  Head h;
  h.output = std::move(output);
  h.target = std::move(target);
  h.classes = classes;
  h.target_type = classes > 0 ? at::kLong : at::kFloat;
  return h;
}

std::string refused(const std::string& json, const Head& h) {
  return error_of([&] { make_loss(part(json), h); });
}

}  // namespace

TEST_CASE("losses and their gradients are PyTorch's") {
  const Value golden = parse_json(embedded::golden_parts::loss_golden_json(), "loss_golden.json");
  REQUIRE(golden.list().size() == 11);
  for (const Value& row : golden.list()) {
    INFO(to_json(row["entry"]));
    const at::Tensor out = tensor_of(row["out"], at::kDouble).requires_grad_(true);
    const at::Tensor target = tensor_of(row["target"], row["integer_target"].boolean() ? at::kLong : at::kDouble);
    const auto loss = make_loss(part(to_json(row["entry"])), head_of(out, target, row["classes"].integer()));
    const LossValue result = loss_of(*loss, out, target);
    CHECK(result.value.dim() == 0);
    CHECK(result.value.item<double>() == Approx(row["value"].number()).epsilon(1e-14));
    CHECK(result.weight.defined() == !row["weight"].is_nil());
    if (result.weight.defined()) CHECK(result.weight.item<double>() == Approx(row["weight"].number()).epsilon(1e-15));
    result.value.backward();
    CHECK(at::allclose(out.grad(), tensor_of(row["gradient"], at::kDouble), 1e-13, 1e-16));
  }
}

TEST_CASE("an output that does not fit the classes is refused with both shapes and the way out") {
  const std::string text = refused(R"({"@": "loss.cross_entropy"})", head({12}, {}, 10));
  CHECK(text ==
        "recipe.lua:7: fit.loss: loss.cross_entropy needs one score per class, an output of shape [10]; found an "
        "output of shape [12] and targets of shape [] (int64)\n"
        "  hint: the data has 10 classes; end the model with nn.Linear(10)");
  CHECK_THAT(refused(R"({"@": "loss.cross_entropy"})", head({8, 4, 4}, {}, 10)),
             Catch::Contains("nn.Flatten(), nn.Linear(10)"));
  CHECK_THAT(refused(R"({"@": "loss.cross_entropy"})", head({1}, {}, 2)), Catch::Contains("bce_with_logits"));
  CHECK_THAT(refused(R"({"@": "loss.cross_entropy"})", head({3}, {3}, 0)),
             Catch::Contains("class labels") && Catch::Contains("float32"));
}

TEST_CASE("regression losses refuse labels and other shapes") {
  CHECK_THAT(refused(R"({"@": "loss.mse"})", head({10}, {}, 10)),
             Catch::Contains("numbers as targets") && Catch::Contains("cross_entropy"));
  CHECK_THAT(refused(R"({"@": "loss.huber"})", head({3}, {2}, 0)),
             Catch::Contains("[3]") && Catch::Contains("[2]") && Catch::Contains("nn.Linear(2)"));
  CHECK_THAT(refused(R"({"@": "loss.mse"})", head({3}, {}, 0)), Catch::Contains("nn.Linear(1)"));
  CHECK(refused(R"({"@": "loss.mse"})", head({1}, {}, 0)).empty());
}

TEST_CASE("binary cross-entropy wants one logit for two classes") {
  CHECK_THAT(refused(R"({"@": "loss.bce_with_logits"})", head({2}, {}, 2)), Catch::Contains("nn.Linear(1)"));
  CHECK_THAT(refused(R"({"@": "loss.bce_with_logits"})", head({1}, {}, 3)), Catch::Contains("cross_entropy"));
  CHECK_THAT(refused(R"({"@": "loss.bce_with_logits"})", head({3}, {2}, 0)), Catch::Contains("[2]"));
}

TEST_CASE("weights of classes and outputs are counted") {
  CHECK_THAT(refused(R"({"@": "loss.cross_entropy", "class_weights": [1, 2]})", head({3}, {}, 3)),
             Catch::Contains("fit.loss.class_weights") && Catch::Contains("expected 3 numbers") && Catch::Contains("found 2"));
  CHECK_THAT(refused(R"({"@": "loss.cross_entropy", "class_weights": [0, 0, 0]})", head({3}, {}, 3)),
             Catch::Contains("above 0"));
  CHECK_THAT(refused(R"({"@": "loss.bce_with_logits", "pos_weight": [1, 2]})", head({3}, {3}, 0)),
             Catch::Contains("fit.loss.pos_weight") && Catch::Contains("found 2"));
}

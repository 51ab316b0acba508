// Losses against PyTorch's numbers (tests/golden/loss_golden.py), and heads that they refuse.
#include <ATen/ops/allclose.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include <catch2/catch.hpp>

#include <cmath>
#include <set>

#include "class_scores.h"
#include "embedded/golden_parts.h"
#include "parts_support.h"
#include "support/stand_in_device.h"

namespace trainlab::losses_test {

using namespace test;

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
  REQUIRE(golden.list().size() == 52);
  std::set<std::string> seen{"loss.sum"};  // by a test of its own
  for (const Value& row : golden.list()) {
    INFO(to_json(row["entry"]));
    seen.insert(row["entry"]["@"].string());
    for (const at::ScalarType type : {at::kDouble, at::kFloat}) {
      const bool exact = type == at::kDouble;
      const at::Tensor out = tensor_of(row["out"], type).requires_grad_(true);
      const at::Tensor target = tensor_of(row["target"], row["integer_target"].boolean() ? at::kLong : type);
      Head head = head_of(out, target, row["classes"].integer());
      if (row["shares"].boolean()) {  // mixup's targets: the data says labels
        head.target = {};
        head.target_type = at::kLong;
      }
      const auto loss = make_loss(part(to_json(row["entry"])), head);
      const LossValue result = loss_of(*loss, out, target);
      CHECK(result.value.dim() == 0);
      CHECK(result.value.item<double>() == Approx(row["value"].number()).epsilon(exact ? 1e-12 : 1e-5));
      REQUIRE(result.weight.defined() == !row["weight"].is_nil());
      if (result.weight.defined()) CHECK(result.weight.item<double>() == Approx(row["weight"].number()).epsilon(1e-6));
      result.value.backward();
      const at::Tensor gradient = tensor_of(row["gradient"], type);
      CHECK(at::allclose(out.grad(), gradient, exact ? 1e-10 : 1e-5, exact ? 1e-13 : 1e-6));
    }
  }
  for (const Entry* entry : parts_registry().of_kind("loss")) {
    INFO(entry->name);
    CHECK(seen.contains(entry->name));
  }
}

TEST_CASE("a variance below eps counts as eps, and its gradient is that of eps") {
  // PyTorch bounds the variance without a gradient: d/dv of (log v + e²/v) / 2 at v = eps, times dv/ds = exp(s).
  const double error = 0.5, eps = 0.25, log_variance = std::log(0.01);
  const at::Tensor y = tensor_of(parse_json("[[0]]", "y"), at::kDouble);
  const auto loss = make_loss(part(R"({"@": "loss.gaussian_nll", "eps": 0.25})"), head_of(at::zeros({1, 2}), y, 0));
  const at::Tensor out = tensor_of(Value(Value::List{Value(Value::List{error, log_variance})}), at::kDouble);
  out.requires_grad_(true);
  const LossValue value = loss_of(*loss, out, y);
  CHECK(value.value.item<double>() == Approx((std::log(eps) + error * error / eps) / 2).epsilon(1e-14));
  value.value.backward();
  CHECK(out.grad()[0][0].item<double>() == Approx(error / eps).epsilon(1e-14));
  CHECK(out.grad()[0][1].item<double>() ==
        Approx((1 / eps - error * error / (eps * eps)) / 2 * std::exp(log_variance)).margin(1e-15));
  const at::Tensor far = tensor_of(Value(Value::List{Value(Value::List{2.0, log_variance})}), at::kDouble);
  loss_of(*loss, far.requires_grad_(true), y).value.backward();
  CHECK(far.grad()[0][1].item<double>() == Approx((1 / eps - 4 / (eps * eps)) / 2 * 0.01).epsilon(1e-12));
}

TEST_CASE("outputs that are not finite give no error, and those that are no numbers no finite loss") {
  const Value golden = parse_json(embedded::golden_parts::loss_golden_json(), "loss_golden.json");
  for (const Value& row : golden.list()) {
    INFO(to_json(row["entry"]));
    const at::Tensor out = tensor_of(row["out"], at::kDouble);
    const at::Tensor target = tensor_of(row["target"], row["integer_target"].boolean() ? at::kLong : at::kDouble);
    Head head = head_of(out, target, row["classes"].integer());
    if (row["shares"].boolean()) {
      head.target = {};
      head.target_type = at::kLong;
    }
    const auto loss = make_loss(part(to_json(row["entry"])), head);
    for (const double bad : {std::nan(""), HUGE_VAL, -HUGE_VAL}) {
      for (const bool everywhere : {false, true}) {
        const at::Tensor broken = out.clone();
        (everywhere ? broken : broken[0]).fill_(bad);
        const LossValue result = loss_of(*loss, broken.requires_grad_(true), target);
        result.value.backward();
        if (everywhere && std::isnan(bad)) CHECK(std::isnan(result.value.item<double>()));
      }
    }
  }
}

TEST_CASE("sample weights make a weighted mean, and one that is 0 leaves a sample out") {
  const at::Tensor out = tensor_of(parse_json("[[1, 2], [3, 1], [0, 5]]", "out"), at::kDouble);
  const at::Tensor y = tensor_of(parse_json("[[0, 0], [1, 1], [2, 0]]", "y"), at::kDouble);
  const at::Tensor weight = tensor_of(parse_json("[1, 3, 0]", "weight"), at::kDouble);
  Head head = head_of(out, y, 0);
  head.weight_column = 1;
  const auto loss = make_loss(part(R"({"@": "loss.mse"})"), head);
  const std::vector<at::Tensor> columns{y, weight};
  const LossValue value = (*loss)(out, {.columns = columns, .index = {}, .size = 3});
  CHECK(value.value.item<double>() == Approx((1 * 2.5 + 3 * 2.0) / 4));
  CHECK(value.weight.item<double>() == 4);
  const LossValue group = (*loss)(at::stack({out, out}), {.columns = columns, .index = {}, .size = 3, .members = 2});
  CHECK(group.value[1].item<double>() == value.value.item<double>());
  CHECK(group.weight[1].item<double>() == 4);
}

TEST_CASE("a batch in which nothing counts is 0 with the weight 0, and stays out of the mean") {
  const at::Tensor out = tensor_of(parse_json("[[1, 2], [3, 1]]", "out"), at::kDouble).requires_grad_(true);
  const at::Tensor y = tensor_of(parse_json("[-1, -1]", "y"), at::kLong);
  const auto loss = make_loss(part(R"({"@": "loss.cross_entropy", "ignore_index": -1})"), head_of(out, y, 2));
  const LossValue value = loss_of(*loss, out, y);
  CHECK(value.value.item<double>() == 0);
  CHECK(value.weight.item<double>() == 0);
  value.value.backward();
  CHECK(out.grad().abs().sum().item<double>() == 0);
}

TEST_CASE("where both layouts fit, one axis of positions means classes last and several classes first") {
  const auto axis = [](Shape output, Shape target) {
    return require_class_scores(part(R"({"@": "loss.cross_entropy"})"), head(std::move(output), std::move(target), 3));
  };
  CHECK_FALSE(axis({3, 3}, {3}).first);
  CHECK(axis({3, 7}, {7}).first);
  CHECK(axis({3, 3, 3}, {3, 3}).first);
  CHECK_FALSE(axis({5, 7, 3}, {5, 7}).first);
  CHECK_THAT(refused(R"({"@": "loss.cross_entropy"})", head({5, 4}, {6}, 3)), Catch::Contains("[6, 3] or [3, 6]"));
}

TEST_CASE("labels that are no class are refused") {
  if (test_device().is_cuda()) return;  // a GPU finds them in its kernel, after which the process cannot use it
  const at::Tensor out = tensor_of(parse_json("[[1, 2], [3, 1]]", "out"), at::kFloat);
  const at::Tensor y = tensor_of(parse_json("[1, 2]", "y"), at::kLong);
  for (const char* entry : {R"({"@": "loss.cross_entropy"})", R"({"@": "loss.focal"})", R"({"@": "loss.hinge"})"}) {
    const auto loss = make_loss(part(entry), head_of(out, y, 2));
    CHECK_THAT(error_of([&] { with_torch_errors([&] { return loss_of(*loss, out, y); }); }), Catch::Contains("2"));
  }
  const at::Tensor speech = at::zeros({2, 5, 3});
  const at::Tensor words = tensor_of(parse_json("[[1, 9], [1, 0]]", "y"), at::kLong);
  const auto ctc = make_loss(part(R"({"@": "loss.ctc"})"), head_of(speech, words, 0));
  CHECK_THAT(error_of([&] { loss_of(*ctc, speech, words); }),
             Catch::Contains("labels from 0 to 2") && Catch::Contains("9"));
}

TEST_CASE("where training mixes two classes, one logit takes the share of class 1, alone and in groups") {
  const at::Tensor out = tensor_of(parse_json("[[0.5], [-1], [2]]", ""), at::kDouble);
  const at::Tensor shares = tensor_of(parse_json("[[0.3, 0.7], [1, 0], [0.25, 0.75]]", ""), at::kDouble);
  const at::Tensor scores = at::stack({at::zeros_like(out.squeeze(1)), out.squeeze(1)}, 1);
  Head one = head({1}, {}, 2), two = head({2}, {}, 2);
  one.mixes_labels = two.mixes_labels = true;
  for (const std::string name : {"bce_with_logits", "focal"}) {
    INFO(name);
    const std::string entry = R"({"@": "loss.)" + name + "\"}";
    const std::string same = name == "focal" ? entry : R"({"@": "loss.cross_entropy"})";
    const auto of_one = make_loss(part(entry), one), of_two = make_loss(part(same), two);
    const double wanted = loss_of(*of_two, scores, shares).value.item<double>();
    CHECK(loss_of(*of_one, out, shares).value.item<double>() == Approx(wanted).epsilon(1e-12));
    const at::Tensor group = loss_of(*of_one, at::stack({out, out}), shares, 2).value;  // the batch is shared
    CHECK(group[1].item<double>() == Approx(wanted).epsilon(1e-12));
    const at::Tensor labels = tensor_of(parse_json("[1, 0, 1]", ""), at::kLong);  // validation
    CHECK(loss_of(*of_one, out, labels).value.item<double>() ==
          Approx(loss_of(*of_two, scores, labels).value.item<double>()).epsilon(1e-12));
  }
  // The hinge of one logit is max(0, margin ∓ z).
  const auto hinge = make_loss(part(R"({"@": "loss.hinge"})"), one);
  CHECK(loss_of(*hinge, out, shares).value.item<double>() ==
        Approx((0.7 * 0.5 + 0.3 * 1.5 + 0.0 + 0.25 * 3.0) / 3).epsilon(1e-12));
  Head embedding = head({4}, {}, 2);
  embedding.mixes_labels = true;
  CHECK_THAT(refused(R"({"@": "loss.triplet"})", embedding),
             Catch::Contains("recipe.lua:7") && Catch::Contains("loss.triplet compares samples of one class"));
}

TEST_CASE("a sum adds its losses times their weights, and tells them apart") {
  const at::Tensor out = tensor_of(parse_json("[[1, 2, 0], [3, 1, 1]]", "out"), at::kDouble);
  const at::Tensor y = tensor_of(parse_json("[1, 2]", "y"), at::kLong);
  const at::Tensor z = tensor_of(parse_json("[[1, 1, 1], [0, 0, 0]]", "z"), at::kDouble);
  Head head = head_of(out, y, 3);
  head.columns.push_back({.name = "z", .shape = {3}, .type = at::kDouble});
  const auto loss = make_loss(part(R"({"@": "loss.sum", "losses": ["cross_entropy",
    {"@": "loss.mse", "target": "z", "weight": 0.5}, {"@": "loss.mse", "target": "z"}]})"),
                              head);
  const std::vector<LossPart> parts = loss->parts();
  REQUIRE(parts.size() == 3);
  CHECK(parts[0].name == "cross_entropy");
  CHECK(parts[1].name == "mse");
  CHECK(parts[2].name == "mse_2");
  const std::vector<at::Tensor> columns{y, z};
  const LossValue value = (*loss)(out, {.columns = columns, .index = {}, .size = 2});
  REQUIRE(value.parts.size() == 3);
  const double entropy = value.parts[0].value.item<double>(), squares = value.parts[1].value.item<double>();
  CHECK(squares == Approx((0 + 1 + 1 + 9 + 1 + 1) / 6.0));
  CHECK(value.value.item<double>() == Approx(entropy + 1.5 * squares).epsilon(1e-14));
  CHECK_THAT(refused(R"({"@": "loss.sum", "losses": [{"@": "loss.mse", "target": "w"}]})", head),
             Catch::Contains("no column \"w\"") && Catch::Contains("y, z"));
  CHECK_THAT(refused(R"({"@": "loss.sum", "losses": [{"@": "loss.sum", "losses": ["mse"]}]})", head),
             Catch::Contains("another loss.sum"));
}

TEST_CASE("balanced class weights are those of the training labels") {
  Head h = head({3}, {}, 3);
  h.float_type = at::kDouble;
  h.training_labels = [](std::size_t) { return tensor_of(parse_json("[0, 0, 0, 1, 1, 2]", "y"), at::kLong); };
  const at::Tensor weights = class_weights(part(R"({"@": "loss.cross_entropy", "class_weights": "balanced"})"), h, 3);
  CHECK(at::allclose(weights, tensor_of(parse_json("[0.6666666666666666, 1, 2]", "w"), at::kDouble), 1e-14));
  h.training_labels = [](std::size_t) { return tensor_of(parse_json("[0, 0, 2]", "y"), at::kLong); };
  CHECK_THAT(refused(R"({"@": "loss.cross_entropy", "class_weights": "balanced"})", h),
             Catch::Contains("fit.loss.class_weights") && Catch::Contains("none of class 1"));
}

TEST_CASE("balanced class weights leave out what the loss ignores") {
  const auto weights = [](const char* labels, const std::string& ignored) {
    Head h = head({3}, {}, 3);
    h.float_type = at::kDouble;
    h.training_labels = [labels](std::size_t) { return tensor_of(parse_json(labels, "y"), at::kLong); };
    return class_weights(
        part(R"({"@": "loss.cross_entropy", "class_weights": "balanced", "ignore_index": )" + ignored + "}"), h, 3);
  };
  const at::Tensor wanted = tensor_of(parse_json("[0.6666666666666666, 1, 2]", "w"), at::kDouble);
  CHECK(at::allclose(weights("[0, 0, 255, 0, 1, 1, 2, 255]", "255"), wanted, 1e-14));
  CHECK(at::allclose(weights("[0, 0, -1, 0, 1, 1, 2, -1]", "-1"), wanted, 1e-14));
  // Three samples of class 0 and one of class 2; the weight of the ignored class is used nowhere.
  const at::Tensor two = weights("[0, 0, 0, 1, 1, 2]", "1");
  CHECK(at::allclose(two, tensor_of(parse_json("[0.6666666666666666, 0, 2]", "w"), at::kDouble), 1e-14));
}

TEST_CASE("cross-entropy of probabilities is PyTorch's, at positions too") {
  // Σ w t (−log p) over the classes, the mean over samples and positions.
  const auto entropy = [](const std::string& options, const at::Tensor& out, const at::Tensor& target) {
    Head h = head_of(out, target, 0);
    h.columns.front().is_shares = true;
    return loss_of(*make_loss(part(R"({"@": "loss.cross_entropy")" + options + "}"), h), out, target)
        .value.item<double>();
  };
  const at::Tensor out = tensor_of(parse_json("[[1, 2, 0], [3, 1, 1]]", "out"), at::kDouble);
  const at::Tensor t = tensor_of(parse_json("[[0.5, 0.25, 0.25], [0, 0.1, 0.9]]", "t"), at::kDouble);
  const at::Tensor costs = out.log_softmax(1).neg().mul(t);
  CHECK(entropy("", out, t) == Approx(costs.sum().item<double>() / 2).epsilon(1e-13));
  const at::Tensor weight = tensor_of(parse_json("[1, 0.5, 3]", "w"), at::kDouble);
  CHECK(entropy(R"(, "class_weights": [1, 0.5, 3])", out, t) ==
        Approx(costs.mul(weight).sum().item<double>() / 2).epsilon(1e-13));
  const double plain = entropy("", out, t);
  CHECK(entropy("", out.view({1, 2, 3}), t.view({1, 2, 3})) == Approx(plain).epsilon(1e-13));  // [T, C]
  CHECK(entropy("", out.t().reshape({1, 3, 2, 1}), t.t().reshape({1, 3, 2, 1})) ==
        Approx(plain).epsilon(1e-13));  // [C, H, W]
}

TEST_CASE("probabilities as targets have no label to ignore and no labels to count") {
  Head h = head({3}, {3}, 0);
  h.columns = {{.name = "y", .shape = {3}, .type = at::kFloat, .is_shares = true}};
  CHECK_THAT(refused(R"({"@": "loss.cross_entropy", "ignore_index": 1})", h),
             Catch::Contains("fit.loss.ignore_index: is a label, and the targets are probabilities"));
  CHECK_THAT(refused(R"({"@": "loss.cross_entropy", "class_weights": "balanced"})", h),
             Catch::Contains("needs class labels to count"));
  CHECK_THAT(refused(R"({"@": "loss.dice"})", h), Catch::Contains("labels at several positions"));
  CHECK(refused(R"({"@": "loss.cross_entropy"})", h).empty());
}

TEST_CASE("losses of other heads say what they need") {
  CHECK_THAT(refused(R"({"@": "loss.dice"})", head({4}, {}, 4)), Catch::Contains("labels at several positions"));
  CHECK_THAT(refused(R"({"@": "loss.dice"})", head({4, 8, 8}, {8, 9}, 4)), Catch::Contains("[8, 9, 4] or [4, 8, 9]"));
  CHECK_THAT(refused(R"({"@": "loss.kl_div"})", head({4}, {}, 4)),
             Catch::Contains("distributions") && Catch::Contains("nll"));
  CHECK_THAT(refused(R"({"@": "loss.triplet"})", head({4, 2}, {}, 4)), Catch::Contains("one embedding"));
  CHECK_THAT(refused(R"({"@": "loss.ctc"})", head({4}, {}, 4)), Catch::Contains("[T, C]"));
  CHECK_THAT(refused(R"({"@": "loss.gaussian_nll"})", head({3}, {3}, 0)), Catch::Contains("nn.Linear(6)"));
  CHECK_THAT(refused(R"({"@": "loss.cosine"})", head({2}, {3}, 0)), Catch::Contains("nn.Linear(3)"));
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
  CHECK_THAT(
      refused(R"({"@": "loss.cross_entropy", "class_weights": [1, 2]})", head({3}, {}, 3)),
      Catch::Contains("fit.loss.class_weights") && Catch::Contains("expected 3 numbers") && Catch::Contains("found 2"));
  CHECK_THAT(refused(R"({"@": "loss.cross_entropy", "class_weights": [0, 0, 0]})", head({3}, {}, 3)),
             Catch::Contains("above 0"));
  CHECK_THAT(refused(R"({"@": "loss.bce_with_logits", "pos_weight": [1, 2]})", head({3}, {3}, 0)),
             Catch::Contains("fit.loss.pos_weight") && Catch::Contains("found 2"));
}

}  // namespace trainlab::losses_test

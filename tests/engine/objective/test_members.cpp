// The property that every loss and metric keeps: a group of members gives each its solo result.
#include <ATen/ops/allclose.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/tensor.h>

#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <map>

#include "parts_support.h"
#include "support/stand_in_device.h"
#include "tensor/random.h"

namespace trainlab::members_test {

using namespace test;

namespace {

constexpr std::int64_t members = 3;

at::Tensor normal(Shape shape, std::uint64_t seed) {
  const at::Tensor out = at::empty(shape, at::TensorOptions().dtype(at::kDouble));
  fill_normal(out, Key(seed), 0, 2);
  return out;
}

// What an entry is tried on: its options, the output of one sample, its targets.
// positions: classes first, a label at each position; words: sequences of classes above 0, filled up with it.
enum class Targets { classes, bits, like_output, half_output, positions, words };
struct Trial {
  std::vector<std::string> options;  // JSON members beside "@"
  Shape output;
  Targets targets;
};

// An entry that is missing here fails the test.
const std::map<std::string, Trial> trials = {
    {"loss.cross_entropy",
     {{"", R"("label_smoothing": 0.2)", R"("class_weights": [1, 0.5, 3, 2])",
       R"("label_smoothing": 0.2, "class_weights": [1, 0.5, 3, 2])"},
      {4},
      Targets::classes}},
    {"loss.nll",
     {{"", R"("label_smoothing": 0.2, "class_weights": [1, 0.5, 3, 2], "ignore_index": 1)"}, {4}, Targets::classes}},
    {"loss.focal", {{"", R"("gamma": 0.5, "class_weights": [1, 0.5, 3, 2])"}, {4}, Targets::classes}},
    {"loss.mse", {{""}, {3}, Targets::like_output}},
    {"loss.l1", {{""}, {3}, Targets::like_output}},
    {"loss.smooth_l1", {{""}, {3}, Targets::like_output}},
    {"loss.poisson_nll", {{""}, {3}, Targets::like_output}},
    {"loss.gaussian_nll", {{"", R"("eps": 0.8)"}, {6}, Targets::half_output}},
    {"loss.huber", {{"", R"("delta": 0.3)"}, {3}, Targets::like_output}},
    {"loss.bce_with_logits", {{"", R"("pos_weight": 3)"}, {1}, Targets::bits}},
    {"loss.hinge", {{"", R"("squared": true, "class_weights": [1, 0.5, 3, 2])"}, {4}, Targets::classes}},
    {"loss.triplet", {{""}, {4}, Targets::classes}},
    {"loss.cosine", {{""}, {3}, Targets::like_output}},
    {"loss.dice", {{"", R"("ignore_index": 1)"}, {4, 2, 3}, Targets::positions}},
    {"loss.kl_div", {{R"("log_target": true)"}, {2, 3}, Targets::like_output}},
    {"loss.ctc", {{""}, {6, 3}, Targets::words}},
    {"loss.sum", {{R"("losses": ["cross_entropy", {"@": "loss.hinge", "weight": 0.5}])"}, {4}, Targets::classes}},
    {"metric.auc", {{""}, {4}, Targets::classes}},
    {"metric.average_precision", {{""}, {1}, Targets::bits}},
    {"metric.iou", {{"", R"("ignore_index": 2)"}, {4, 2, 3}, Targets::positions}},
    {"metric.balanced_accuracy", {{""}, {4}, Targets::classes}},
    {"metric.mcc", {{""}, {4}, Targets::classes}},
    {"metric.log_loss", {{""}, {4}, Targets::classes}},
    {"metric.perplexity", {{R"("ignore_index": 0)"}, {4, 2, 3}, Targets::positions}},
    {"metric.bits_per_character", {{""}, {1}, Targets::bits}},
    {"metric.ece", {{R"("bins": 3)"}, {4}, Targets::classes}},
    {"metric.label_noise", {{"", R"("ignore_index": 2)"}, {4, 2, 3}, Targets::positions}},
    {"metric.pearson", {{""}, {3}, Targets::like_output}},
    {"metric.spearman", {{""}, {3}, Targets::like_output}},
    {"metric.accuracy", {{""}, {4}, Targets::classes}},
    {"metric.top_k", {{R"("k": 2)"}, {4}, Targets::classes}},
    {"metric.precision", {{"", R"("average": "micro")", R"("average": 2)"}, {4}, Targets::classes}},
    {"metric.recall", {{"", R"("average": "weighted")"}, {4}, Targets::classes}},
    {"metric.f1", {{""}, {1}, Targets::bits}},
    {"metric.mae", {{""}, {3}, Targets::like_output}},
    {"metric.rmse", {{""}, {3}, Targets::like_output}},
    {"metric.r2", {{""}, {3}, Targets::like_output}},
};

at::Tensor targets_of(const Trial& trial, std::int64_t batch, std::uint64_t seed) {
  if (trial.targets == Targets::like_output || trial.targets == Targets::half_output) {
    Shape shape{batch};
    shape.insert(shape.end(), trial.output.begin(), trial.output.end());
    if (trial.targets == Targets::half_output) shape.back() /= 2;
    return normal(shape, seed);
  }
  if (trial.targets == Targets::words) {
    const at::Tensor words =
        normal({batch, 2}, seed).mul(10).floor().to(at::kLong).remainder(trial.output[1] - 1).add(1);
    words[0][1] = 0;
    return words;
  }
  if (trial.targets == Targets::positions) {
    return normal({batch, trial.output[1], trial.output[2]}, seed)
        .mul(10)
        .floor()
        .to(at::kLong)
        .remainder(trial.output[0]);
  }
  const std::int64_t classes = trial.targets == Targets::bits ? 2 : trial.output[0];
  return normal({batch}, seed).mul(10).floor().to(at::kLong).remainder(classes);
}

std::int64_t classes_of(const Trial& trial) {
  if (trial.targets == Targets::like_output || trial.targets == Targets::half_output || trial.targets == Targets::words)
    return 0;
  return (trial.targets == Targets::bits ? 2 : trial.output[0]);
}

// Calls `check` with every trial of every entry of a kind, and with targets that all members share or that each has.
template <class F>
void for_all(const std::string& kind, const F& check) {
  std::size_t count = 0;
  for (const Entry* entry : parts_registry().of_kind(kind)) {
    INFO(entry->name);
    if (entry->name == "metric.report") continue;  // no number; by a test of its own
    REQUIRE(trials.contains(entry->name));
    const Trial& trial = trials.at(entry->name);
    for (const std::string& more : trial.options) {
      for (const bool shared : {false, true}) {
        INFO(more << (shared ? " shared targets" : " a target per member"));
        check(part(R"({"@": ")" + entry->name + "\"" + (more.empty() ? "" : ", " + more) + "}", kind), trial, shared);
        ++count;
      }
    }
  }
  CHECK(count > 0);
}

struct Batch {
  std::vector<at::Tensor> out, target;  // of each member
  at::Tensor group_out, group_target;
};

Batch make_batch(const Trial& trial, std::int64_t size, bool shared, std::uint64_t seed) {
  Batch batch;
  for (std::int64_t m = 0; m < members; ++m) {
    Shape shape{size};
    shape.insert(shape.end(), trial.output.begin(), trial.output.end());
    const auto own = static_cast<std::uint64_t>(m) + 1;
    batch.out.push_back(normal(shape, seed + own));
    batch.target.push_back(targets_of(trial, size, seed + 10 * (shared ? 1 : own)));
  }
  batch.group_out = at::stack(batch.out);
  batch.group_target = shared ? batch.target[0] : at::stack(batch.target);
  return batch;
}

}  // namespace

TEST_CASE("a loss of a group gives each member its solo value, weight and gradient") {
  for_all("loss", [](const Options& options, const Trial& trial, bool shared) {
    const Batch batch = make_batch(trial, 6, shared, 100);
    const auto loss = make_loss(options, head_of(batch.out[0], batch.target[0], classes_of(trial)));
    const at::Tensor group = batch.group_out.clone().requires_grad_(true);
    const LossValue together = loss_of(*loss, group, batch.group_target, members);
    REQUIRE(together.value.sizes() == at::IntArrayRef{members});
    together.value.sum().backward();
    for (std::int64_t m = 0; m < members; ++m) {
      const auto i = static_cast<std::size_t>(m);
      const at::Tensor alone = batch.out[i].clone().requires_grad_(true);
      const LossValue solo = loss_of(*loss, alone, batch.target[i]);
      solo.value.backward();
      CHECK(together.value[m].item<double>() == Approx(solo.value.item<double>()).epsilon(1e-12));
      REQUIRE(together.weight.defined() == solo.weight.defined());
      if (solo.weight.defined())
        CHECK(together.weight[m].item<double>() == Approx(solo.weight.item<double>()).epsilon(1e-12));
      CHECK(at::allclose(group.grad()[m], alone.grad(), 1e-12, 1e-15));
    }
  });
}

TEST_CASE("the parts of a batch, each with its weight, make the loss and the gradient of the whole") {
  for_all("loss", [](const Options& options, const Trial& trial, bool) {
    constexpr std::int64_t whole = 6;
    const Batch batch = make_batch(trial, whole, true, 800);
    const at::Tensor &target = batch.target[0], out = batch.out[0].clone().requires_grad_(true);
    const auto loss = make_loss(options, head_of(out, target, classes_of(trial)));
    if (!loss->is_divisible()) return;
    const at::Tensor value = loss_of(*loss, out, target).value;
    value.backward();
    const at::Tensor in_parts = batch.out[0].clone().requires_grad_(true);
    // Each loss of a sum has weights of its own; without weights, samples count alike.
    const std::vector<LossPart> parts = loss->parts();
    std::vector<at::Tensor> sums(std::max<std::size_t>(parts.size(), 1)), weights(sums.size());
    const auto add = [](at::Tensor& all, const at::Tensor& one) { all = all.defined() ? all.add(one) : one; };
    for (const std::int64_t begin : {0, 1}) {
      const std::int64_t count = begin == 0 ? 1 : whole - 1;
      const LossValue one = loss_of(*loss, in_parts.narrow(0, begin, count), target.narrow(0, begin, count));
      for (std::size_t i = 0; i < sums.size(); ++i) {
        const LossMean& mean = one.parts.empty() ? one : one.parts[i];
        const at::Tensor weight =
            mean.weight.defined() ? mean.weight : at::full_like(mean.value.detach(), static_cast<double>(count));
        add(sums[i], mean.value.mul(weight).mul(one.parts.empty() ? 1 : parts[i].factor));
        add(weights[i], weight);
      }
    }
    at::Tensor together;
    for (std::size_t i = 0; i < sums.size(); ++i) add(together, sums[i].div(weights[i]));
    together.backward();
    CHECK(together.item<double>() == Approx(value.item<double>()).epsilon(1e-12));
    CHECK(at::allclose(in_parts.grad(), out.grad(), 1e-12, 1e-15));
  });
}

TEST_CASE("a metric of a group gives each member its solo value") {
  for_all("metric", [](const Options& options, const Trial& trial, bool shared) {
    const Batch first = make_batch(trial, 6, shared, 200), second = make_batch(trial, 4, shared, 300);
    const Head head = head_of(first.out[0], first.target[0], classes_of(trial));
    const auto together = make_metric(options, head, members);
    update(*together, first.group_out, first.group_target, members);
    update(*together, second.group_out, second.group_target, members);
    const std::vector<double> values = together->compute();
    REQUIRE(values.size() == members);
    for (std::size_t m = 0; m < values.size(); ++m) {
      const auto solo = make_metric(options, head);
      update(*solo, first.out[m], first.target[m]);
      update(*solo, second.out[m], second.target[m]);
      CHECK(values[m] == Approx(solo->compute().at(0)).epsilon(1e-12));
    }
    together->reset();
    for (const double value : together->compute()) CHECK(std::isnan(value));
  });
}

namespace {

std::string ignoring(const Entry& entry, std::int64_t mark) {
  return R"({"@": ")" + entry.name + (entry.find("k") ? R"(", "k": 2)" : R"(")") + R"(, "ignore_index": )" +
         std::to_string(mark) + "}";
}

// Every entry of a kind that knows an ignored label, with targets in which the first and the third label of each member
// are `mark`; `check` is called for marks of all sorts. Labels count from 0: without a mark they are below the highest.
template <class F>
void for_all_marks(const std::string& kind, const F& check) {
  std::size_t count = 0;
  for (const Entry* entry : parts_registry().of_kind(kind)) {
    if (!entry->find("ignore_index") || entry->name == "metric.report") continue;
    INFO(entry->name);
    const Trial& trial = trials.at(entry->name);
    for (const std::int64_t mark : {std::int64_t{-1}, std::int64_t{-100}, std::int64_t{255}, std::int64_t{0}}) {
      if (mark == 0 && trial.targets == Targets::bits) continue;
      INFO(mark);
      const Batch batch = make_batch(trial, 6, false, 400);
      for (const at::Tensor& target : batch.target) {
        target.masked_fill_(target.eq(mark), 1);  // a class that is the mark would be ignored elsewhere too
        target.select(0, 0).fill_(mark);
        target.select(0, 2).fill_(mark);
      }
      const Options options = part(ignoring(*entry, mark), kind);
      check(options, trial, batch);
      ++count;
    }
  }
  CHECK(count > 0);
}

at::Tensor kept(const at::Tensor& x) { return x.index_select(0, at::tensor({1, 3, 4, 5})); }

}  // namespace

TEST_CASE("a loss leaves out what is marked, whatever the mark, alone and in a group") {
  for_all_marks("loss", [](const Options& options, const Trial& trial, const Batch& batch) {
    const auto loss = make_loss(options, head_of(batch.out[0], batch.target[0], classes_of(trial)));
    const LossValue together = loss_of(*loss, batch.group_out, at::stack(batch.target), members);
    for (std::int64_t m = 0; m < members; ++m) {
      const auto i = static_cast<std::size_t>(m);
      const at::Tensor out = batch.out[i].clone().requires_grad_(true);
      const LossValue all = loss_of(*loss, out, batch.target[i]);
      CHECK(together.value[m].item<double>() == Approx(all.value.item<double>()).epsilon(1e-12));
      all.value.backward();
      CHECK(out.grad().select(0, 0).abs().max().item<double>() == 0);
      if (trial.targets == Targets::positions) continue;  // the dice of a sample without a label is 1, and counts
      const LossValue some = loss_of(*loss, kept(batch.out[i]), kept(batch.target[i]));
      CHECK(all.value.item<double>() == Approx(some.value.item<double>()).epsilon(1e-12));
    }
  });
}

TEST_CASE("a metric leaves out what is marked, whatever the mark, alone and in a group") {
  for_all_marks("metric", [](const Options& options, const Trial& trial, const Batch& batch) {
    const Head head = head_of(batch.out[0], batch.target[0], classes_of(trial));
    const auto together = make_metric(options, head, members);
    update(*together, batch.group_out, at::stack(batch.target), members);
    const std::vector<double> values = together->compute();
    for (std::size_t m = 0; m < values.size(); ++m) {
      const auto some = make_metric(options, head);
      update(*some, kept(batch.out[m]), kept(batch.target[m]));
      CHECK(values[m] == Approx(some->compute().at(0)).epsilon(1e-12));
    }
    const auto none = make_metric(options, head, members);
    const at::Tensor marked = at::stack(batch.target).fill_(options.integer("ignore_index"));
    update(*none, batch.group_out, marked, members);
    for (const double value : none->compute()) CHECK(std::isnan(value));
  });
}

TEST_CASE("a metric refuses labels that are no class and no mark, alone and in a group") {
  if (!test_device().is_cpu()) return;  // another device would have to be waited for
  for (const Entry* entry : parts_registry().of_kind("metric")) {
    if (!entry->find("ignore_index") || entry->name == "metric.report") continue;
    INFO(entry->name);
    const Trial& trial = trials.at(entry->name);
    const Batch batch = make_batch(trial, 6, false, 500);
    const Head head = head_of(batch.out[0], batch.target[0], classes_of(trial));
    const std::int64_t beyond = classes_of(trial);
    for (const std::int64_t wrong : {std::int64_t{-1}, beyond}) {
      const at::Tensor target = at::stack(batch.target);
      target.select(1, 2).fill_(wrong);
      const Options options = part(ignoring(*entry, -100), "metrics");
      const auto metric = make_metric(options, head, members);
      CHECK_THAT(
          error_of([&] { update(*metric, batch.group_out, target, members); }),
          Catch::Contains("recipe.lua:7: fit.metrics: expected labels from 0 to " + std::to_string(beyond - 1)) &&
              Catch::Contains("found " + std::to_string(wrong)));
      const auto solo = make_metric(options, head);
      CHECK_THAT(error_of([&] { update(*solo, batch.out[0], target[0]); }), Catch::Contains("expected labels"));
    }
  }
}

namespace {

// Targets of a probability for each score.
Head head_of_shares(const at::Tensor& out, const at::Tensor& target) {
  Head head = head_of(out, target, 0);
  head.columns.front().is_shares = true;
  return head;
}

at::Tensor shares(const Shape& shape, std::uint64_t seed) {
  return normal(shape, seed).softmax(shape.size() == 4 ? 1 : -1);
}

}  // namespace

TEST_CASE("probabilities as targets: a group gives each member its solo result") {
  const std::map<std::string, Shape> outputs = {
      {"loss.cross_entropy", {5, 4}}, {"loss.nll", {4}},        {"loss.focal", {4, 2, 3}},     {"loss.hinge", {4}},
      {"loss.dice", {4, 2, 3}},       {"metric.accuracy", {4}}, {"metric.log_loss", {4, 2, 3}}};
  for (const auto& [name, output] : outputs) {
    INFO(name);
    Shape shape{6};
    shape.insert(shape.end(), output.begin(), output.end());
    std::vector<at::Tensor> outs, targets;
    for (std::uint64_t m = 0; m < members; ++m) {
      outs.push_back(normal(shape, 600 + m));
      targets.push_back(shares(shape, 700 + m));
    }
    const Head head = head_of_shares(outs[0], targets[0]);
    const bool is_loss = name.starts_with("loss");
    const Options options = part(R"({"@": ")" + name + "\"}", is_loss ? "loss" : "metrics");
    for (const bool shared : {false, true}) {
      const at::Tensor group_target = shared ? targets[0] : at::stack(targets);
      const auto target = [&](std::size_t m) { return targets[shared ? 0 : m]; };
      if (is_loss) {
        const auto loss = make_loss(options, head);
        const at::Tensor values = loss_of(*loss, at::stack(outs), group_target, members).value;
        for (std::size_t m = 0; m < members; ++m) {
          CHECK(values[static_cast<std::int64_t>(m)].item<double>() ==
                Approx(loss_of(*loss, outs[m], target(m)).value.item<double>()).epsilon(1e-12));
        }
      } else {
        const auto group = make_metric(options, head, members);
        update(*group, at::stack(outs), group_target, members);
        for (std::size_t m = 0; m < members; ++m) {
          const auto solo = make_metric(options, head);
          update(*solo, outs[m], target(m));
          CHECK(group->compute().at(m) == Approx(solo->compute().at(0)).epsilon(1e-12));
        }
      }
    }
  }
}

}  // namespace trainlab::members_test

// The arithmetic of a group of members: what it stores of each.
#include <ATen/ops/arange.h>
#include <ATen/ops/equal.h>

#include <catch2/catch.hpp>

#include "data/dataset.h"
#include "support/fit_support.h"
#include "support/stand_in_device.h"
#include "tensor/memory.h"
#include "train/group.h"

namespace trainlab::group_test {

using namespace test;

namespace {

constexpr std::int64_t member_count = 3;

// Trains nothing. Its first state tensor is shared and has as many values as the group has members.
class SharedState final : public Optimizer {
 public:
  using Optimizer::step;
  void step(std::span<const at::Tensor>, const StepInputs&) override {}
  std::vector<OptimizerTensor> state() override {
    return {{.name = "shared", .tensor = shared_}, {.name = "own", .tensor = own_, .per_member = true}};
  }

 private:
  at::Tensor shared_ = at::arange(member_count, at::kFloat), own_ = at::arange(member_count, at::kFloat).mul_(10);
};

const Registry& registry_with_shared_state() {
  static const Registry registry = [] {
    Registry all;
    register_fits(all);
    all.add(Entry("optim.SharedState", "optimizer", "An optimizer with a state tensor that all members share.")
                .with(Option("lr", "learning rate").number().or_default(0.1)),
            OptimizerKind{[](std::span<const Options>, std::vector<OptimizedParameter>,
                             std::int64_t) -> std::unique_ptr<Optimizer> { return std::make_unique<SharedState>(); }});
    return all;
  }();
  return registry;
}

}  // namespace

TEST_CASE("a state tensor that members share is stored whole, also where its size is their number") {
  std::string text = digits_fit(R"(, "steps": 1)");
  const std::string adamw = R"({"@": "optim.AdamW", "lr": 0.005})";
  text.replace(text.find(adamw), adamw.size(), R"({"@": "optim.SharedState"})");
  const auto spec = std::make_shared<Spec>();
  spec->value = registry_with_shared_state().check(parse_json(text, "test"), "fit");
  const Options options(registry_with_shared_state(), spec, "fit");
  const FitPlan plan = plan_fit(options, test_settings());
  const std::vector<Key> keys(member_count, Key(1));
  const std::vector<Options> optimizers(member_count, options.child("optim"));
  Group group(plan, keys, optimizers, true);

  const NamedTensors stored = group.tensors(2);
  CHECK(at::equal(stored.at("optim.shared"), at::arange(member_count, at::kFloat)));
  CHECK(stored.at("optim.own").item<float>() == 20);
  Group other(plan, keys, optimizers, true);
  NamedTensors changed = stored;
  changed.at("optim.shared") = stored.at("optim.shared").add(5);
  changed.at("optim.own") = stored.at("optim.own").add(5);
  other.restore(1, changed);
  CHECK(at::equal(other.tensors(0).at("optim.shared"), at::arange(member_count, at::kFloat).add(5)));
  CHECK(other.tensors(1).at("optim.own").item<float>() == 25);
  CHECK(other.tensors(2).at("optim.own").item<float>() == 20);
}

TEST_CASE("what a group and a loader allocate is charged to weights, optimizer and batches") {
  if (test_device().is_cuda()) return;  // the allocator of a GPU does not tell what its memory is for
  count_tensor_memory();
  const auto spec = std::make_shared<Spec>();
  spec->value = registry_with_shared_state().check(parse_json(digits_fit(R"(, "steps": 1)"), "test"), "fit");
  const Options options(registry_with_shared_state(), spec, "fit");
  const FitPlan plan = plan_fit(options, {});
  const TensorMemory before = tensor_memory();
  const auto more = [&](MemoryUse use) { return tensor_memory().of(use) - before.of(use); };
  const std::vector<Key> keys(member_count, Key(1));
  const std::vector<Options> optimizers(member_count, options.child("optim"));
  const Group group(plan, keys, optimizers, true);
  Loader loader(plan.data.train, plan.loader, keys, true);
  const Batch batch = loader.next();

  const std::int64_t weights = plan.parameter_count() * member_count * 4;
  CHECK(more(MemoryUse::weights) >= weights);
  CHECK(more(MemoryUse::weights) < 2 * weights);
  CHECK(more(MemoryUse::optimizer) >= 2 * weights);  // both moments of AdamW
  CHECK(more(MemoryUse::optimizer) < 3 * weights);
  CHECK(more(MemoryUse::batches) >= static_cast<std::int64_t>(batch.columns.front().nbytes()));
}

TEST_CASE("gradients and the optimizer's state are expected of the parameters that train") {
  const auto estimate = [](const char* more) {
    const std::string fit = digits_fit(R"(, "epochs": 1)" + std::string(more));
    return estimate_memory(plan_fit(parse_options(fit), test_settings()));
  };
  const MemoryEstimate whole = estimate(""), head = estimate(R"(, "freeze": ["2.*"])");
  CHECK(whole.gradients == whole.weights);
  CHECK(whole.optimizer == Approx(2 * whole.weights));  // both moments of AdamW
  CHECK(head.weights == whole.weights);
  CHECK(head.gradients == 4 * (24 * 10 + 10));
  CHECK(head.optimizer == Approx(2 * head.gradients));
}

}  // namespace trainlab::group_test

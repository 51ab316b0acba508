// The figures that the watch of a stack reads of its members.
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "support/fit_support.h"
#include "watch/stack_watch.h"

namespace trainlab::stack_watch_test {

using namespace test;

namespace {

std::size_t measured_updates(HealthWatch& member) {
  return (*member.part().state())["figures"]["measured"]["median_update"].list().size();
}

constexpr int steps = 300;

// A stack of two members whose weights are all 1.
struct TwoMembers {
  const FitPlan plan = plan_fit(parse_options(digits_fit(R"(, "steps": 300)")), cpu_settings());
  std::vector<std::shared_ptr<HealthWatch>> members{watch(), watch()};
  StackWatch stack{plan, members};
  std::vector<at::Tensor> weights = ones();

 private:
  std::shared_ptr<HealthWatch> watch() const {
    return std::make_shared<HealthWatch>(plan, RunFacts{.total_steps = steps}, nullptr);
  }
  std::vector<at::Tensor> ones() const {
    std::vector<at::Tensor> all;
    for (const ParameterInfo& one : plan.model->parameters()) {
      Shape shape = one.shape;
      shape.insert(shape.begin(), 2);
      all.push_back(at::ones(shape));
    }
    return all;
  }
};

}  // namespace

TEST_CASE("a member of a stack that has stopped has no updates of 0, which would look like a rate that is too low") {
  constexpr int end_of_second = 80;
  TwoMembers two;
  auto& [plan, members, stack, weights] = two;
  const std::vector<std::size_t> places{0, 1};
  std::size_t updates_at_end = 0;
  stack.started(0, 2);
  for (int step = 0; step < steps; ++step) {
    const bool second_trains = step < end_of_second;
    const std::vector<std::uint8_t> active{1, second_trains};
    stack.apply({}, {.step = step,
                     .members = 2,
                     .loss = at::full({2}, 2.3 - 0.005 * step),
                     .active = active,
                     .places = places,
                     .weights = weights});
    for (at::Tensor& weight : weights) {
      weight.select(0, 0).mul_(0.99);
      if (second_trains) weight.select(0, 1).mul_(0.99);
    }
    if (step == end_of_second) updates_at_end = measured_updates(*members[1]);
  }
  CHECK(updates_at_end > 8);
  CHECK(measured_updates(*members[1]) == updates_at_end);
  CHECK(measured_updates(*members[0]) > updates_at_end + 8);
  for (const auto& member : members) {
    Value summary;
    member->add_to(summary);
    CHECK(to_json(summary["health"]) == "[]");
  }
}

TEST_CASE("weights of a member that began at 0 tell nothing of the rate") {
  TwoMembers two;
  auto& [plan, members, stack, weights] = two;
  for (at::Tensor& weight : weights) weight.select(0, 1).zero_();
  const std::vector<std::size_t> places{0, 1};
  const std::vector<std::uint8_t> active{1, 1};
  stack.started(0, 2);
  for (int step = 0; step < steps; ++step) {
    stack.apply({}, {.step = step,
                     .members = 2,
                     .loss = at::full({2}, 2.3),
                     .active = active,
                     .places = places,
                     .weights = weights});
    for (at::Tensor& weight : weights) weight.add_(1e-6);
  }
  // The updates of the first member are 1e-6 of its weights. Those of the second are as small, and 1, 1/2, 1/3 … of it.
  std::vector<std::string> kinds;
  for (const auto& member : members) {
    Value summary;
    member->add_to(summary);
    for (const Value& verdict : summary["health"].list()) kinds.push_back(verdict["kind"].string());
  }
  CHECK(measured_updates(*members[0]) > 8);
  CHECK(std::ranges::count(kinds, "rate_too_high") == 0);
}

}  // namespace trainlab::stack_watch_test

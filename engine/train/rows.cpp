#include "rows.h"

#include <algorithm>
#include <stdexcept>

#include "train/group.h"
#include "train/own_step.h"

namespace trainlab {

std::size_t row_count(std::span<const FitMember> members, bool axis) {
  return axis ? std::max<std::size_t>(members.size(), 2) : members.size();
}

std::vector<Key> row_keys(std::span<const FitMember> members, const FitPlan& plan, bool axis) {
  std::vector<Key> keys;
  for (const FitMember& member : members) {
    const std::int64_t seed = member.options.given("seed") ? member.options.integer("seed") : plan.seed;
    keys.emplace_back(static_cast<std::uint64_t>(seed));
  }
  keys.resize(row_count(members, axis), keys.back());
  return keys;
}

namespace {

// The entry that each row gives for an option; empty where no row gives one.
std::vector<Options> row_specs(std::span<const FitMember> members, const char* option, bool axis) {
  std::vector<Options> specs;
  for (const FitMember& member : members)
    if (member.options.given(option)) specs.push_back(member.options.child(option));
  if (specs.empty()) return specs;
  if (specs.size() != members.size())
    throw std::logic_error(std::string("members of a group differ in whether they have the option ") + option);
  specs.resize(row_count(members, axis), specs.back());
  return specs;
}

// Probabilities of dropping of each row, where members have other ones than the model of the plan.
DropRates row_drops(std::span<const FitMember> members, const FitPlan& plan, bool axis) {
  DropRates rates;
  const auto differs = [&](const FitMember& one) { return one.options.get("model") != plan.options.get("model"); };
  if (std::ranges::none_of(members, differs)) return rates;
  for (const FitMember& member : members) {
    const Model own(member.options.child("model"), plan.model->signals());
    for (const auto& [key, p] : own.drops()) rates[key].push_back(p);
  }
  for (auto& [key, row] : rates) row.resize(row_count(members, axis), row.back());
  return rates;
}

void begin_with_optimizer(Group& group, const FitPlan& plan) {
  try {
    group.take_optimizer(plan.initial_optimizer);
  } catch (const Error& error) {
    throw plan.options.child("init")
        .error("optimizer", "the earlier run's state of the optimizer does not fit: " + error.message())
        .hint("with optimizer = false the optimizer begins anew");
  }
}

}  // namespace

std::unique_ptr<Trained> make_trained(const FitPlan& plan, std::span<const FitMember> members, bool axis,
                                      const FitCompany& company, const std::vector<std::size_t>& places) {
  const std::vector<Key> keys = row_keys(members, plan, axis);
  if (!plan.step) {
    auto group = std::make_unique<Group>(plan, keys, row_specs(members, "optim", axis), axis,
                                         row_specs(members, "ema", axis), row_drops(members, plan, axis));
    group->add_passes(company.passes, places);
    if (!plan.initial_optimizer.empty()) begin_with_optimizer(*group, plan);
    return group;
  }
  if (!company.passes.empty()) {
    throw plan.options.error("step", "expected a fit without a step of its own, because gradient passes were given")
        .hint("a fit with `step` handles its gradients itself");
  }
  if (axis || members.size() > 1) throw std::logic_error("a step of its own trains one member");
  return std::make_unique<OwnStep>(plan, keys.front());
}

}  // namespace trainlab

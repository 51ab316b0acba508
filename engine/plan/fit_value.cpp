#include <algorithm>
#include <array>
#include <utility>

#include "core/statistics.h"
#include "plan/fit.h"

namespace trainlab {

namespace {

using Constant = std::pair<const char*, double (*)(const Law&)>;
constexpr std::array<Constant, 6> constants = {
    {{"E", [](const Law& law) { return law.e; }},
     {"A", [](const Law& law) { return law.a; }},
     {"B", [](const Law& law) { return law.b; }},
     {"alpha", [](const Law& law) { return law.alpha; }},
     {"beta", [](const Law& law) { return law.beta; }},
     {"exponent", [](const Law& law) { return law.beta / (law.alpha + law.beta); }}}};

Value constants_of(const Law& law) {
  Value value;
  for (const auto& [name, of] : constants) value.set(name, of(law));
  return value;
}

}  // namespace

std::vector<FittedConstant> fitted_constants(const LawFit& fit) {
  std::vector<FittedConstant> all;
  for (const auto& [name, of] : constants) {
    std::vector<double> numbers;
    for (const Law& law : fit.samples) numbers.push_back(of(law));
    std::ranges::sort(numbers);
    all.push_back({.name = name,
                   .value = of(fit.law),
                   .low = linear_quantile(numbers, 0.1),
                   .high = linear_quantile(numbers, 0.9)});
  }
  return all;
}

Value to_value(const LawFit& fit) {
  Value::List samples;
  for (const Law& law : fit.samples) samples.push_back(constants_of(law));
  Value intervals;
  for (const FittedConstant& one : fitted_constants(fit)) intervals.set(one.name, Value::List{one.low, one.high});
  return Value::Map{{"kind", "plan_fit"},
                    {"law", constants_of(fit.law)},
                    {"intervals", std::move(intervals)},
                    {"runs", static_cast<std::int64_t>(fit.runs)},
                    {"objective", fit.objective},
                    {"deviation", fit.deviation},
                    {"least_flops", fit.flops.least},
                    {"most_flops", fit.flops.most},
                    {"least_parameters", fit.parameters.least},
                    {"most_parameters", fit.parameters.most},
                    {"least_tokens", fit.tokens.least},
                    {"most_tokens", fit.tokens.most},
                    {"drift", fit.drift ? Value(*fit.drift) : Value()},
                    {"samples", std::move(samples)}};
}

}  // namespace trainlab

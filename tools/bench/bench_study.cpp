// Ask and tell without training: the time of samplers. Prints one JSON object of seconds by row.
#include <cmath>
#include <cstdio>

#include "core/clock.h"
#include "study/study.h"

using namespace trainlab;

namespace {

double seconds(const char* sampler, int parameters, std::int64_t trials) {
  Registry registry;
  register_samplers(registry);
  std::vector<SpaceParameter> all;
  for (int i = 0; i < parameters; ++i) {
    SpaceParameter p;
    p.name = "x" + std::to_string(i);
    p.low = -5;
    p.high = 5;
    all.push_back(std::move(p));
  }
  const Space space(std::move(all));
  const auto spec = std::make_shared<const Spec>(Spec{registry.check(Value::Map{{"@", sampler}}), {}});
  Study study(space, make_sampler(Options(registry, spec, ""), space, 1, 1), {});
  const double begin = steady_seconds();
  for (std::int64_t t = 0; t < trials; ++t) {
    const std::int64_t trial = *study.ask().trial;
    double sum = 0;
    for (const double x : study.trials().point(trial)) sum += x * x;
    study.tell(trial, {sum});
  }
  return steady_seconds() - begin;
}

}  // namespace

int main() {
  struct Row {
    const char *name, *sampler;
    int parameters;
    std::int64_t trials;
  };
  constexpr Row rows[] = {{"random 2 × 10000", "sampler.random", 2, 10'000},
                          {"random 2 × 100000", "sampler.random", 2, 100'000},
                          {"random 1000 × 10", "sampler.random", 1000, 10},
                          {"sobol 2 × 10000", "sampler.sobol", 2, 10'000},
                          {"tpe 2 × 1000", "sampler.tpe", 2, 1000},
                          {"tpe 40 × 1000", "sampler.tpe", 40, 1000},
                          {"gp 4 × 100", "sampler.gp", 4, 100},
                          {"cma_es 10 × 10000", "sampler.cma_es", 10, 10'000}};
  const char* before = "{";
  for (const Row& row : rows) {
    std::printf("%s\"%s\": %.6f", before, row.name, seconds(row.sampler, row.parameters, row.trials));
    before = ", ";
  }
  std::printf("}\n");
  return 0;
}

// Ask and tell without training: the time of samplers. Prints one JSON object of seconds by row.
#include <unistd.h>

#include <array>
#include <cmath>
#include <cstdio>
#include <filesystem>

#include "core/clock.h"
#include "study/shared_study.h"
#include "study/study.h"

using namespace trainlab;

namespace {

double seconds(const char* sampler, int parameters, std::int64_t trials, std::size_t objectives) {
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
  Study study(space, make_sampler(Options(registry, spec, ""), space, 1, objectives),
              {.maximize = std::vector<bool>(objectives)});
  const double begin = steady_seconds();
  for (std::int64_t t = 0; t < trials; ++t) {
    const std::int64_t trial = *study.ask().trial;
    double sum = 0;
    for (const double x : study.trials().point(trial)) sum += x * x;
    const std::array values = {sum, std::abs(study.trials().point(trial)[0] - 1)};
    study.tell(trial, std::span(values).first(objectives));
  }
  return steady_seconds() - begin;
}

// Ask, tell and their transactions in a SQLite file in the current folder.
double stored_seconds(std::int64_t trials) {
  SpaceParameter x, y;
  x.name = "x";
  y.name = "y";
  x.high = y.high = 1;
  const Space space({x, y});
  Registry registry;
  register_samplers(registry);
  const auto spec = std::make_shared<const Spec>(Spec{registry.check(Value::Map{{"@", "sampler.random"}}), {}});
  const std::filesystem::path folder = std::filesystem::current_path() / ("bench_study-" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder);
  double seconds = 0;
  {
    const double begin = steady_seconds();
    auto storage = sqlite_storage(folder / "study.db");
    storage->open(space.to_value());
    SharedStudy study(std::move(storage), Study(space, make_sampler(Options(registry, spec, ""), space, 1, 1), {}),
                      {.name = "bench", .supervisor = "bench", .expires = 0});
    while (const auto lease = study.ask(0, 1000, trials).lease)
      study.end(*lease, TrialState::complete, std::array{0.5}, {});
    seconds = steady_seconds() - begin;
  }
  std::filesystem::remove_all(folder);
  return seconds;
}

}  // namespace

int main() {
  struct Row {
    const char *name, *sampler;
    int parameters;
    std::int64_t trials;
    std::size_t objectives = 1;
  };
  constexpr Row rows[] = {{"random 2 × 10000", "sampler.random", 2, 10'000},
                          {"random 2 × 100000", "sampler.random", 2, 100'000},
                          {"random 1000 × 10", "sampler.random", 1000, 10},
                          {"sobol 2 × 10000", "sampler.sobol", 2, 10'000},
                          {"tpe 2 × 1000", "sampler.tpe", 2, 1000},
                          {"tpe 40 × 1000", "sampler.tpe", 40, 1000},
                          {"gp 4 × 100", "sampler.gp", 4, 100},
                          {"cma_es 10 × 10000", "sampler.cma_es", 10, 10'000},
                          {"tpe 2 × 1000, two objectives", "sampler.tpe", 2, 1000, 2},
                          {"nsga2 2 × 10000, two objectives", "sampler.nsga2", 2, 10'000, 2}};
  const char* before = "{";
  for (const Row& row : rows) {
    std::printf("%s\"%s\": %.6f", before, row.name, seconds(row.sampler, row.parameters, row.trials, row.objectives));
    before = ", ";
  }
  std::printf(", \"random 2 × 1000, SQLite\": %.6f}\n", stored_seconds(1000));
  return 0;
}

// Ask and tell without training: the time of samplers. Prints one JSON object of seconds by row.
//
//   bench_study [ROW…]     all rows unless named; peers/study.py has rows of the same names.
//
// Rows of PostgreSQL are there when TRAINLAB_STORAGE in the environment is the URL of a database.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>

#include "core/callable.h"
#include "core/clock.h"
#include "study/place.h"
#include "study/shared_study.h"
#include "study/study.h"

using namespace trainlab;

namespace {

struct Row {
  const char *name, *sampler;
  int parameters;
  std::int64_t trials;
  std::size_t objectives = 1;
  std::int64_t before = 0;  // trials that are not timed
};

double seconds(const Row& row) {
  Registry registry;
  register_study(registry);
  std::vector<SpaceParameter> all;
  for (int i = 0; i < row.parameters; ++i) {
    SpaceParameter p;
    p.name = "x" + std::to_string(i);
    p.low = -5;
    p.high = 5;
    all.push_back(std::move(p));
  }
  const Space space(std::move(all));
  Value::Map entry = {{"@", row.sampler}};
  if (std::strcmp(row.sampler, "sampler.grid") == 0) entry.emplace("points", 400);
  const auto spec = std::make_shared<const Spec>(Spec{registry.check(entry), {}});
  Study study(space, make_sampler(Options(registry, spec, ""), space, 1, row.objectives),
              {.maximize = std::vector<bool>(row.objectives)});
  double begin = steady_seconds();
  for (std::int64_t t = 0; t < row.before + row.trials; ++t) {
    if (t == row.before) begin = steady_seconds();
    const std::int64_t trial = *study.ask().trial;
    double sum = 0;
    for (const double x : study.trials().point(trial)) sum += x * x;
    const std::array values = {sum, std::abs(study.trials().point(trial)[0] - 1)};
    study.tell(trial, std::span(values).first(row.objectives));
  }
  return steady_seconds() - begin;
}

// Ask, tell and their transactions, by `processes` processes that start together.
double stored_seconds(const StudyPlace& place, std::int64_t trials, int processes) {
  SpaceParameter x, y;
  x.name = "x";
  y.name = "y";
  x.high = y.high = 1;
  const Space space({x, y});
  Registry registry;
  register_study(registry);
  const auto spec = std::make_shared<const Spec>(Spec{registry.check(Value::Map{{"@", "sampler.random"}}), {}});
  const auto work = [&] {
    auto storage = place.open();
    storage->open(space.to_value());
    SharedStudy study(std::move(storage), Study(space, make_sampler(Options(registry, spec, ""), space, 1, 1), {}),
                      {.name = "bench", .supervisor = "bench", .expires = 0});
    while (const auto lease = study.ask(0, 1000, trials).lease) study.end({{*lease, TrialState::complete, {0.5}}});
  };
  const double begin = steady_seconds();
  std::fflush(nullptr);
  for (int other = 1; other < processes; ++other) {
    if (::fork() > 0) continue;
    work();
    ::_exit(0);
  }
  work();
  while (::wait(nullptr) > 0) {
  }
  return steady_seconds() - begin;
}

// In a SQLite file in the current folder.
double sqlite_seconds(std::int64_t trials, int processes) {
  const std::filesystem::path folder = std::filesystem::current_path() / ("bench_study-" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder);
  const double seconds = stored_seconds(StudyPlace(folder / "study.db"), trials, processes);
  std::filesystem::remove_all(folder);
  return seconds;
}

// In a new study of the database.
double postgresql_seconds(const char* url, std::int64_t trials, int processes) {
  const Database database(url);
  return stored_seconds(StudyPlace(database, database.make_next("bench")), trials, processes);
}

}  // namespace

int main(int argc, char** argv) {
  constexpr Row rows[] = {{"random 2 × 10000", "sampler.random", 2, 10'000},
                          {"random 2, after 90000: 10000", "sampler.random", 2, 10'000, 1, 90'000},
                          {"grid 2 × 10000", "sampler.grid", 2, 10'000},
                          {"grid 2, after 90000: 10000", "sampler.grid", 2, 10'000, 1, 90'000},
                          {"sobol 2 × 10000", "sampler.sobol", 2, 10'000},
                          {"sobol 2, after 90000: 10000", "sampler.sobol", 2, 10'000, 1, 90'000},
                          {"halton 2 × 10000", "sampler.halton", 2, 10'000},
                          {"halton 2, after 90000: 10000", "sampler.halton", 2, 10'000, 1, 90'000},
                          {"random 1000 × 10", "sampler.random", 1000, 10},
                          {"tpe 2 × 1000", "sampler.tpe", 2, 1000},
                          {"tpe 40 × 1000", "sampler.tpe", 40, 1000},
                          {"tpe 2 × 1000, two objectives", "sampler.tpe", 2, 1000, 2},
                          {"cma_es 10 × 10000", "sampler.cma_es", 10, 10'000},
                          {"nsga2 2 × 10000, two objectives", "sampler.nsga2", 2, 10'000, 2},
                          {"gp 4 × 100", "sampler.gp", 4, 100}};
  constexpr std::int64_t stored_trials = 1000;
  const char* const url = std::getenv("TRAINLAB_STORAGE");
  const auto wanted = [&](const char* name) {
    return argc == 1 ||
           std::any_of(argv + 1, argv + argc, [&](const char* one) { return std::strcmp(one, name) == 0; });
  };
  const char* before = "{";
  const auto print = [&](const char* name, double value) {
    std::printf("%s\"%s\": %.6f", before, name, value);
    before = ", ";
  };
  for (const Row& row : rows) {
    if (wanted(row.name)) print(row.name, seconds(row));
  }
  for (const int processes : {1, 8, 32}) {
    const std::string with = processes == 1 ? "" : ", " + std::to_string(processes) + " processes";
    const std::string file = "random 2 × 1000, SQLite" + with, database = "random 2 × 1000, PostgreSQL" + with;
    if (wanted(file.c_str())) print(file.c_str(), sqlite_seconds(stored_trials, processes));
    if (url && wanted(database.c_str())) print(database.c_str(), postgresql_seconds(url, stored_trials, processes));
  }
  std::printf("}\n");
  return 0;
}

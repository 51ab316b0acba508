// How good the points are that samplers find on functions with known optima.
//
//   bench_quality probe                             the functions' values at their probe points
//   bench_quality FUNCTION SAMPLER TRIALS SEEDS     the best value after TRIALS trials, for seeds 0 … SEEDS − 1
//
// Prints JSON. With several objectives the value is minus the dominated volume.
#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "core/callable.h"
#include "study/study.h"
#include "test_functions.h"

using namespace trainlab;

namespace {

double best(const TestFunction& function, const std::string& sampler, std::int64_t trials, std::int64_t seed) {
  Registry registry;
  register_study(registry);
  const auto spec = std::make_shared<const Spec>(Spec{registry.check(Value::Map{{"@", "sampler." + sampler}}), {}});
  const std::size_t objectives = std::max<std::size_t>(function.reference.size(), 1);
  Study study(function.space, make_sampler(Options(registry, spec, ""), function.space, seed, objectives),
              {.maximize = std::vector<bool>(objectives)});
  std::vector<std::vector<double>> points;
  for (std::int64_t t = 0; t < trials; ++t) {
    const std::int64_t trial = *study.ask().trial;
    const std::vector<double> values = function.value(study.trials().point(trial));
    study.tell(trial, values);
    points.push_back(values);
  }
  return objectives > 1 ? -dominated_volume(std::move(points), function.reference)
                        : study.trials().value(*study.best());
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<TestFunction> functions = test_functions();
  const char* before = "";
  if (argc == 2 && std::string(argv[1]) == "probe") {
    std::printf("{");
    for (const TestFunction& function : functions) {
      const std::vector<double> values = function.value(function.space.point(Value(function.probe)));
      std::printf("%s\"%s\": [%.17g", before, function.name.c_str(), values[0]);
      for (std::size_t k = 1; k < values.size(); ++k) std::printf(", %.17g", values[k]);
      std::printf("]");
      before = ", ";
    }
    std::printf("}\n");
    return 0;
  }
  if (argc != 5) {
    std::fprintf(stderr, "bench_quality: expected FUNCTION SAMPLER TRIALS SEEDS, or probe\n");
    return 2;
  }
  const auto function =
      std::find_if(functions.begin(), functions.end(), [&](const TestFunction& one) { return one.name == argv[1]; });
  if (function == functions.end()) {
    std::fprintf(stderr, "bench_quality: there is no function %s\n", argv[1]);
    return 2;
  }
  std::printf("[");
  for (std::int64_t seed = 0; seed < std::atoll(argv[4]); ++seed) {
    std::printf("%s%.17g", before, best(*function, argv[2], std::atoll(argv[3]), seed));
    before = ", ";
  }
  std::printf("]\n");
  return 0;
}

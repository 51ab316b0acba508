// Batches of MNIST from the loader, one worker, converted to float32.
//
//   bench_loader MNIST-FOLDER        prints {"us_per_batch"}: the median of ten epochs
#include <cstdio>
#include <utility>

#include "core/clock.h"
#include "core/statistics.h"
#include "data/loader.h"
#include "support/fit_support.h"

using namespace trainlab;

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: bench_loader MNIST-FOLDER\n");
    return 2;
  }
  prepare_arithmetic(1);
  const Options data = test::parse_options(R"({"@": "data.mnist", "path": ")" + std::string(argv[1]) + "\"}");
  Loader loader(open_data(data, {}).train, {.batch = 64}, {Key(1)}, false);
  std::vector<double> times;
  for (int epoch = 0; epoch < 11; ++epoch) {
    const double begin = steady_seconds();
    for (std::int64_t i = 0; i < loader.batches_per_epoch(); ++i) loader.next();
    times.push_back((steady_seconds() - begin) / static_cast<double>(loader.batches_per_epoch()) * 1e6);
  }
  times.erase(times.begin());  // the first epoch touches its memory for the first time
  std::printf("{\"us_per_batch\": %.3f}\n", upper_median(std::move(times)));
  return 0;
}

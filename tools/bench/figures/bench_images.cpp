// Batches of CIFAR-10's JPEG files from the loader, with padded crop and flip, and from the packed cache.
//
//   bench_images ARCHIVE THREADS PACK [IMAGES]     prints {"decode_us", "packed_us"} for each image: medians of the
//                                                  epochs after the first; PACK: where the cache is written
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "core/clock.h"
#include "core/statistics.h"
#include "data/loader.h"
#include "support/fit_support.h"

using namespace trainlab;

namespace {

double us_per_image(const std::string& source, const std::string& images, int threads) {
  const std::string spec = R"({"@": "data:augment", "entries": [{"@": "augment.crop"}, {"@": "augment.flip"}],
      "source": {"@": "data:take", "n": )" +
                           images + R"(, "source": )" + source + "}}";
  const DataParts parts = open_data(test::parse_options(spec), {});
  Loader loader(parts.train, {.batch = 128, .threads = threads}, {Key(1)}, false);
  std::vector<double> times;
  for (int epoch = 0; epoch < 4; ++epoch) {
    const double begin = steady_seconds();
    for (std::int64_t i = 0; i < loader.batches_per_epoch(); ++i) loader.next();
    times.push_back((steady_seconds() - begin) / static_cast<double>(parts.train.size()) * 1e6);
  }
  times.erase(times.begin());  // the first epoch reads the file
  return upper_median(std::move(times));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) {
    std::fprintf(stderr, "usage: bench_images ARCHIVE THREADS PACK [IMAGES]\n");
    return 2;
  }
  prepare_arithmetic(1);
  const int threads = std::atoi(argv[2]);
  const std::string images = argc > 4 ? argv[4] : "20000";
  const std::string files = R"({"@": "data.images", "path": ")" + std::string(argv[1]) + "\"}";
  const std::string packed =
      R"({"@": "data:pack", "path": ")" + std::string(argv[3]) + R"(", "source": )" + files + "}";
  const double decode = us_per_image(files, images, threads);
  std::printf("{\"decode_us\": %.3f, \"packed_us\": %.3f}\n", decode, us_per_image(packed, images, threads));
  return 0;
}

// Times of products by type: kept, and measured anew for another machine.
#include <ATen/Parallel.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "machine/product_times.h"
#include "support/temporary_folder.h"

namespace trainlab::product_times_test {

using namespace test;
namespace fs = std::filesystem;

TEST_CASE("times of products are measured once for a machine, and again when the file is damaged") {
  const TemporaryFolder temporary;
  const fs::path folder = temporary.path() / "cache" / "trainlab";
  int measurements = 0;
  std::string processor = "a processor";
  const auto ratio = [&](at::ScalarType type) {
    return relative_product_time(type, {.folder = folder,
                                        .fingerprint =
                                            [&] {
                                              return Value::Map{{"cpu", processor}};
                                            },
                                        .measure =
                                            [&] {
                                              ++measurements;
                                              return ProductTimes{{"float32", 2}, {"bfloat16", 1}, {"float16", 60}};
                                            }});
  };
  CHECK(ratio(at::kBFloat16) == 0.5);
  CHECK(ratio(at::kHalf) == 30);
  CHECK(measurements == 1);
  processor = "another";
  CHECK(ratio(at::kHalf) == 30);
  CHECK(measurements == 2);
  std::ofstream(folder / "products.json") << "{";
  CHECK(ratio(at::kBFloat16) == 0.5);
  CHECK(measurements == 3);
  CHECK(ratio(at::kBFloat16) == 0.5);
  CHECK(measurements == 3);
}

TEST_CASE("this machine's products are timed, and the number of threads is what it was") {
  at::set_num_threads(1);
  const ProductTimes times = measure_products();
  CHECK(at::get_num_threads() == 1);
  for (const char* type : {"float32", "bfloat16", "float16"}) CHECK(times.at(type) > 0);
}

TEST_CASE("a limit of the instructions makes another machine") {
  const Value before = product_fingerprint();
  setenv("ONEDNN_MAX_CPU_ISA", "AVX2", 1);
  CHECK_FALSE(product_fingerprint() == before);
  unsetenv("ONEDNN_MAX_CPU_ISA");
  CHECK(product_fingerprint() == before);
}

}  // namespace trainlab::product_times_test

// Resident memory of a fit on digits after 5 and after 50 epochs.
//
//   bench_memory        prints {"early_mb", "late_mb"}
#include <unistd.h>

#include <cstdio>
#include <fstream>

#include "objects/run_handle.h"
#include "support/fit_support.h"

using namespace trainlab;

namespace {

double resident_mb() {
  std::ifstream status("/proc/self/statm");
  double total = 0, resident = 0;
  status >> total >> resident;
  return resident * static_cast<double>(sysconf(_SC_PAGESIZE)) / (1 << 20);
}

}  // namespace

int main() {
  double early = 0, late = 0;
  const auto after_epoch = test::native([&](std::span<const Argument> arguments) -> std::vector<Argument> {
    const auto run = std::dynamic_pointer_cast<RunHandle>(std::get<std::shared_ptr<Object>>(arguments[0]));
    if (run->epoch() == 5) early = resident_mb();
    if (run->epoch() == 50) late = resident_mb();
    return {};
  });
  const test::TemporaryFolder folder;
  test::run_one(
      test::parse_options(test::digits_fit(R"(, "epochs": 50, "on": {"epoch": {"@": "function", "index": 0}})"),
                          {after_epoch}),
      folder.path());
  std::printf("{\"early_mb\": %.2f, \"late_mb\": %.2f}\n", early, late);
  return 0;
}

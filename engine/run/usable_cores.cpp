#include <sched.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <string>
#include <thread>

#include "run/run.h"

namespace trainlab {

namespace {

// Cores that the affinity mask allows; the mask may be larger than cpu_set_t on large machines.
int allowed_cores() {
  for (int bits = 1024; bits <= 1 << 16; bits *= 4) {
    cpu_set_t* set = CPU_ALLOC(bits);
    const std::size_t size = CPU_ALLOC_SIZE(bits);
    const int result = sched_getaffinity(0, size, set);
    const int count = CPU_COUNT_S(size, set);
    CPU_FREE(set);
    if (result == 0) return count;
  }
  return static_cast<int>(std::thread::hardware_concurrency());
}

// Cores' worth of time that the control group of a container grants, 0 where there is no limit.
double quota_cores() {
  std::ifstream limit("/sys/fs/cgroup/cpu.max");  // version 2: "QUOTA PERIOD" or "max PERIOD"
  std::string quota;
  double period = 0;
  if (limit >> quota >> period && quota != "max" && period > 0) return std::stod(quota) / period;
  return 0;
}

}  // namespace

int usable_cores() {
  static const int cores = [] {
    int count = std::max(1, allowed_cores());
    if (const double quota = quota_cores(); quota > 0) count = std::min(count, static_cast<int>(std::ceil(quota)));
    return std::max(1, count);
  }();
  return cores;
}

}  // namespace trainlab

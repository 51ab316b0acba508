#include <sched.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "allowed_cores.h"
#include "run/run.h"

namespace trainlab {

std::vector<int> allowed_cores() {
  std::vector<int> cores;
  // The mask may be larger than cpu_set_t on large machines.
  for (int bits = 1024; bits <= 1 << 16; bits *= 4) {
    cpu_set_t* set = CPU_ALLOC(bits);
    const std::size_t size = CPU_ALLOC_SIZE(bits);
    const int result = sched_getaffinity(0, size, set);
    for (int core = 0; result == 0 && core < bits; ++core)
      if (CPU_ISSET_S(core, size, set)) cores.push_back(core);
    CPU_FREE(set);
    if (result == 0) return cores;
  }
  for (unsigned core = 0; core < std::thread::hardware_concurrency(); ++core) cores.push_back(static_cast<int>(core));
  return cores;
}

namespace {

// Cores' worth of time that the control group of a container grants, 0 where there is no limit.
double quota_cores() {
  std::ifstream limit("/sys/fs/cgroup/cpu.max");  // version 2: "QUOTA PERIOD" or "max PERIOD"
  double quota = 0, period = 0;
  return limit >> quota >> period && period > 0 ? quota / period : 0;
}

}  // namespace

int usable_cores() {
  static const int cores = [] {
    int count = std::max(1, static_cast<int>(allowed_cores().size()));
    if (const double quota = quota_cores(); quota > 0) count = std::min(count, static_cast<int>(std::ceil(quota)));
    return std::max(1, count);
  }();
  return cores;
}

}  // namespace trainlab

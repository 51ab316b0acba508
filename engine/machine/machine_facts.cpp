#include "machine_facts.h"

#include <sys/utsname.h>
#include <torch/headeronly/version.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "run/run.h"

namespace trainlab {
namespace {

std::string first_line(const char* path) {
  std::ifstream in(path);
  std::string line;
  std::getline(in, line);
  return line;
}

std::string cpu_model() {
  std::ifstream in("/proc/cpuinfo");
  for (std::string line; std::getline(in, line);) {
    const std::size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  utsname system{};
  return uname(&system) == 0 ? system.machine : "unknown";
}

}  // namespace

Roofline machine_facts() {
  Roofline machine;
  machine.cpu = cpu_model();
  machine.governor = first_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
  machine.torch = TORCH_VERSION;
  machine.cores = usable_cores();
  machine.cache_bytes = std::max({sysconf(_SC_LEVEL2_CACHE_SIZE), sysconf(_SC_LEVEL3_CACHE_SIZE), 0L});
  return machine;
}

Value machine_fingerprint() {
  const Roofline facts = machine_facts();
  return Value::Map{{"cpu", facts.cpu}, {"governor", facts.governor}, {"torch", facts.torch}, {"cores", facts.cores}};
}

}  // namespace trainlab

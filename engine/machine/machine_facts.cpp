#include "machine_facts.h"

#include <torch/headeronly/version.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "core/host.h"
#include "run/run.h"

namespace trainlab {
namespace {

std::string first_line(const char* path) {
  std::ifstream in(path);
  std::string line;
  std::getline(in, line);
  return line;
}

}  // namespace

Roofline machine_facts() {
  Roofline machine;
  machine.cpu = processor_name();
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

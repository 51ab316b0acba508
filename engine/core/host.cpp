#include "core/host.h"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdlib>

namespace trainlab {

std::string host_name() {
  std::array<char, HOST_NAME_MAX + 1> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 && name[0] != 0 ? name.data() : "localhost";
}

std::string this_process() { return host_name() + ":" + std::to_string(::getpid()); }

bool has_died(const std::string& process) {
  const auto colon = process.rfind(':');
  if (colon == std::string::npos || process.substr(0, colon) != host_name()) return false;
  const int pid = std::atoi(process.c_str() + colon + 1);
  return pid > 0 && ::kill(pid, 0) != 0 && errno == ESRCH;
}

}  // namespace trainlab

#include "core/host.h"

#include <sys/stat.h>
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

namespace {

// Numbers of processes mean nothing in another container, even where it has the same host's name.
std::string process_space() {
  struct stat status{};
  return ::stat("/proc/self/ns/pid", &status) == 0 ? std::to_string(status.st_ino) : "";
}

std::string prefix() { return host_name() + "/" + process_space(); }

}  // namespace

std::string this_process() { return prefix() + ":" + std::to_string(::getpid()); }

std::string host_of(const std::string& process) { return process.substr(0, process.find_first_of("/:")); }

bool has_died(const std::string& process) {
  const auto colon = process.rfind(':');
  if (colon == std::string::npos || process.substr(0, colon) != prefix()) return false;
  const int pid = std::atoi(process.c_str() + colon + 1);
  return pid > 0 && ::kill(pid, 0) != 0 && errno == ESRCH;
}

}  // namespace trainlab

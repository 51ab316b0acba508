#include "core/host.h"

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <limits>

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

// The limit in a file of a control group; none where it says "max" or is not there.
std::int64_t limit_in(const std::string& path) {
  std::ifstream file(path);
  std::int64_t bytes = 0;
  return file >> bytes && bytes > 0 ? bytes : std::numeric_limits<std::int64_t>::max();
}

// The lowest limit of the process's control group and of those around it.
std::int64_t control_group_limit() {
  std::int64_t lowest = limit_in("/sys/fs/cgroup/memory/memory.limit_in_bytes");  // version 1, of the container
  std::ifstream groups("/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    if (!line.starts_with("0::/")) continue;
    std::string group = line.substr(3);
    while (true) {
      lowest = std::min(lowest, limit_in("/sys/fs/cgroup" + group + "/memory.max"));
      if (group.empty()) break;
      group.resize(group.rfind('/'));
    }
  }
  return lowest;
}

}  // namespace

std::string this_process() { return prefix() + ":" + std::to_string(::getpid()); }

std::string host_of(const std::string& process) { return process.substr(0, process.find_first_of("/:")); }

bool has_died(const std::string& process) {
  const auto colon = process.rfind(':');
  if (colon == std::string::npos || process.substr(0, colon) != prefix()) return false;
  const int pid = std::atoi(process.c_str() + colon + 1);
  return pid > 0 && ::kill(pid, 0) != 0 && errno == ESRCH;
}

std::int64_t usable_memory() {
  static const std::int64_t bytes = [] {
    std::int64_t usable = static_cast<std::int64_t>(::sysconf(_SC_PHYS_PAGES)) * ::sysconf(_SC_PAGESIZE);
    usable = std::min(usable, control_group_limit());
    rlimit space{};
    if (::getrlimit(RLIMIT_AS, &space) == 0 && space.rlim_cur != RLIM_INFINITY)
      usable = std::min(usable, static_cast<std::int64_t>(space.rlim_cur));
    return usable;
  }();
  return bytes;
}

}  // namespace trainlab

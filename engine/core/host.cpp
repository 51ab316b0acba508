#include "core/host.h"

#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <optional>
#include <sstream>
#include <vector>

namespace trainlab {

std::string host_name() {
  std::array<char, HOST_NAME_MAX + 1> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 && name[0] != 0 ? name.data() : "localhost";
}

std::string processor_name() {
  std::ifstream in("/proc/cpuinfo");
  for (std::string line; std::getline(in, line);) {
    const std::size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  utsname system{};
  return uname(&system) == 0 ? system.machine : "unknown";
}

namespace {

// Numbers of processes mean nothing in another container, even where it has the same host's name.
std::string process_space() {
  struct stat status {};
  return ::stat("/proc/self/ns/pid", &status) == 0 ? std::to_string(status.st_ino) : "";
}

std::string prefix() { return host_name() + "/" + process_space(); }

// The limit in a file of a control group; none where it says "max" or is not there.
std::int64_t limit_in(const std::string& path) {
  std::ifstream file(path);
  std::int64_t bytes = 0;
  return file >> bytes && bytes > 0 ? bytes : std::numeric_limits<std::int64_t>::max();
}

// The number after a word at the begin of a line, as in "MemAvailable: 1000 kB" or "inactive_file 1000".
std::optional<std::int64_t> number_in(const std::string& path, const std::string& word) {
  std::ifstream file(path);
  std::int64_t number = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(word) && std::istringstream(line.substr(word.size())) >> number) return number;
  }
  return std::nullopt;
}

struct ControlGroup {
  std::string limit, usage, statistics;  // files
  std::string inactive, active;          // words in `statistics` for cached files, which the group can do without
};

// Bytes that a group may still take.
std::int64_t free_in(const ControlGroup& group) {
  constexpr std::int64_t any = std::numeric_limits<std::int64_t>::max();
  const std::int64_t limit = limit_in(group.limit);
  const std::optional<std::int64_t> used = number_in(group.usage, "");
  if (limit == any || !used) return any;
  const std::int64_t cached =
      number_in(group.statistics, group.inactive).value_or(0) + number_in(group.statistics, group.active).value_or(0);
  return limit - std::max<std::int64_t>(*used - cached, 0);  // the statistics may be a moment older
}

// The process's control group and those around it.
std::vector<ControlGroup> control_groups() {
  const std::string container = "/sys/fs/cgroup/memory/memory.";  // of version 1
  std::vector<ControlGroup> all = {{container + "limit_in_bytes", container + "usage_in_bytes", container + "stat",
                                    "total_inactive_file ", "total_active_file "}};
  std::ifstream groups("/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    if (!line.starts_with("0::/")) continue;
    std::string group = line.substr(3);
    while (true) {
      const std::string path = "/sys/fs/cgroup" + group + "/memory.";
      all.push_back({path + "max", path + "current", path + "stat", "inactive_file ", "active_file "});
      if (group.empty()) break;
      group.resize(group.rfind('/'));
    }
  }
  return all;
}

std::int64_t control_group_limit() {
  std::int64_t lowest = std::numeric_limits<std::int64_t>::max();
  for (const ControlGroup& group : control_groups()) lowest = std::min(lowest, limit_in(group.limit));
  return lowest;
}

}  // namespace

std::string this_process() { return prefix() + ":" + std::to_string(::getpid()); }

std::string host_of(const std::string& process) { return process.substr(0, process.find_first_of("/:")); }

bool has_ended(int pid) {
  if (::kill(pid, 0) != 0 && errno == ESRCH) return true;
  // The state follows the name, which stands in parentheses and may contain any character.
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string line;
  std::getline(file, line);
  const std::size_t name_end = line.rfind(") ");
  return name_end != std::string::npos && (line[name_end + 2] == 'Z' || line[name_end + 2] == 'X');
}

bool has_died(const std::string& process) {
  const auto colon = process.rfind(':');
  if (colon == std::string::npos || process.substr(0, colon) != prefix()) return false;
  const int pid = std::atoi(process.c_str() + colon + 1);
  return pid > 0 && has_ended(pid);
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

std::int64_t free_memory() {
  const std::optional<std::int64_t> kilobytes = number_in("/proc/meminfo", "MemAvailable:");
  std::int64_t free = kilobytes ? *kilobytes << 10 : usable_memory();
  for (const ControlGroup& group : control_groups()) free = std::min(free, free_in(group));
  return std::max<std::int64_t>(free, 0);
}

std::int64_t held_memory() {
  std::ifstream file("/proc/self/statm");  // in pages: the address space, what is resident, what of that is shared
  std::int64_t space = 0, resident = 0, shared = 0;
  file >> space >> resident >> shared;
  return file ? (resident - shared) * ::sysconf(_SC_PAGESIZE) : 0;
}

}  // namespace trainlab

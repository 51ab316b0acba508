#include "core_times.h"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <fstream>
#include <sstream>
#include <string>

namespace trainlab {

namespace fs = std::filesystem;

namespace {

const double ticks_a_second = static_cast<double>(::sysconf(_SC_CLK_TCK));

// Ticks of the cores that are not idle, by a file as /proc/stat; nothing where one of the cores is missing or was never
// counted. The columns of a core are user, nice, system, idle, iowait, irq, softirq, steal (proc(5)); time of guests is
// in `user` already.
std::optional<double> busy_ticks(const fs::path& stat, const std::vector<int>& cores) {
  std::ifstream file(stat);
  double busy = 0;
  std::size_t found = 0;
  for (std::string line; std::getline(file, line) && line.starts_with("cpu");) {
    if (!std::isdigit(static_cast<unsigned char>(line[3]))) continue;  // the sum of all
    std::istringstream words(line.substr(3));
    int core = 0;
    words >> core;
    if (!std::ranges::binary_search(cores, core)) continue;
    double user = 0, nice = 0, system = 0, idle = 0, waits_for_disk = 0, irq = 0, softirq = 0, steal = 0;
    if (!(words >> user >> nice >> system >> idle >> waits_for_disk >> irq >> softirq >> steal)) return std::nullopt;
    const double mine = user + nice + system + irq + softirq + steal;
    if (mine + idle + waits_for_disk <= 0) return std::nullopt;
    busy += mine;
    ++found;
  }
  return found > 0 && found == cores.size() ? std::optional(busy) : std::nullopt;
}

struct ProcessTimes {
  std::string program;
  int parent = 0;
  double own = 0;       // ticks of all its threads
  double children = 0;  // ticks of its children that have ended
};

// From a file /proc/PID/stat: "PID (PROGRAM) STATE PPID …", where the 14th to 17th words are utime, stime, cutime and
// cstime. PROGRAM may have any letters.
std::optional<ProcessTimes> process_times(const fs::path& folder) {
  std::ifstream file(folder / "stat");
  std::string line;
  if (!std::getline(file, line)) return std::nullopt;
  const std::size_t open = line.find('('), close = line.rfind(')');
  if (open == std::string::npos || close == std::string::npos || close < open) return std::nullopt;
  ProcessTimes times{.program = line.substr(open + 1, close - open - 1)};
  std::istringstream words(line.substr(close + 1));
  std::string skipped;
  words >> skipped >> times.parent;
  for (int word = 5; word < 14; ++word) words >> skipped;
  double user = 0, system = 0, user_of_children = 0, system_of_children = 0;
  if (!(words >> user >> system >> user_of_children >> system_of_children)) return std::nullopt;
  times.own = user + system;
  times.children = user_of_children + system_of_children;
  return times;
}

constexpr const char* supervisor = "trainlab";

// Ticks of the process and, below a supervisor, of its other engines: also of those that have ended, which count as the
// supervisor's children.
std::optional<double> own_ticks(const fs::path& proc, int process) {
  const std::string own_name = std::to_string(process);
  const std::optional<ProcessTimes> self = process_times(proc / own_name);
  if (!self) return std::nullopt;
  const std::optional<ProcessTimes> parent = process_times(proc / std::to_string(self->parent));
  if (!parent || parent->program != supervisor) return self->own;
  double ticks = self->own + parent->children;
  std::error_code failed;
  for (const fs::directory_entry& entry : fs::directory_iterator(proc, failed)) {
    const std::string name = entry.path().filename().string();
    if (name == own_name || !std::ranges::all_of(name, [](unsigned char c) { return std::isdigit(c); })) continue;
    const std::optional<ProcessTimes> other = process_times(entry.path());
    if (other && other->parent == self->parent) ticks += other->own;
  }
  return ticks;
}

}  // namespace

std::optional<CoreSeconds> core_seconds_in(const fs::path& proc, int process, const std::vector<int>& cores) {
  const std::optional<double> busy = busy_ticks(proc / "stat", cores), own = own_ticks(proc, process);
  if (!busy || !own) return std::nullopt;
  return CoreSeconds{.run = *own / ticks_a_second, .others = (*busy - *own) / ticks_a_second};
}

}  // namespace trainlab

#include "core/temporaries.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "core/files.h"
#include "core/host.h"

namespace trainlab {

namespace fs = std::filesystem;

namespace {

// Short, because names of files are: a part of a hash of the names of the machine and of its container.
constexpr std::size_t mark_length = 8;

const std::string& own_mark() {
  static const std::string mark = [] {
    const std::string process = this_process();
    return hash_bytes(process.substr(0, process.rfind(':'))).substr(0, mark_length);
  }();
  return mark;
}

bool is_mark(const std::string& text) {
  return text.size() == mark_length &&
         std::ranges::all_of(text, [](unsigned char c) { return std::isdigit(c) || (c >= 'a' && c <= 'f'); });
}

}  // namespace

fs::path next_temporary(const fs::path& file) {
  static std::atomic<std::uint64_t> count{0};
  return file.parent_path() / ("." + file.filename().string() + "." + own_mark() + "." + std::to_string(::getpid()) +
                               "-" + std::to_string(count++) + ".tmp");
}

bool is_temporary(const fs::path& file) {
  const std::string name = file.filename().string();
  return name.starts_with('.') && name.ends_with(".tmp");
}

bool is_abandoned_temporary(const fs::path& file) {
  if (!is_temporary(file)) return false;
  const fs::path name = file.stem();                      // .NAME.MACHINE.PID-N
  const std::string process = name.extension().string();  // .PID-N
  const std::string mark = name.stem().extension().string();
  if (!mark.empty() && is_mark(mark.substr(1)) && mark.substr(1) != own_mark()) return false;
  const int pid = process.empty() ? 0 : std::atoi(process.c_str() + 1);
  return pid <= 0 || has_ended(pid);
}

}  // namespace trainlab

#include "core/long_reading.h"

#include <array>
#include <chrono>
#include <cstdio>
#include <system_error>
#include <utility>

namespace trainlab {

namespace {

std::function<void(const std::string&)> long_reading_listener;

}  // namespace

void on_long_reading(std::function<void(const std::string& line)> listener) {
  long_reading_listener = std::move(listener);
}

LongReading::LongReading(const std::filesystem::path& path, double patience) {
  constexpr std::uintmax_t large = std::uintmax_t{16} << 20;
  std::error_code failed;
  const std::uintmax_t bytes = std::filesystem::file_size(path, failed);
  if (failed || bytes < large || !long_reading_listener) return;
  std::array<char, 32> size{};
  std::snprintf(size.data(), size.size(), "%.1f GiB", static_cast<double>(bytes) / (1 << 30));
  const std::string line = "reading " + path.string() + " (" + size.data() + ") …";
  try {
    thread_ = std::thread([this, line, patience] {
      std::unique_lock lock(mutex_);
      if (changed_.wait_for(lock, std::chrono::duration<double>(patience), [this] { return is_over_; })) return;
      lock.unlock();
      long_reading_listener(line);
    });
  } catch (const std::system_error&) {
    // No thread is left: nothing is said.
  }
}

LongReading::~LongReading() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

}  // namespace trainlab

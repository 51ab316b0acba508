// Tells people that a large file is being read, when that takes longer than some seconds: a program that says nothing
// for minutes looks dead.
#pragma once

#include <condition_variable>
#include <filesystem>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

namespace trainlab {

// The listener of the whole process; empty: nobody listens. Called from a thread of its own. Not to be changed while a
// file is read.
void on_long_reading(std::function<void(const std::string& line)> listener);

// Lives while a file is read and its content is looked through. For a file below 16 MiB nothing happens.
class LongReading {
 public:
  static constexpr double usual_patience = 3;  // seconds

  explicit LongReading(const std::filesystem::path& path, double patience = usual_patience);
  ~LongReading();
  LongReading(const LongReading&) = delete;

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_over_ = false;
  std::thread thread_;
};

}  // namespace trainlab

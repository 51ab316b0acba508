// UsedTime: how much of its budget of time a study has used. The seconds of processes that were killed count, up to the
// last save: a file in the stage's folder holds them.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>

namespace trainlab {

// The process that leads the study has one. Any thread, if the clock may be read by any.
class UsedTime {
 public:
  // Begins to count from what the folder's file says, or from `before` where that is more: the seconds of processes
  // that ended in good order. `budget`: in seconds. `clock`: monotonic, in seconds. Error{run} where the file is
  // damaged.
  UsedTime(const std::filesystem::path& folder, double before, double budget, std::function<double()> clock);

  double seconds() const { return before_ + clock_() - begun_; }
  void save();
  // Saves unless the last save was a moment ago.
  void save_now_and_then();

 private:
  void write();

  std::filesystem::path file_;
  std::function<double()> clock_;
  double before_, begun_, budget_;
  std::unique_ptr<std::mutex> mutex_ = std::make_unique<std::mutex>();  // of what follows
  double saved_;
};

}  // namespace trainlab

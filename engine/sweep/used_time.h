// UsedTime: how much of its budget of time a study has used. The seconds of processes that were killed count, up to the
// last save: a file in the stage's folder holds them.
#pragma once

#include <filesystem>
#include <functional>

namespace trainlab {

// One thread of one process: that which leads the study.
class UsedTime {
 public:
  // Begins to count from what the folder's file says, or from `before` where that is more: the seconds of processes
  // that ended in good order. `clock`: monotonic, in seconds. Error{run} where the file is damaged.
  UsedTime(const std::filesystem::path& folder, double before, std::function<double()> clock);

  double seconds() const { return before_ + clock_() - begun_; }
  void save();
  // Saves when some seconds have passed since the last time.
  void save_now_and_then();

 private:
  std::filesystem::path file_;
  std::function<double()> clock_;
  double before_, begun_, saved_;
};

}  // namespace trainlab

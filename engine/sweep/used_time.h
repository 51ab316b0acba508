// UsedTime: how much of its budget of time a study has used. The seconds of processes that were killed count, up to the
// last save: a file in the stage's folder holds them.
#pragma once

#include <filesystem>
#include <functional>

namespace trainlab {

// The process that leads the study has one. seconds() may be called from any thread, if the clock may be.
class UsedTime {
 public:
  // Begins to count from what the folder's file says, or from `before` where that is more: the seconds of processes
  // that ended in good order. `clock`: monotonic, in seconds. Error{run} where the file is damaged.
  UsedTime(const std::filesystem::path& folder, double before, std::function<double()> clock);

  double seconds() const { return before_ + clock_() - begun_; }
  // One thread at a time.
  void save() const;

 private:
  std::filesystem::path file_;
  std::function<double()> clock_;
  double before_, begun_;
};

}  // namespace trainlab

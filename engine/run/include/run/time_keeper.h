// TimeKeeper: saves how much of a budget of time is used, from a thread of its own while the object lives, whatever the
// process does meanwhile. A process that is killed loses what it has used since the last save.
#pragma once

#include <functional>

#include "core/threads/regularly.h"

namespace trainlab {

// The most seconds between two saves of what is used of a budget of `budget_seconds`; 0: of a budget without a time.
double most_unsaved(double budget_seconds);

class TimeKeeper {
 public:
  // `save` is called each most_unsaved(budget_seconds). Its errors are not told here: a full disk is told by whoever
  // saves next.
  TimeKeeper(double budget_seconds, std::function<void()> save);

 private:
  Regularly saves_;
};

}  // namespace trainlab

// TimeKeeper: saves how much of a budget of time is used, from a thread of its own while the object lives, whatever the
// process does meanwhile. A process that is killed loses what it has used since the last save.
#pragma once

#include <functional>

#include "core/threads/regularly.h"

namespace trainlab {

class TimeKeeper {
 public:
  // `save` is called after each fiftieth of `budget_seconds` and at least every five seconds; 0: of a budget without a
  // time. Its errors are not told here: a full disk is told by whoever saves next.
  TimeKeeper(double budget_seconds, std::function<void()> save);

 private:
  Regularly saves_;
};

}  // namespace trainlab

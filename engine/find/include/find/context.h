// What a search tells while it works, and when it has to end.
#pragma once

#include <functional>
#include <string>

namespace trainlab {

struct SearchProgress {
  std::function<void(const std::string&)> say = {};  // lines; or null
  // Seconds until the search must have ended. Once they are negative, no further training begins: Error{run}. Null: no
  // limit.
  std::function<double()> seconds_left = {};

  void tell(const std::string& line) const {
    if (say) say(line);
  }
};

}  // namespace trainlab

// The caller of a search gives a function that prints progress lines, the time that is left, and the fit's data if they
// are open already.
#pragma once

#include <functional>
#include <string>

#include "data/dataset.h"

namespace trainlab {

struct SearchContext {
  std::function<void(const std::string&)> say = {};  // receives progress lines; or null
  // Returns the seconds until the search must have ended. When they are negative, the search raises Error{run} instead
  // of beginning another training. Null: no limit.
  std::function<double()> seconds_left = {};
  const DataParts* opened = nullptr;  // the fit's data where the caller has opened them; outlives the search

  void tell(const std::string& line) const {
    if (say) say(line);
  }
};

}  // namespace trainlab

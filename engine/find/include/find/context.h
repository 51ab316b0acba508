// What surrounds a search: who hears its lines, when it has to end, and the data of its fit.
#pragma once

#include <functional>
#include <string>

#include "data/dataset.h"

namespace trainlab {

struct SearchContext {
  std::function<void(const std::string&)> say = {};  // lines; or null
  // Seconds until the search must have ended. Once they are negative, no further training begins: Error{run}. Null: no
  // limit.
  std::function<double()> seconds_left = {};
  const DataParts* opened = nullptr;  // the data, where the caller has opened it; outlives the search

  void tell(const std::string& line) const {
    if (say) say(line);
  }
};

}  // namespace trainlab

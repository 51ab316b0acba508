// The caller of a search gives a function that prints progress lines, the time and the FLOPs that the search may use,
// and the fit's data if they are open already.
#pragma once

#include <functional>
#include <limits>
#include <string>

#include "core/value.h"
#include "data/dataset.h"

namespace trainlab {

struct SearchContext {
  std::function<void(const std::string&)> say = {};  // receives progress lines; or null
  // Returns the seconds until the search must have ended: it begins no training when they are over, ends one that runs,
  // and finds what is known then. Null: no limit.
  std::function<double()> seconds_left = {};
  // The FLOPs that all trainings of the search together may use, forward and backward passes of their steps: no
  // training begins that would not have a step, and one whose steps would use more is ended, as by the time.
  double most_flops = std::numeric_limits<double>::infinity();
  // Receives the FLOPs that a training has used, which are not finite where nobody knows them; or null.
  std::function<void(double flops)> used = {};
  const DataParts* opened = nullptr;  // the fit's data where the caller has opened them; outlives the search

  void tell(const std::string& line) const {
    if (say) say(line);
  }
};

// Whether a search came to its end, as its result says it: { status = "done" }, or with the reason why it stopped
// before the end.
inline Value::Map end_of_search(const std::string& stopped) {
  if (stopped.empty()) return {{"status", "done"}};
  return {{"status", "stopped"}, {"reason", stopped}};
}

}  // namespace trainlab

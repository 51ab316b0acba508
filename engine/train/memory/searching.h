#pragma once

#include <string>

#include "run/stage.h"

namespace trainlab {

// A search for options with which a training fits: it ends when the engine is asked to stop, and says that it goes on
// when it takes longer than a moment.
class Searching {
 public:
  // `what`: what is searched for, with the option that asks for it. The settings must outlive the object.
  Searching(const RunSettings& settings, std::string what);
  // To be called before each prediction. Error{interrupted} after a request to stop.
  void tries();

 private:
  const RunSettings& settings_;
  const std::string what_;
  const double begin_;
  bool is_told_ = false;
};

}  // namespace trainlab

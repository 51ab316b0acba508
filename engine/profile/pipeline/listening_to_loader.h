// Lets a listener hear the loaders of a plan. Private to the room.
#pragma once

#include "core/input_trace.h"
#include "train/fit_plan.h"

namespace trainlab {

// While the object lives, the plan's loaders report to the listener.
class ListeningToLoader {
 public:
  ListeningToLoader(FitPlan& plan, InputListener& listener) : plan_(plan), before_(plan.loader.listener) {
    plan.loader.listener = &listener;
  }
  ~ListeningToLoader() { plan_.loader.listener = before_; }
  ListeningToLoader(const ListeningToLoader&) = delete;
  ListeningToLoader& operator=(const ListeningToLoader&) = delete;

 private:
  FitPlan& plan_;
  InputListener* before_;
};

}  // namespace trainlab

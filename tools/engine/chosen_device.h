// The device on which an engine works, from what its request says.
#pragma once

#include <string>
#include <vector>

#include "run/request.h"

namespace trainlab {

struct ChosenDevice {
  std::string name;                   // that of --device, or what "auto" stands for: "cpu", "cuda", "cuda:1"
  std::vector<std::string> warnings;  // a line for each device plugin that "auto" has passed over
};

// "auto" loads all plugins. An engine that helps has no warnings: the engine with which it works has told them.
ChosenDevice chosen_device(const Request& request);

}  // namespace trainlab

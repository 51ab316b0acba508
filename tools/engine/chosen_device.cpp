#include "chosen_device.h"

#include "run/run.h"
#include "tensor/device.h"

namespace trainlab {

ChosenDevice chosen_device(const Request& request) {
  const std::string asked = settled(request).device;
  ChosenDevice chosen{settled_device(asked), {}};
  if (asked != "auto" || request.helps) return chosen;
  for (const Error& error : load_device_plugins()) chosen.warnings.push_back("warning: " + error.message());
  return chosen;
}

}  // namespace trainlab

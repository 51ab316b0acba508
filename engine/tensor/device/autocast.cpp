#include "tensor/autocast.h"

#include <ATen/autocast_mode.h>

namespace trainlab {

Autocast::Autocast(c10::DeviceType device, c10::ScalarType type)
    : device_(device), has_lists_(device == at::kCPU || device == at::kCUDA) {
  if (!has_lists_) return;
  was_enabled_ = at::autocast::is_autocast_enabled(device_);
  before_ = at::autocast::get_autocast_dtype(device_);
  at::autocast::set_autocast_enabled(device_, true);
  at::autocast::set_autocast_dtype(device_, type);
  at::autocast::increment_nesting();
}

Autocast::~Autocast() {
  if (!has_lists_) return;
  // Converted weights are cached only until the outermost region ends, because the next step has other weights.
  if (at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();
  at::autocast::set_autocast_enabled(device_, was_enabled_);
  at::autocast::set_autocast_dtype(device_, before_);
}

}  // namespace trainlab

// Generators for ATen's random operators, filled from a key.
#pragma once

#include <ATen/core/Generator.h>

#include "core/random/key.h"

namespace trainlab {

// A CPU generator whose whole state (Mersenne Twister, 624 words) comes from the key's stream. An operator draws the
// same numbers with it at any time and for any number of threads. Valid until the next call on the same thread, which
// returns the same generator with another state.
const at::Generator& keyed_generator(Key key);

}  // namespace trainlab

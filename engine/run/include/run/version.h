// The version of this build, as `trainlab --version` prints it and manifests record it.
#pragma once

#include <string_view>

namespace trainlab {

std::string_view version();  // "0.1.0"

}  // namespace trainlab

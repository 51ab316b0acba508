#include "run/version.h"

namespace trainlab {

std::string_view version() { return TRAINLAB_VERSION; }

}  // namespace trainlab

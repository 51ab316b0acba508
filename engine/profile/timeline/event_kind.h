// The names that kinds of events have in files. Private to the room.
#pragma once

#include <string_view>

#include "profile/timeline.h"

namespace trainlab {

std::string_view kind_name(TimelineEvent::Kind kind);

}  // namespace trainlab

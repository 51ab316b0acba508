// Promotions that a run has decided on and not carried out, because its process was killed.
#pragma once

#include <filesystem>

namespace trainlab {

// Whether a stage of the run has decided on its promotion, and the decision was not published. Raises as read_stages()
// and read_summary() (run/folder.h).
bool has_unpublished(const std::filesystem::path& run);

}  // namespace trainlab

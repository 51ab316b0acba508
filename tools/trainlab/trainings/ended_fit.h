// The result of a fit that has ended.
#pragma once

#include <filesystem>

#include "core/value.h"

namespace trainlab::cli {

struct EndedFit {
  Value summary;
  bool has_failed = false;  // whether a loss that is not finite ended the fit
};

// The ended fit in the folder of a stage. Raises Error{usage} where the fit has not ended.
EndedFit ended_fit(const std::filesystem::path& folder);

}  // namespace trainlab::cli

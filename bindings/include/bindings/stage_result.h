// The result of a stage of a run, as lab.run hands it to a recipe.
#pragma once

#include <filesystem>
#include <memory>

#include "core/callable.h"
#include "core/value.h"

namespace trainlab {

struct StageResult {
  Value summary;
  std::filesystem::path folder;       // the stage's
  std::shared_ptr<const Spec> stage;  // as this recipe gives it, with functions; null for a stage of another run
};

}  // namespace trainlab

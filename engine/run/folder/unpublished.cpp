#include "run/unpublished.h"

#include <algorithm>

#include "run/folder.h"

namespace trainlab {

bool has_unpublished(const std::filesystem::path& run) {
  return std::ranges::any_of(read_stages(run), [&](const StageRecord& stage) {
    return !stage.is_published && read_summary(stage_path(run, stage.folder))[promotion_key].is_map();
  });
}

}  // namespace trainlab

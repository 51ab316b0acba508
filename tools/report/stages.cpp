#include "stages.h"

#include "run/manifest.h"

namespace trainlab::report {

namespace fs = std::filesystem;

namespace {

StageView view(const StageRecord& record, const fs::path& folder, bool is_running) {
  StageView stage{.name = record.name, .kind = record.kind, .folder = folder, .summary = {}, .is_running = is_running};
  // The summary in a run's own folder may be that of another stage: the last one that was run. A trial's is its fit's.
  // Its `out` is the present folder, because the run may have been moved or copied.
  Value summary = read_stage_summary(folder);
  std::error_code ignored;
  if (!fs::exists(manifest_path(folder), ignored) || summary["name"] == Value(record.name))
    stage.summary = std::move(summary);
  return stage;
}

}  // namespace

std::string StageView::status() const {
  if (kind == "study") return "";
  if (is_running) return "running";
  return summary.is_nil() ? "unfinished" : summary["status"].string();
}

std::vector<StageView> stages_of(const fs::path& given) {
  const fs::path run = find_run(given);
  const fs::path folder = (fs::absolute(given) / "").lexically_normal().parent_path();
  if (folder != run) return {stage_of(given)};
  const std::vector<StageRecord> records = read_stages(run);
  const bool is_held = holder(run).has_value();
  std::vector<StageView> stages;
  for (const StageRecord& record : records) {
    const fs::path own = stage_path(run, record.folder);
    stages.push_back(view(record, own, is_held && record == records.back()));
  }
  return stages;
}

StageView stage_of(const fs::path& given) {
  const fs::path run = find_run(given);
  const StageRecord record = find_stage(given, std::nullopt);
  const bool is_last = record.name == read_stages(run).back().name;
  return view(record, record.folder, is_last && holder(run).has_value());
}

}  // namespace trainlab::report

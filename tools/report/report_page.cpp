// The report of a run as a page.
#include "page_form.h"
#include "paste.h"
#include "report/rows.h"
#include "report/texts.h"
#include "run/manifest.h"
#include "stages.h"
#include "study_report.h"

namespace trainlab::report {

namespace fs = std::filesystem;

namespace {

Value stage_value(const StageView& stage) {
  if (stage.is_study()) return study_value(read_study_report(stage, /*all=*/true));
  Value value = stage.summary.is_nil() ? Value(Value::Map{{"name", stage.name}, {"kind", stage.kind}}) : stage.summary;
  value.set("status", stage.status());
  value.set("rows", read_rows(stage.folder).rows);
  return value;
}

Value page_value(const fs::path& given) {
  if (is_study_file(given)) {
    const StudyReport study = read_study_file(given, /*all=*/true);
    return Value::Map{{"run", Value::Map{{"path", study.stage.folder.string()}, {"recipe", study.stage.name}}},
                      {"stages", Value::List{study_value(study)}}};
  }
  const fs::path run = find_run(given);
  const Manifest manifest = read_manifest(run);
  Value::List stages;
  for (const StageView& stage : stages_of(given)) stages.push_back(stage_value(stage));
  return Value::Map{{"run", Value::Map{{"path", run.string()},
                                       {"recipe", manifest.recipe},
                                       {"started", manifest.started},
                                       {"seed", manifest.setting("seed")},
                                       {"device", manifest.setting("device")},
                                       {"trainlab", manifest.trainlab},
                                       {"parameters", flags(manifest.parameters)}}},
                    {"stages", std::move(stages)}};
}

}  // namespace

std::string report_page(const fs::path& given) {
  return page_text(page_value(given), {"chart_parts.js", "charts.js", "page_parts.js", "finders.js", "page.js"});
}

}  // namespace trainlab::report

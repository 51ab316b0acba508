// The report as one file: the page, its script, the chart library and the data.
#include "embedded/chart_library.h"
#include "embedded/page.h"
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

// JSON inside of a script element: nothing in it may look like the element's end.
std::string harmless(const std::string& json) {
  std::string text;
  for (const char c : json) text += c == '<' ? "\\u003c" : std::string(1, c);
  return text;
}

}  // namespace

std::string report_page(const fs::path& given) {
  const std::string data = harmless(to_json(page_value(given)));
  const std::string_view form = embedded::page::page_html();
  std::string text;
  // Each @name@ of the form is a piece.
  for (std::size_t at = 0; at < form.size();) {
    const std::size_t begin = form.find('@', at), end = form.find('@', begin + 1);
    if (begin == std::string_view::npos) return text.append(form.substr(at));
    text += form.substr(at, begin - at);
    const std::string_view name = form.substr(begin + 1, end - begin - 1);
    if (name == "data") text += data;
    if (name == "chart.js") text += embedded::chart_library::chart_min_js();
    for (const embedded::page::File& file : embedded::page::files()) {
      if (file.path == name) text += file.bytes;
    }
    at = end + 1;
  }
  return text;
}

}  // namespace trainlab::report

#include <filesystem>
#include <vector>

#include "core/error.h"
#include "csv.h"
#include "report/rows.h"
#include "report/texts.h"
#include "study_report.h"

namespace trainlab::report {

std::string report_csv(const std::filesystem::path& given) {
  if (is_study_file(given)) return study_csv(read_study_file(given, /*all=*/true));
  StageView stage = stage_of(given);
  if (stage.is_study()) return study_csv(read_study_report(std::move(stage), /*all=*/true));
  const Rows rows = read_rows(stage.folder);
  if (rows.rows.empty()) throw usage_error("stage " + stage.name + " has no metrics.jsonl with rows");

  std::vector<std::string> names = {"step", "epoch", "samples"};
  names.insert(names.end(), rows.metrics.begin(), rows.metrics.end());
  names.insert(names.end(), {"lr", "seconds"});
  std::string text = csv_row(names);
  for (const Value& row : rows.rows) {
    std::vector<std::string> cells;
    for (const std::string& name : names) cells.push_back(csv_text(row[name]));
    text += csv_row(cells);
  }
  return text;
}

}  // namespace trainlab::report

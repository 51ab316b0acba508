// An ensemble, for a terminal: what its members reach one by one, and together.
#include <algorithm>
#include <filesystem>
#include <vector>

#include "columns.h"
#include "paste.h"
#include "report/texts.h"
#include "study_report.h"

namespace trainlab::report {

namespace {

using Cells = std::vector<std::vector<std::string>>;

void add_row(Cells& cells, std::string name, std::string seed, const Value& metrics) {
  std::vector<std::string> row = {std::move(name), std::move(seed)};
  for (std::size_t i = 2; i < cells[0].size(); ++i) {
    const Value& value = metrics[cells[0][i]];
    row.push_back(value.is_number() ? short_number(value.number()) : "unknown");
  }
  cells.push_back(std::move(row));
}

}  // namespace

std::string ensemble_text(const StudyReport& study) {
  const Value& summary = study.stage.summary;
  const Value& members = summary["members"];
  if (!members.is_list() || members.list().empty() || !summary["ensemble"].is_map()) return "";

  // The metrics that can be compared: members have training losses, too. Members that are tasks have no predictions.
  Cells cells = {{"  members", "seed"}};
  const bool together = !summary["ensemble"].map().empty();
  const Value& shown = together ? summary["ensemble"] : summary["mean_member"];
  if (shown.is_map()) {
    for (const auto& [name, value] : shown.map()) cells[0].push_back(name);
  }
  for (auto member = members.list().begin(); member != members.list().end(); ++member) {
    // Chosen greedily, one may stand there several times.
    if (std::find(members.list().begin(), member, *member) != member) continue;
    const auto times = std::count(member, members.list().end(), *member);
    const Value &trial = (*member)["trial"], &seed = (*member)["seed"];
    add_row(cells,
            "  trial " + (trial.is_number() ? short_number(trial.number()) : "unknown") +
                (times > 1 ? " ×" + std::to_string(times) : ""),
            seed.is_integer() ? to_json(seed) : "", (*member)["metrics"]);
  }
  add_row(cells, "  best", "", summary["best_member"]);
  add_row(cells, "  mean", "", summary["mean_member"]);
  if (together) add_row(cells, "  ensemble", "", summary["ensemble"]);
  std::vector<bool> right(cells[0].size(), true);
  right[0] = false;
  std::string text = "\n" + columns(cells, right);
  std::error_code ignored;
  const std::filesystem::path predictions = study.stage.folder / "artifacts" / "predictions.html";
  if (std::filesystem::exists(predictions, ignored)) {
    text += "  what each of them says of single examples: " + shown_line(predictions) + "\n";
  }
  if (summary["params"].is_map() && !summary["params"].map().empty()) {
    text += "\nbuilt with\n  params = " + lua_table(summary["params"].map()) + "\n";
  }
  return text;
}

}  // namespace trainlab::report

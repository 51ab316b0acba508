#include <algorithm>
#include <cmath>
#include <filesystem>

#include "core/error.h"
#include "core/files.h"
#include "formats/csv.h"
#include "formats/fields.h"
#include "plan/fit.h"
#include "run/folder.h"
#include "run/latest.h"

namespace trainlab {

namespace fs = std::filesystem;

namespace {

std::size_t column_of(const CsvText& csv, const std::vector<std::string>& names, const std::string& file) {
  for (const std::string& name : names) {
    const auto found = std::ranges::find(csv.header, name);
    if (found != csv.header.end()) return static_cast<std::size_t>(found - csv.header.begin());
  }
  throw recipe_error("no column " + names.front() + (names.size() > 1 ? " (or " + names.back() + ")" : "") +
                     ": a table of runs has the columns parameters (or N), tokens (or D) and loss")
      .at(file, 1);
}

double number_above_0(const CsvText& csv, std::int64_t row, std::size_t column, const std::string& file) {
  const std::string_view field = csv.field(row, column);
  const std::optional<double> number = number_in(field);
  if (number && std::isfinite(*number) && *number > 0) return *number;
  throw recipe_error("column " + csv.header[column] + ": expected a number above 0, found " + in_quotes(field))
      .at(file, static_cast<int>(csv.lines[static_cast<std::size_t>(row)]));
}

void read_table(const std::string& file, std::vector<RunPoint>& points) {
  constexpr std::int64_t most_bytes = std::int64_t{64} << 20;
  const std::string text = read_file(file, most_bytes);
  const CsvText csv = read_csv(text, ',', file);
  const std::size_t parameters = column_of(csv, {"parameters", "N"}, file);
  const std::size_t tokens = column_of(csv, {"tokens", "D"}, file), loss = column_of(csv, {"loss"}, file);
  for (std::int64_t row = 0; row < csv.rows(); ++row) {
    const auto number = [&](std::size_t column) { return number_above_0(csv, row, column, file); };
    points.push_back({number(parameters), number(tokens), number(loss)});
  }
}

void read_run(const std::string& folder, ReadRuns& runs) {
  const Value summary = read_summary(folder);
  if (summary.is_nil()) throw recipe_error(folder + " has no summary.json: it is no run, or a run that has not ended");
  if (!(summary["kind"] == Value("fit"))) {
    throw recipe_error(folder + " is no fit: kind is " + summary["kind"].brief())
        .hint("the fits of a sweep are RUN/trials/*/seed-*");
  }
  if (has_diverged(summary)) {
    runs.left_out.push_back(folder + " failed, by a loss that is not finite");
    return;
  }
  if (!is_finished(summary)) throw recipe_error(folder + " has not ended: its status is " + summary["status"].brief());
  if (summary["status"] == Value("stopped")) {
    const Value& reason = summary["reason"];
    runs.left_out.push_back(folder + " was cut short" + (reason.is_string() ? ": " + reason.string() : ""));
    return;
  }
  const auto is_positive = [](const Value& value) {
    return value.is_number() && std::isfinite(value.number()) && value.number() > 0;
  };
  const auto number = [&](const Value& value, const std::string& name) {
    if (is_positive(value)) return value.number();
    throw recipe_error(folder + ": expected a number above 0 as " + name + " of its summary, found " + value.brief());
  };
  const double parameters = number(summary["parameters"], "parameters");
  // Plans spend 6 N D FLOPs. So where the FLOPs of the run are known, its tokens are those with which this holds, as a
  // sample may be a window of many tokens or an image over which a convolution uses its weights many times.
  const Value& flops = summary["flops"];
  const double tokens = is_positive(flops) ? flops.number() / (flops_per_parameter_and_token * parameters)
                                           : number(summary["samples"], "samples");
  runs.points.push_back({parameters, tokens, number(summary["metrics"]["val.loss"], "val.loss")});
}

}  // namespace

ReadRuns read_runs(std::span<const std::string> words) {
  ReadRuns runs;
  for (const std::string& word : words) {
    std::error_code ignored;
    const fs::path folder = with_latest(word);
    if (fs::is_directory(folder, ignored)) {
      read_run(folder.string(), runs);
    } else if (!fs::exists(word, ignored)) {
      throw usage_error("there is no CSV file and no folder of a fit " + word);
    } else {
      read_table(word, runs.points);
    }
  }
  return runs;
}

}  // namespace trainlab

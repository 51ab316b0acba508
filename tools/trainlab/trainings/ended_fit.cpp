#include "trainings/ended_fit.h"

#include "core/error.h"
#include "report/texts.h"
#include "run/folder.h"
#include "run/shell_word.h"

namespace trainlab::cli {

using report::shown_path;

EndedFit ended_fit(const std::filesystem::path& folder) {
  EndedFit fit{.summary = read_summary(folder), .has_failed = false};
  fit.has_failed = has_diverged(fit.summary);
  if (is_finished(fit.summary) || fit.has_failed) return fit;
  if (fit.summary["status"] == Value("failed") && fit.summary["reason"].is_string()) {
    throw usage_error("the run in " + shown_path(folder) + " has failed: " + fit.summary["reason"].string())
        .hint("only failures by a loss that is not finite are counted: mend the run, or leave it out");
  }
  throw usage_error("the run in " + shown_path(folder) + " has not ended")
      .hint("first: trainlab resume " + shell_word(shown_path(folder)));
}

}  // namespace trainlab::cli

// Whether the files of a finished run are still those that were written.
#pragma once

#include <filesystem>

namespace trainlab::cli {

// Reads what `trainlab report` and `trainlab predict` need of a finished run: its summaries, rows and studies, and the
// bytes of the weights that its stages keep (of a study, those of its best trial or of its members). Raises Error{run}
// which names what is damaged and says what can still be used.
void check_finished(const std::filesystem::path& run);

}  // namespace trainlab::cli

// Whether the files of a finished run are still those that were written.
#pragma once

#include <filesystem>

namespace trainlab::cli {

// Reads what `trainlab report` and `trainlab predict` need of a run: its manifest, summaries, rows and studies, and the
// bytes of the weights that its stages keep (of a study, those of its best trial or of its members). Raises Error{run}
// which names each damaged file with what can be done about that file, and says what can still be used.
void check_files(const std::filesystem::path& run);

}  // namespace trainlab::cli

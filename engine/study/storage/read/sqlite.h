// Reading studies in SQLite files.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "core/error.h"
#include "study/reader.h"

namespace trainlab {

// Implements StudyPlace::read for a SQLite file.
void read_sqlite(const std::filesystem::path& file, const std::function<void(StudyReader&)>& read);

// Implements StudyPlace::settle for a SQLite file.
void settle_sqlite(const std::filesystem::path& file) noexcept;

// The Error{run} for SQLite's message `words`, with the file and a hint.
Error sqlite_error(const std::filesystem::path& file, const std::string& words);

}  // namespace trainlab

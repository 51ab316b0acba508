// Reading studies in SQLite files.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "core/error.h"
#include "study/reader.h"

namespace trainlab {

// StudyPlace::read.
void read_sqlite(const std::filesystem::path& file, const std::function<void(StudyReader&)>& read);

// StudyPlace::settle.
void settle_sqlite(const std::filesystem::path& file) noexcept;

// Error{run}: SQLite's own words, with the file and what to do.
Error sqlite_error(const std::filesystem::path& file, const std::string& words);

}  // namespace trainlab

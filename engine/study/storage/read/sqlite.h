// Studies in SQLite files: what the file StudyPlace needs of them.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "core/error.h"
#include "study/reader.h"

namespace trainlab {

class SqlDialect;

std::unique_ptr<SqlDialect> sqlite_dialect(const std::filesystem::path& file);

// StudyPlace::read.
void read_sqlite(const std::filesystem::path& file, const std::function<void(StudyReader&)>& read);

// Error{run}: SQLite's own words, with the file and what to do.
Error sqlite_error(const std::filesystem::path& file, const std::string& words);

}  // namespace trainlab

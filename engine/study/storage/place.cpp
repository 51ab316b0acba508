#include "study/place.h"

#include "sql_storage.h"
#include "sqlite.h"

namespace trainlab {

bool StudyPlace::exists() const {
  std::error_code ignored;
  return std::filesystem::exists(file_, ignored);
}

std::unique_ptr<Storage> StudyPlace::open() const { return sql_storage(sqlite_dialect(file_)); }

void StudyPlace::read(const std::function<void(StudyReader&)>& read) const { read_sqlite(file_, read); }

}  // namespace trainlab

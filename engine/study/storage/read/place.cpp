#include "study/place.h"

#include "sqlite.h"

namespace trainlab {

bool StudyPlace::exists() const {
  std::error_code ignored;
  return std::filesystem::exists(file_, ignored);
}

void StudyPlace::read(const std::function<void(StudyReader&)>& read) const { read_sqlite(file_, read); }

}  // namespace trainlab

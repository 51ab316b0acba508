// StudyPlace::open(), which needs SOCI. Programs that only read studies do not call it, and are linked without SOCI.
#include "sql_storage.h"
#include "study/place.h"

namespace trainlab {

std::unique_ptr<Storage> StudyPlace::open(const Waiting& waiting) const {
  return sql_storage(database_ ? postgresql_dialect(*database_, study_) : sqlite_dialect(file_), waiting);
}

}  // namespace trainlab

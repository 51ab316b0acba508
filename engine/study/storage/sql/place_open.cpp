// The programs that only read studies do not call StudyPlace::open(), so they are linked without SOCI.
#include "sql_storage.h"
#include "study/place.h"

namespace trainlab {

std::unique_ptr<Storage> StudyPlace::open() const { return sql_storage(sqlite_dialect(file_)); }

}  // namespace trainlab

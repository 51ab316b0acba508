// The part of StudyPlace that needs no SOCI, so that programs that only read studies are linked without SOCI.
#include "study/place.h"

#include <cstdint>
#include <system_error>

#include "core/error.h"
#include "sqlite.h"

namespace trainlab {

std::string StudyPlace::text() const { return database_ ? database_->text() + ", study " + study_ : file_.string(); }

void StudyPlace::check_not_lost(const std::filesystem::path& folder) {
  const StudyPlace place = of_stage(folder);
  const std::filesystem::path trials = folder / "trials";
  std::error_code ignored;
  if (place.exists() || !std::filesystem::exists(trials, ignored) || std::filesystem::is_empty(trials, ignored)) return;
  throw run_error(place.text() + ": expected the study whose trials lie in " + trials.string() + ", found none")
      .hint("put the file back, or begin a new run with another --out");
}

bool StudyPlace::exists() const {
  std::error_code error;
  const std::uintmax_t bytes = std::filesystem::file_size(file_, error);
  return !error && bytes > 0;
}

void StudyPlace::read(const std::function<void(StudyReader&)>& read) const { read_sqlite(file_, read); }

void StudyPlace::settle() const noexcept { settle_sqlite(file_); }

}  // namespace trainlab

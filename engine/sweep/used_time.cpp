#include "used_time.h"

#include <algorithm>
#include <utility>

#include "core/files.h"
#include "run/folder.h"

namespace trainlab {

namespace {

double stored_seconds(const std::filesystem::path& file) {
  const Value stored = read_json(file);
  if (stored.is_nil()) return 0;
  const bool has_seconds = stored.is_map() && stored["seconds"].is_number() && stored["seconds"].number() >= 0;
  if (!has_seconds) throw damaged_file(file, "it has no seconds");
  return stored["seconds"].number();
}

}  // namespace

UsedTime::UsedTime(const std::filesystem::path& folder, double before, std::function<double()> clock)
    : file_(folder / "used-time.json"),
      clock_(std::move(clock)),
      before_(std::max(before, stored_seconds(file_))),
      begun_(clock_()) {}

void UsedTime::save() const { write_atomic(file_, to_json(Value::Map{{"seconds", seconds()}}) + "\n"); }

}  // namespace trainlab

#include "stored_measurement.h"

#include <cstdlib>

#include "core/error.h"
#include "core/files.h"

namespace trainlab {
namespace {

namespace fs = std::filesystem;

constexpr int format = 1;
constexpr std::int64_t largest_file = 1 << 20;

}  // namespace

fs::path cache_folder() {
  const auto variable = [](const char* name) {
    const char* const value = std::getenv(name);
    return fs::path(value ? value : "");
  };
  const fs::path cache = variable("XDG_CACHE_HOME"), home = variable("HOME");
  // The XDG Base Directory specification says that relative paths are to be ignored.
  if (cache.is_absolute()) return cache / "trainlab";
  return home.is_absolute() ? home / ".cache" / "trainlab" : fs::path();
}

Value stored_measurement(const fs::path& path, const Value& machine) {
  std::error_code error;
  if (!fs::is_regular_file(path, error)) return {};
  try {
    const Value file = parse_json(read_file(path, largest_file), path.string());
    const bool is_whole = file["hash"] == Value(fingerprint(file["measured"]));
    return file["format"] == Value(format) && file["fingerprint"] == machine && is_whole ? file["measured"] : Value();
  } catch (const Error&) {
    return {};
  }
}

std::string store_measurement(const fs::path& path, const Value& machine, const Value& measured) {
  if (!path.has_parent_path()) return "there is no folder for it: neither XDG_CACHE_HOME nor HOME is set";
  const Value file =
      Value::Map{{"format", format}, {"fingerprint", machine}, {"hash", fingerprint(measured)}, {"measured", measured}};
  try {
    make_directories(path.parent_path());
    write_atomic(path, to_json(file, 2) + "\n");
  } catch (const Error& failed) {
    return failed.message();
  }
  return "";
}

}  // namespace trainlab

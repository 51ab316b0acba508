#include "stdlib/stdlib.h"

#include "core/files.h"
#include "embedded/stdlib.h"

namespace trainlab {

std::vector<LuaSource> stdlib_sources(const std::optional<std::filesystem::path>& folder) {
  std::vector<LuaSource> sources;
  for (const embedded::stdlib::File& file : embedded::stdlib::files()) {
    const std::string name(file.path);
    if (!folder) {
      sources.push_back({name, std::string(file.bytes)});
      continue;
    }
    const std::filesystem::path path = *folder / name;
    if (!std::filesystem::is_regular_file(path)) {
      throw usage_error("--stdlib: " + path.string() + " is missing; expected a copy of all files of stdlib/");
    }
    sources.push_back({name, read_file(path)});
  }
  return sources;
}

}  // namespace trainlab

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "core/error.h"
#include "fuzz.h"
#include "run/manifest.h"

namespace trainlab::test {

// The same bytes as a run's manifest and as a file of parameters.
void fuzz(std::string_view bytes) {
  static const std::filesystem::path folder = [] {
    std::string name = (std::filesystem::temp_directory_path() / "fuzz-XXXXXX").string();
    if (!mkdtemp(name.data())) std::abort();
    return name;
  }();
  std::ofstream(manifest_path(folder), std::ios::binary) << bytes;
  try {
    read_manifest(folder);
  } catch (const Error&) {  // it is a file of parameters nevertheless
  }
  read_parameters(manifest_path(folder));
}

}  // namespace trainlab::test

#include "core/file_of_flag.h"

#include "core/error.h"
#include "core/files.h"

namespace trainlab {

std::string read_file_of(const std::string& flag, const std::filesystem::path& path, std::int64_t limit) {
  try {
    return read_file(path, limit);
  } catch (const Error& error) {
    throw usage_error(error.message()).in(flag).hint(error.hint());
  }
}

}  // namespace trainlab

#include "core/trace_file.h"

#include <string>

#include "core/error.h"
#include "core/files.h"

namespace trainlab {

void check_trace(const std::filesystem::path& file) {
  check_output("--trace", file);
  const std::string begin = first_bytes(file, trace_file_beginning.size());
  if (begin.empty() || begin == trace_file_beginning) return;
  throw usage_error("--trace: " + file.string() + " is there already, and is no trace of trainlab")
      .hint("a new file, or the name of a trace that may be replaced: --trace trace.json");
}

}  // namespace trainlab

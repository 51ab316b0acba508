// TraceFile: the files of `--trace`, in the JSON form of Google's "Trace Event Format". Thread-safe.
#pragma once

#include <filesystem>
#include <string_view>

namespace trainlab {

// The text with which each file of --trace begins.
constexpr std::string_view trace_file_beginning =
    R"({"displayTimeUnit":"ms","traceEvents":[)"
    "\n"
    R"({"ph":"M","pid":1,"name":"process_name","args":{"name":"trainlab"}})";

// Error{usage} for a file that --trace would replace though it is no trace: somebody may need the file.
void check_replaces_trace(const std::filesystem::path& file);

}  // namespace trainlab

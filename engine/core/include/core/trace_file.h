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

// Asked before the work of --trace: Error{usage} for a file that cannot be written (core/files.h: check_output), and
// for one that would be replaced though it is no trace, because somebody may need it.
void check_trace(const std::filesystem::path& file);

}  // namespace trainlab

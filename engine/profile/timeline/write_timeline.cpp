#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>

#include "core/files.h"
#include "core/trace_file.h"
#include "core/value.h"
#include "event_kind.h"
#include "profile/timeline.h"

namespace trainlab {

std::string_view kind_name(TimelineEvent::Kind kind) {
  using enum TimelineEvent::Kind;
  switch (kind) {
    case phase: return "phase";
    case layer: return "layer";
    case recipe: return "recipe";
    case operation: return "operator";
    case input: return "input";
    case counter: return "counter";
  }
  return "";
}

namespace {

// A time in whole nanoseconds. Rounding keeps the order of times, so that events nest afterwards as they did before.
std::int64_t whole(double seconds) { return std::llround(seconds * 1e9); }

// Whole nanoseconds as microseconds, exactly.
std::string microseconds(std::int64_t nanoseconds) {
  return fmt::format("{}.{:03}", nanoseconds / 1000, nanoseconds % 1000);
}

}  // namespace

void Timeline::write(const std::filesystem::path& path) const {
  std::vector<std::string> quoted_names;
  for (const std::string& name : names) quoted_names.push_back(to_json(Value(name)));
  write_atomic(path, [&](const Append& append) {
    std::string piece(trace_file_beginning);
    const auto out = std::back_inserter(piece);
    for (std::size_t i = 0; i < threads.size(); ++i) {
      fmt::format_to(out, ",\n");
      fmt::format_to(out, R"({{"ph":"M","pid":1,"tid":{},"name":"thread_name","args":{{"name":{}}}}})", i + 1,
                     to_json(Value(threads[i])));
    }
    for (const TimelineEvent& event : events) {
      const std::string& name = quoted_names[event.name];
      const std::int64_t begin = whole(event.begin);
      fmt::format_to(out, ",\n");
      if (event.kind == TimelineEvent::Kind::counter) {
        fmt::format_to(out, R"({{"ph":"C","pid":1,"name":{},"ts":{},"args":{{"value":{:.6g}}}}})", name,
                       microseconds(begin), event.value);
      } else {
        fmt::format_to(out, R"({{"ph":"X","pid":1,"tid":{},"name":{},"cat":"{}","ts":{},"dur":{}}})", event.thread + 1,
                       name, kind_name(event.kind), microseconds(begin),
                       microseconds(whole(event.begin + event.value) - begin));
      }
      if (piece.size() > 1 << 16) {
        append(piece);
        piece.clear();
      }
    }
    piece += "\n]}\n";
    append(piece);
  });
}

}  // namespace trainlab

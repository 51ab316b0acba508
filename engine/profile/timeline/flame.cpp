// The spans of a timeline's last steps, each with its depth, for a flame chart.
#include <algorithm>
#include <functional>
#include <limits>

#include "core/trace.h"
#include "event_kind.h"
#include "profile/timeline.h"

namespace trainlab {
namespace {

struct Placed {
  TimelineEvent event;
  std::int64_t depth = 0;
  double end() const { return event.begin + event.value; }
};

// The spans that begin at `from` or later, in the order of their beginnings, a span before the spans inside.
std::vector<Placed> spans_from(const std::deque<TimelineEvent>& events, double from) {
  std::vector<Placed> spans;
  for (auto event = events.rbegin(); event != events.rend(); ++event) {
    if (event->kind != TimelineEvent::Kind::counter && event->begin >= from) spans.push_back({*event});
  }
  // The outer one of two spans that began at the same moment ended last, and so comes first already.
  std::ranges::stable_sort(spans, {}, [](const Placed& one) { return one.event.begin; });
  return spans;
}

void set_depths(std::vector<Placed>& spans, std::size_t threads) {
  std::vector<std::vector<double>> open(threads);  // by thread: the ends of the open spans, the outermost first
  for (Placed& span : spans) {
    std::vector<double>& ends = open[span.event.thread];
    while (!ends.empty() && ends.back() <= span.event.begin) ends.pop_back();
    span.depth = static_cast<std::int64_t>(ends.size());
    ends.push_back(span.end());
  }
}

}  // namespace

Value Timeline::flame(const FlameLimits& limits) const {
  const auto is_step = [&](const TimelineEvent& event) {
    return event.kind == TimelineEvent::Kind::phase && names[event.name] == phase_name(Phase::step);
  };
  std::int64_t shown = 0;
  double from = std::numeric_limits<double>::infinity(), until = 0;
  for (auto event = events.rbegin(); event != events.rend() && shown < limits.steps; ++event) {
    if (!is_step(*event)) continue;
    from = event->begin;
    until = std::max(until, event->begin + event->value);
    ++shown;
  }
  if (shown == 0) return {};

  std::vector<Placed> spans = spans_from(events, from);
  std::erase_if(spans, [&](const Placed& span) { return span.event.begin >= until; });
  set_depths(spans, threads.size());
  const std::size_t all = spans.size();
  if (all > limits.spans) {
    const auto last = spans.begin() + static_cast<std::ptrdiff_t>(limits.spans);
    std::ranges::nth_element(spans, last, std::greater<>(), [](const Placed& one) { return one.event.value; });
    spans.erase(last, spans.end());
    std::ranges::sort(spans, {}, [](const Placed& one) { return std::pair(one.event.begin, one.depth); });
  }
  Value::List list;
  list.reserve(spans.size());
  for (const Placed& one : spans) {
    list.push_back(Value::List{one.event.thread, one.depth, std::string(kind_name(one.event.kind)),
                               static_cast<std::int64_t>(one.event.name), one.event.begin - from, one.event.value});
  }
  return Value::Map{{"threads", Value::List(threads.begin(), threads.end())},
                    {"names", Value::List(names.begin(), names.end())},
                    {"steps", shown},
                    {"seconds", until - from},
                    {"spans", std::move(list)},
                    {"left_out", static_cast<std::int64_t>(all - spans.size())}};
}

}  // namespace trainlab

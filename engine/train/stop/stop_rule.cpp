#include "stop_rule.h"

namespace trainlab {

WatchedMetric::WatchedMetric(const Options& options, const std::string& fallback)
    : options_(options), name_(options.has("metric") ? options.string("metric") : fallback) {}

template <class F>
auto WatchedMetric::placed(F&& ask) const {
  try {
    return ask();
  } catch (const Error& error) {
    Error here = options_.error("metric", error.message());
    if (!error.hint().empty()) here.hint(error.hint());
    throw here;
  }
}

bool WatchedMetric::minimize(const StopContext& context) const {
  return placed([&] { return context.minimize(name_); });
}

double WatchedMetric::read(const Progress& progress) const {
  return placed([&] { return progress.metric(name_); });
}

}  // namespace trainlab

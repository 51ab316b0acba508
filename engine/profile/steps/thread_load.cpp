#include "thread_load.h"

#include <sys/resource.h>

#include <functional>

#include "core/clock.h"
#include "journal/speed.h"

namespace trainlab {

namespace {

double seconds_of(const timeval& time) {
  return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
}

// Unknown where one of the two is.
template <class T, class How>
std::optional<T> combined(std::optional<T> one, std::optional<T> other, How how) {
  return one && other ? std::optional(how(*one, *other)) : std::nullopt;
}

}  // namespace

ThreadFigures thread_load() {
  ThreadFigures now{.cores = core_seconds()};  // first, because the reading takes a while
  now.seconds = steady_seconds();
  now.waited = seconds_without_core();
  rusage usage{};
  if (::getrusage(RUSAGE_THREAD, &usage) == 0) now.switches = usage.ru_nivcsw;
  if (::getrusage(RUSAGE_SELF, &usage) == 0) now.process_cpu = seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime);
  return now;
}

ThreadFigures since(const ThreadFigures& before) {
  ThreadFigures now = thread_load();
  now.seconds -= before.seconds;
  now.switches -= before.switches;
  now.process_cpu -= before.process_cpu;
  now.waited = combined(now.waited, before.waited, std::minus());
  now.cores = combined(now.cores, before.cores, std::minus());
  return now;
}

void add(ThreadFigures& all, const ThreadFigures& more) {
  const bool is_first = all.seconds == 0;
  all.pieces = is_first ? more.pieces : all.pieces + more.pieces;
  all.seconds += more.seconds;
  all.switches += more.switches;
  all.process_cpu += more.process_cpu;
  all.waited = is_first ? more.waited : combined(all.waited, more.waited, std::plus());
  all.cores = is_first ? more.cores : combined(all.cores, more.cores, std::plus());
}

}  // namespace trainlab

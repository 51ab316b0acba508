#include "thread_load.h"

#include <sys/resource.h>

#include "core/clock.h"
#include "journal/speed.h"

namespace trainlab {

namespace {

double seconds_of(const timeval& time) {
  return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
}

}  // namespace

ThreadFigures thread_load() {
  ThreadFigures now{.seconds = steady_seconds(), .waited = seconds_without_core()};
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
  if (now.waited) now.waited = before.waited ? std::optional(*now.waited - *before.waited) : std::nullopt;
  return now;
}

}  // namespace trainlab

// The scheduler's figures of a thread and its process. Private to the room.
#pragma once

#include "profile/steps.h"

namespace trainlab {

// The figures since the calling thread, the process or the system began. The wait in the run queue is
// seconds_without_core(), the switches are ru_nivcsw of getrusage(RUSAGE_THREAD), and `seconds` is the steady clock.
ThreadFigures thread_load();

// The present figures minus earlier ones.
ThreadFigures since(const ThreadFigures& before);

// Adds the figures of a further stretch of time.
void add(ThreadFigures& all, const ThreadFigures& more);

}  // namespace trainlab

// What the scheduler says of a thread and its process. Private to the room.
#pragma once

#include "profile/steps.h"

namespace trainlab {

// Since the calling thread, or the process, began. The run-queue wait is the second field of
// /proc/thread-self/schedstat (nanoseconds), the switches are ru_nivcsw of getrusage(RUSAGE_THREAD). `seconds` is the
// steady clock.
ThreadFigures thread_load();

// What has been added since.
ThreadFigures since(const ThreadFigures& before);

}  // namespace trainlab

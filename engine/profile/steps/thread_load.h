// The scheduler's figures of a thread and its process. Private to the room.
#pragma once

#include "profile/steps.h"

namespace trainlab {

// Since the calling thread, or the process, began. The run-queue wait is that of
// seconds_without_core(), the switches are ru_nivcsw of getrusage(RUSAGE_THREAD). `seconds` is the steady clock.
ThreadFigures thread_load();

// The difference from earlier figures to those of now.
ThreadFigures since(const ThreadFigures& before);

}  // namespace trainlab

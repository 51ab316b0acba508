// Work that waits for a disk, done for several files at a time: the checkpoints of a stack's members, for example.
#pragma once

#include <cstdint>
#include <functional>

namespace trainlab {

// work(0) … work(count − 1), each once, several at a time, in any order. Afterwards the error of the smallest number is
// raised, if there is any, so that the message does not depend on timing. The threads are those of the process, which
// keeps them: threads that end would leave their memory behind. Any thread; calls take turns.
void side_by_side(std::int64_t count, const std::function<void(std::int64_t)>& work);

}  // namespace trainlab

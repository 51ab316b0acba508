// Work divided into numbered blocks over all cores, for what is done once: statistics, packing.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace trainlab {

// block(0) … block(count − 1), each once, several at a time, in any order. What a block throws is raised here: of
// several the one with the smallest number, so that the message does not depend on timing.
inline void for_each_block(std::int64_t count, const std::function<void(std::int64_t)>& block) {
  std::atomic<std::int64_t> next = 0;
  std::mutex mutex;
  std::exception_ptr error;
  std::int64_t failed = count;
  const auto work = [&] {
    for (std::int64_t number; (number = next++) < count;) {
      try {
        block(number);
      } catch (...) {
        next = count;  // those before this one have begun already
        const std::lock_guard lock(mutex);
        if (number < failed) {
          failed = number;
          error = std::current_exception();
        }
      }
    }
  };
  {
    std::vector<std::jthread> threads;
    for (std::int64_t i = 1; i < std::min<std::int64_t>(count, std::thread::hardware_concurrency()); ++i)
      threads.emplace_back(work);
    work();
  }
  if (error) std::rethrow_exception(error);
}

}  // namespace trainlab

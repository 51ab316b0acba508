#include "journal/disk_threads.h"

#include <array>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>

namespace trainlab {

namespace {

// One call of side_by_side.
struct Call {
  const std::function<void(std::int64_t)>& work;
  std::int64_t count, next = 0, ended = 0;
  std::int64_t failed = count;  // the smallest number whose work has raised an error
  std::exception_ptr error = {};
};

class DiskThreads {
 public:
  DiskThreads() {
    for (std::jthread& thread : threads_) thread = std::jthread([this](const std::stop_token& stop) { help(stop); });
  }

  void run(Call& call) {
    const std::lock_guard turn(turn_);
    std::unique_lock lock(mutex_);
    call_ = &call;
    changed_.notify_all();
    while (take(lock)) {
    }
    changed_.wait(lock, [&] { return call.ended == call.count; });
    call_ = nullptr;
  }

 private:
  // Does the next work of the call. False when all of its work has begun.
  bool take(std::unique_lock<std::mutex>& lock) {
    if (!call_ || call_->next == call_->count) return false;
    Call& call = *call_;
    const std::int64_t number = call.next++;
    std::exception_ptr error;
    lock.unlock();
    try {
      call.work(number);
    } catch (...) {
      error = std::current_exception();
    }
    lock.lock();
    if (error && number < call.failed) {
      call.failed = number;
      call.error = error;
    }
    if (++call.ended == call.count) changed_.notify_all();
    return true;
  }

  void help(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    while (!stop.stop_requested()) {
      if (!take(lock)) changed_.wait(lock, stop, [this] { return call_ && call_->next < call_->count; });
    }
  }

  std::mutex turn_, mutex_;
  std::condition_variable_any changed_;
  Call* call_ = nullptr;
  std::array<std::jthread, 3> threads_;  // beside the caller's; more gain little and hold memory of their own
};

}  // namespace

void side_by_side(std::int64_t count, const std::function<void(std::int64_t)>& work) {
  if (count == 1) return work(0);
  static DiskThreads threads;
  Call call{.work = work, .count = count};
  threads.run(call);
  if (call.error) std::rethrow_exception(call.error);
}

}  // namespace trainlab

#include "core/threads/regularly.h"

#include <chrono>
#include <utility>

namespace trainlab {

Regularly::Regularly(double seconds, std::function<void()> work)
    : thread_([this, seconds, work = std::move(work)] {
        std::unique_lock lock(mutex_);
        while (!changed_.wait_for(lock, std::chrono::duration<double>(seconds), [this] { return ends_; })) {
          lock.unlock();
          work();
          lock.lock();
        }
      }) {}

Regularly::~Regularly() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

}  // namespace trainlab

// Regularly: calls a function now and then, from a thread of its own, while the object lives.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace trainlab {

class Regularly {
 public:
  // `work` raises nothing, and is called for the first time after `seconds`.
  Regularly(double seconds, std::function<void()> work);
  ~Regularly();
  Regularly(const Regularly&) = delete;

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool ends_ = false;
  std::thread thread_;
};

}  // namespace trainlab

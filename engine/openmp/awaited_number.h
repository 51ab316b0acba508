// AwaitedNumber: a number that one thread changes and others wait for.
#pragma once

#include <atomic>
#include <cstdint>

namespace trainlab {

// Any thread may call any function.
class AwaitedNumber {
 public:
  explicit AwaitedNumber(std::uint32_t value = 0) : value_(value) {}

  // The number. The caller sees everything that was written before the last change.
  std::uint32_t value() const { return value_.load(std::memory_order_acquire); }

  // Sets the number, and wakes all waiting threads.
  void set(std::uint32_t value);
  // Sets the number if it is `seen`, and wakes no thread. Returns whether the number was `seen`.
  bool replace(std::uint32_t seen, std::uint32_t value) { return value_.compare_exchange_strong(seen, value); }

  // Subtracts one. Wakes all waiting threads when the number becomes 0.
  void count_down();

  // Returns once the number is another one than `seen`. A thread that waits until count_down() reaches 0 calls this
  // function repeatedly; if it sleeps, it is woken only at 0.
  void wait_while(std::uint32_t seen);

 private:
  void wake_all();

  std::atomic<std::uint32_t> value_;
  std::atomic<std::uint32_t> sleepers_{0};
};

}  // namespace trainlab

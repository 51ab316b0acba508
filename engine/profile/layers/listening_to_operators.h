// Hears the operators that a thread calls, and the functions of its backward passes, by LibTorch's internal interface
// RecordFunction. Private to the room.
#pragma once

#include <cstdint>

namespace at {
struct RecordFunction;
}

namespace trainlab {

class OperatorListener {
 public:
  virtual ~OperatorListener() = default;
  virtual void function_began(const at::RecordFunction& function) = 0;
  virtual void function_ended(const at::RecordFunction& function) = 0;
};

// The listener hears those of this thread while the object lives. One object at a time on a thread.
class ListeningToOperators {
 public:
  // `sees_tensors`: whether the functions tell their inputs and outputs, which takes time.
  ListeningToOperators(OperatorListener& listener, bool sees_tensors);
  ~ListeningToOperators();
  ListeningToOperators(const ListeningToOperators&) = delete;
  ListeningToOperators& operator=(const ListeningToOperators&) = delete;

 private:
  std::uint64_t handle_;  // of the callback
};

}  // namespace trainlab

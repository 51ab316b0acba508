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

// While the object lives, the listener hears the operators and backward functions of the thread that made the object.
// A thread has one such object at a time.
class ListeningToOperators {
 public:
  // `sees_tensors`: whether the listener gets the inputs and outputs of each function, which takes time.
  ListeningToOperators(OperatorListener& listener, bool sees_tensors);
  ~ListeningToOperators();
  ListeningToOperators(const ListeningToOperators&) = delete;
  ListeningToOperators& operator=(const ListeningToOperators&) = delete;

 private:
  std::uint64_t handle_;  // handle of LibTorch's callback
};

}  // namespace trainlab

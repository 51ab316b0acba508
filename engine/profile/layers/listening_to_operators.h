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

// A listener hears the functions of the backward pass alone, or operators as well, or both with their inputs and
// outputs. Each of the three takes more time than the one before.
enum class Hearing { backward_functions, operators, tensors };

// While the object lives, the listener hears functions of the thread that made the object. A thread has one such object
// at a time.
class ListeningToOperators {
 public:
  ListeningToOperators(OperatorListener& listener, Hearing hearing);
  ~ListeningToOperators();
  ListeningToOperators(const ListeningToOperators&) = delete;
  ListeningToOperators& operator=(const ListeningToOperators&) = delete;

 private:
  std::uint64_t handle_;  // handle of LibTorch's callback
};

}  // namespace trainlab

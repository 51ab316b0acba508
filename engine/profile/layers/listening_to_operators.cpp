#include "listening_to_operators.h"

#include <ATen/record_function.h>

#include <memory>

namespace trainlab {
namespace {

thread_local constinit OperatorListener* told = nullptr;

std::unique_ptr<at::ObserverContext> on_begin(const at::RecordFunction& function) {
  told->function_began(function);
  return nullptr;
}

void on_end(const at::RecordFunction& function, at::ObserverContext*) { told->function_ended(function); }

}  // namespace

ListeningToOperators::ListeningToOperators(OperatorListener& listener, Hearing hearing) {
  const bool sees_tensors = hearing == Hearing::tensors;
  at::RecordFunctionCallback callback(on_begin, on_end);
  callback.needsInputs(sees_tensors).needsOutputs(sees_tensors);
  if (hearing == Hearing::backward_functions) {
    callback.scopes({at::RecordScope::BACKWARD_FUNCTION});
  } else {
    callback.scopes({at::RecordScope::FUNCTION, at::RecordScope::BACKWARD_FUNCTION});
  }
  handle_ = at::addThreadLocalCallback(callback);
  told = &listener;
}

ListeningToOperators::~ListeningToOperators() {
  at::removeCallback(handle_);
  told = nullptr;
}

}  // namespace trainlab

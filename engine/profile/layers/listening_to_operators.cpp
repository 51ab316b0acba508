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

ListeningToOperators::ListeningToOperators(OperatorListener& listener, bool sees_tensors)
    : handle_(
          at::addThreadLocalCallback(at::RecordFunctionCallback(on_begin, on_end)
                                         .needsInputs(sees_tensors)
                                         .needsOutputs(sees_tensors)
                                         .scopes({at::RecordScope::FUNCTION, at::RecordScope::BACKWARD_FUNCTION}))) {
  told = &listener;
}

ListeningToOperators::~ListeningToOperators() {
  at::removeCallback(handle_);
  told = nullptr;
}

}  // namespace trainlab

#include "listening_to_operators.h"

#include <ATen/record_function.h>

#include <memory>
#include <unordered_set>

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
  std::unordered_set<at::RecordScope, std::hash<at::RecordScope>> scopes{at::RecordScope::BACKWARD_FUNCTION};
  if (hearing != Hearing::backward_functions) scopes.insert(at::RecordScope::FUNCTION);
  const bool sees_tensors = hearing == Hearing::tensors;
  handle_ = at::addThreadLocalCallback(
      at::RecordFunctionCallback(on_begin, on_end).needsInputs(sees_tensors).needsOutputs(sees_tensors).scopes(scopes));
  told = &listener;
}

ListeningToOperators::~ListeningToOperators() {
  at::removeCallback(handle_);
  told = nullptr;
}

}  // namespace trainlab

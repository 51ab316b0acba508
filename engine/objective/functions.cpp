#include "functions.h"

#include <c10/core/ScalarType.h>

#include "core/function_error.h"
#include "data/batch_object.h"
#include "tensor/tensor_object.h"
#include "tensor/text.h"

namespace trainlab {

BatchFunction::BatchFunction(std::shared_ptr<Callable> function, const Head& head, std::string role)
    : function_(std::move(function)), role_(std::move(role)) {
  for (const HeadColumn& column : head.columns) columns_.push_back(column.name);
}

Error BatchFunction::error(std::string message) const {
  return function_error(*function_, role_ + "(out, batch): " + std::move(message));
}

std::vector<Argument> BatchFunction::operator()(const at::Tensor& out, const BatchView& batch,
                                                std::vector<Argument> before) const {
  if (batch.members > 0) {
    throw error("a recipe's function takes one model, not a group of members").hint("train the members side by side");
  }
  auto object = std::make_shared<BatchObject>();
  for (std::size_t i = 0; i < columns_.size(); ++i) object->columns.emplace(columns_[i], batch.columns[i]);
  object->index = batch.index;
  object->size = batch.size;
  if (out.defined()) {
    before.emplace_back(std::make_shared<TensorObject>(out));
  } else {
    before.emplace_back(Value());
  }
  before.emplace_back(std::move(object));
  if (batch.run) before.emplace_back(batch.run);
  function_->rekey(batch.key.fold(role_));
  return function_->call(before);
}

at::Tensor BatchFunction::scalar(const Argument& result, const std::string& what) const {
  const TensorObject* const tensor = tensor_in(result);
  if (!tensor) {
    const Value* value = std::get_if<Value>(&result);
    if (value && value->is_number()) return {};
    throw error("expected " + what + ", found " + found_text(result));
  }
  const at::Tensor& t = tensor->tensor;
  if (t.numel() != 1) {
    throw error("expected " + what + ", found " + found_text(result))
        .hint(t.is_floating_point() ? "add :mean()" : "add :to(\"float32\"):mean()");
  }
  const bool real = t.scalar_type() == at::kFloat || t.scalar_type() == at::kDouble;
  return real ? t.reshape({}) : t.reshape({}).to(at::kDouble);
}

}  // namespace trainlab

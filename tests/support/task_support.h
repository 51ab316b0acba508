// Makes tasks whose function is native.
#pragma once

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "core/value.h"
#include "support/fit_support.h"
#include "task/task.h"

namespace trainlab::test {

// A checked task of this function. `registry` has lab.task, and must outlive the options.
inline Options task_of(const Registry& registry, std::function<void(TaskContext&)> body) {
  auto spec = std::make_shared<Spec>();
  spec->value = registry.check(
      parse_json(R"({"@": "task", "name": "by_hand", "run": {"@": "function", "index": 0}})", "test"), "task");
  spec->functions.push_back(native([body = std::move(body)](std::span<const Argument> arguments) {
    body(dynamic_cast<TaskContext&>(*std::get<std::shared_ptr<Object>>(arguments.front())));
    return std::vector<Argument>{};
  }));
  return {registry, std::move(spec), "task"};
}

}  // namespace trainlab::test

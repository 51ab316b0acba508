// What the engine says of a recipe's fit before anything is trained (tools/engine/commands/comparison.cpp).
#pragma once

#include <string>

#include "cli/arguments.h"
#include "comparing/question.h"
#include "core/value.h"
#include "run/request.h"
#include "run/supervisor.h"

namespace trainlab::cli {

struct Answer {
  Value facts;
  Outcome outcome;  // of the engine, where it could not answer
};

// `request`: of a recipe or a run. Only the recipe is executed, and the data opened.
Answer ask_about(Request request, const std::string& metric);

// Sets the direction of the target. Raises Error{usage} where the metric does not mean the same in A and B, and where
// no model can reach the target. Says what differs in the data otherwise.
void settle_target(const Arguments& given, Question& question, const Value& a, const Value& b);

}  // namespace trainlab::cli

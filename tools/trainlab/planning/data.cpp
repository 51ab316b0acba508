// `trainlab plan data RECIPE.lua`: an engine trains the recipe's first fit on parts of its training data, and tells
// whether more data would help (tools/engine/commands/subsets.cpp).
#include "cli/ending.h"
#include "cli/requests.h"
#include "core/error.h"
#include "planning/topic.h"

namespace trainlab::cli {

namespace {

void check_data(const Arguments& given) {
  if (given.words.size() != 1) throw usage_error("`trainlab plan data` takes one recipe");
}

int plan_data(const Arguments& given) {
  Request request = request_for_recipe(given);
  request.command = "subsets";
  return supervise(request, given);
}

}  // namespace

PlanTopic data_topic() {
  return {
      .word = "data", .flags = {"within", "params", "set"}, .uses_engine = true, .check = check_data, .run = plan_data};
}

}  // namespace trainlab::cli

// `trainlab plan data RECIPE.lua` and `trainlab plan model RECIPE.lua`: an engine trains the recipe's first fit on
// parts of its training data, or with smaller and larger models, and tells whether more data or a larger model would
// help (tools/engine/commands/sizes.cpp).
#include "cli/ending.h"
#include "cli/requests.h"
#include "core/error.h"
#include "planning/topic.h"

namespace trainlab::cli {

namespace {

int plan_sizes(const Arguments& given, const std::string& of) {
  Request request = request_for_recipe(given);
  request.command = "sizes";
  request.choice = of;
  return supervise(request, given);
}

void check_words(const Arguments& given, const std::string& of) {
  if (given.words.size() != 1) throw usage_error("`trainlab plan " + of + "` takes one recipe");
}

}  // namespace

PlanTopic data_topic() {
  return {.word = "data",
          .flags = {"within", "params", "set"},
          .uses_engine = true,
          .is_recipe = [](const std::string&) { return true; },
          .check = [](const Arguments& given) { check_words(given, "data"); },
          .run = [](const Arguments& given) { return plan_sizes(given, "data"); }};
}

PlanTopic model_topic() {
  return {.word = "model",
          .flags = {"within", "params", "set"},
          .uses_engine = true,
          .is_recipe = [](const std::string&) { return true; },
          .check = [](const Arguments& given) { check_words(given, "model"); },
          .run = [](const Arguments& given) { return plan_sizes(given, "model"); }};
}

}  // namespace trainlab::cli

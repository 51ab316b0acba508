// `trainlab plan data RECIPE.lua` and `trainlab plan model RECIPE.lua`: an engine trains the recipe's first fit, or
// that of --stage, on parts of its training data, or with smaller and larger models, and tells whether more data or a
// larger model would help (tools/engine/commands/sizes.cpp).
#include "cli/ending.h"
#include "cli/requests.h"
#include "core/error.h"
#include "planning/topic.h"

namespace trainlab::cli {

namespace {

constexpr char data[] = "data", model[] = "model";

// `word`: the topic's word, by which the engine knows what is to have several sizes.
template <const char* word>
PlanTopic sizes_topic() {
  return {.word = word,
          .flags = {"within", "stage", "params", "set", "html"},
          .uses_engine = true,
          .is_recipe = [](const std::string&) { return true; },
          .check =
              [](const Arguments& given) {
                if (given.words.size() != 1)
                  throw usage_error("`trainlab plan " + std::string(word) + "` takes one recipe");
              },
          .run =
              [](const Arguments& given) {
                Request request = request_for_recipe(given);
                request.command = "sizes";
                request.choice = word;
                return supervise(request, given);
              }};
}

}  // namespace

PlanTopic data_topic() { return sizes_topic<data>(); }

PlanTopic model_topic() { return sizes_topic<model>(); }

}  // namespace trainlab::cli

// PlanTopic: one word after `trainlab plan` with what it plans. Each topic stands in a file of its own,
// planning/NAME.cpp, which defines NAME_topic(); the list in commands/plan.cpp names them all.
#pragma once

#include <string>
#include <vector>

#include "cli/arguments.h"

namespace trainlab::cli {

struct PlanTopic {
  std::string word;
  // The flags of `plan` that mean something to the topic.
  std::vector<std::string> flags = {};
  bool uses_engine = false;  // whether the flags of commands that start an engine mean something, too
  // Whether this word after the topic's is the path of a recipe, whose parameters may follow. nullptr: it never is.
  bool (*is_recipe)(const std::string& word) = nullptr;
  // Both functions get the line without the topic's word. The first raises Error{usage} for words that do not fit; the
  // second returns the exit code.
  void (*check)(const Arguments& given) = nullptr;
  int (*run)(const Arguments& given) = nullptr;
};

PlanTopic fit_topic();
PlanTopic seeds_topic();
PlanTopic data_topic();
PlanTopic model_topic();
PlanTopic sweep_topic();

}  // namespace trainlab::cli

// --set: changes to the options of a stage from the command line.
//
//   --set optim.lr=0.01          of the stage that the recipe returns
//   --set search:trials=8        of the stage named search
//   --set model[3].p=0.2         positions count from 1, as in messages
//   --set 'betas=[0.9, 0.95]'    lists and tables as in TOML
//   --set epochs=nil             as if the recipe had not given it
//   --set build.batch=128        of each stage that the function `build` returns
#pragma once

#include <set>
#include <string>
#include <vector>

#include "core/registry.h"

namespace trainlab {

class SetOptions {
 public:
  // The texts after --set, or after another flag of the same form, in order. Raises Error{usage} for one without "=".
  explicit SetOptions(const std::vector<std::string>& texts, const std::string& flag = "--set");

  // Applies the changes for this stage to the checked stage and checks the result again. Raises Error{usage} naming the
  // text. A change of what a function builds is made to each stage that the function returns then.
  Spec apply(const Registry& registry, Spec stage, bool returned);

  // Raises Error{usage} if a text named a stage that did not occur.
  void check_all_used() const;

 private:
  struct Named {
    std::string text, stage, path;  // the text with its flag, for messages
    Value value;
    bool used = false;
  };
  std::vector<Named> changes_;
  std::vector<std::string> stages_;  // names seen
};

}  // namespace trainlab

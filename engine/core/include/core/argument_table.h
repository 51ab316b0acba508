// ArgumentTable: a table of a script in which native objects stand beside data, as an argument or result of a call:
// { loss = t, accuracy = 0.9 }, { model, optimizer }.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/callable.h"

namespace trainlab {

class ArgumentTable : public Object {
 public:
  std::string_view type_name() const override { return "table"; }

  std::vector<Argument> list;  // the array part
  std::map<std::string, Argument> named;
};

}  // namespace trainlab

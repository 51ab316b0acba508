// A trial's parameters in the forms in which they can be used again.
#pragma once

#include <string>

#include "core/value.h"
#include "stages.h"

namespace trainlab::report {

// { lr = 0.01, optim = "SGD" }: as a Lua table, without nil values.
std::string lua_table(const Value::Map& params);

// --lr 0.01 --optim SGD: for a recipe that declares parameters of these names. Quoted for a shell; tables are left out.
std::string flags(const Value::Map& params);

// --set space.lr=0.01 --set space.optim=SGD: for the recipe of a sweep, whose space has these values then. Quoted for a
// shell. Empty for other stages, and where the command line cannot say one of the names or values.
std::string space_flags(const Value::Map& params, const StageView& stage);

}  // namespace trainlab::report

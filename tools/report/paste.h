// A trial's parameters in the forms in which they can be used again.
#pragma once

#include <string>

#include "core/value.h"

namespace trainlab::report {

// { lr = 0.01, optim = "SGD" }: as a Lua table, without nil values.
std::string lua_table(const Value::Map& params);

// --lr 0.01 --optim SGD: for a recipe that declares parameters of these names. Quoted for a shell; tables are left out.
std::string flags(const Value::Map& params);

}  // namespace trainlab::report

#include "study/constraints.h"

#include <memory>

#include "core/params.h"
#include "core/random/key.h"

namespace trainlab {

std::function<bool(std::span<const double>)> allowed_by(const Options& options, const Space& space, std::int64_t seed) {
  const Key key = Key(static_cast<std::uint64_t>(seed)).fold("constraints");
  return [options, function = options.function("constraints"), space, key](std::span<const double> point) {
    const Argument hp[] = {std::make_shared<Params>(space.params(point))};
    function->rekey(key);
    const std::vector<Argument> results = function->call(hp);
    const Value* answer = results.empty() ? nullptr : std::get_if<Value>(&results.front());
    if (answer && answer->is_boolean()) return answer->boolean();
    throw options.error("constraints", "expected true or false of the function at " + function->where() + ", found " +
                                           (answer ? answer->brief() : "nothing"));
  };
}

}  // namespace trainlab

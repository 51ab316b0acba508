// The names under which functions of the recipe stand in tables and traces. Private to the room.
#pragma once

#include <string>
#include <string_view>

namespace trainlab {

// The span of a step that a function of the recipe takes: that of a fit with a step of its own, or of a task.
inline constexpr std::string_view own_step = "own step";

// The path of the function whose span Phase::callback has this name: "on.step" of the option `on`; others keep theirs:
// a step, a transform, a loss, a stop rule of the recipe's own, and what its run:save writes.
// The name of a layer's function is the path of the layer, which has a point.
inline std::string function_path(std::string_view name) {
  const bool is_alone = name == own_step || name == "transform" || name == "loss" || name == "stop" ||
                        name == "run:save" || name.find('.') != name.npos;
  return (is_alone ? "" : "on.") + std::string(name);
}

}  // namespace trainlab

// When the state of a script is looked at.
#include "core/clock.h"
#include "journal/script_state.h"

#include <catch2/catch.hpp>

namespace trainlab::script_state_test {

namespace {

// A state that takes a hundredth of a second to read.
struct SlowState {
  ScriptState operator()() {
    ++reads;
    const double begin = steady_seconds();
    while (steady_seconds() - begin < 0.01) {
    }
    ScriptState state;
    state.values = values;
    if (has_fault) state.fault = recipe_error("a function");
    return state;
  }
  std::int64_t values = 1;
  bool has_fault = false;
  int reads = 0;
};

}  // namespace

TEST_CASE("a small state is read each time, a large one seldom") {
  SlowState state;
  StateLooks looks;
  const auto look = [&](bool now) { return looks.fault([&] { return state(); }, now).has_value(); };
  for (int i = 0; i < 5; ++i) CHECK_FALSE(look(false));
  CHECK(state.reads == 5);
  state.values = 1000;
  for (int i = 0; i < 100; ++i) CHECK_FALSE(look(false));
  CHECK(state.reads < 50);
  state.has_fault = true;
  CHECK(look(true));
}

}  // namespace trainlab::script_state_test

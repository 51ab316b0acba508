// trainlab-engine: the program that executes recipes, started by `trainlab`.
#include <cstdio>
#include <cstdlib>

#include "bindings/large_stack.h"
#include "bindings/lua_error.h"
#include "bindings/note_crashes.h"
#include "command.h"
#include "core/error.h"
#include "core/printable.h"
#include "run/run.h"
#include "tables.h"
#include "tensor/types.h"

namespace {

// On the recipe's thread. Returns the exit code; everything is told to the supervisor, nothing is raised.
int execute(const trainlab::EngineStart& start) {
  using namespace trainlab;
  try {
    note_crashes();
    // For tensors that are made outside of stages; a stage may have other threads.
    prepare_arithmetic(settled(start.request).threads);
    // An engine that helps runs stages, whatever the command needs their results for.
    const std::string name = start.request.helps ? "run" : start.request.command;
    for (const Command& command : all_commands()) {
      if (command.name == name) return command.execute(start);
    }
    throw run_error("the engine knows no command \"" + name + "\"")
        .hint("`trainlab` and `trainlab-engine` must come from the same build: install both again");
  } catch (const std::exception& exception) {
    const Error error = engine_error(exception);
    send_error(*start.channel, error);
    return static_cast<int>(error.kind());
  }
}

int run(int argc, const char* const* argv) {
  using namespace trainlab;
  try {
    if (write_tables(argc, argv)) return 0;
    const EngineStart start = engine_starts(argc, argv);
    int code = 0;
    on_large_stack([&] { code = execute(start); });
    return code;
  } catch (const std::exception& exception) {
    const Error error = engine_error(exception);
    std::fprintf(stderr, "trainlab-engine: %s\n", printable(error.what()).c_str());
    return static_cast<int>(error.kind());
  }
}

}  // namespace

int main(int argc, char** argv) {
  const int code = run(argc, argv);
  std::fflush(nullptr);
  // Not through exit(): LibTorch's static destructors take long and have nothing to save.
  std::_Exit(code);
}

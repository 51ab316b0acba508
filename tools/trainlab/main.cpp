// trainlab, the program that users start. It prints help, lists and reports itself; for everything else it supervises
// an engine.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <exception>
#include <string>
#include <vector>

#include "cli/arguments.h"
#include "cli/command.h"
#include "cli/ending.h"
#include "core/as_error.h"
#include "embedded/pages.h"
#include "embedded/table.h"
#include "run/version.h"

namespace {

using namespace trainlab;
using namespace trainlab::cli;

// Opens the descriptors 0 to 2 if they are closed. Otherwise a file that is opened later would get one of these
// numbers, and the output that is meant for the terminal. What is written to a closed standard output is lost, so that
// writing there is an error as before.
void take_standard_descriptors() {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
    if (::fcntl(fd, F_GETFD) >= 0) continue;
    const int mode = fd == STDOUT_FILENO ? O_RDONLY : O_RDWR;
    if (::open("/dev/null", mode) < 0) return;  // opens the lowest free number, which is `fd`
  }
}

int perform(const Program& program, const Arguments& arguments) {
  const bool json = arguments.has("json");
  if (arguments.has("version")) {
    print_text("trainlab " + std::string(version()) + "\n", json, "version");
    return 0;
  }
  const Command* command = arguments.command;
  const bool of_recipe =
      command && command->takes_recipe() && arguments.words.size() >= std::max<std::size_t>(command->words.least, 1);
  if (arguments.has("help") && !of_recipe) {
    print_text(command ? command_help(*command) : program_help(program.commands), json, "help");
    return 0;
  }
  if (!command) throw usage_error("expected a recipe or a command").hint("trainlab --help");
  return command->run(program, arguments);
}

}  // namespace

int main(int argc, char** argv) {
  take_standard_descriptors();
  std::signal(SIGXFSZ, SIG_IGN);  // a limit on the size of files (ulimit -f) is then reported like a full disk
  const std::vector<std::string> words(argv + 1, argv + argc);
  const bool json = asks_for_json(words);
  const std::vector<Command> commands =
      with_engine_commands(parse_json(embedded::table::commands_json(), "the table of commands"));
  std::vector<Page> pages;
  for (const embedded::pages::File& file : embedded::pages::files()) pages.push_back({file.path, file.bytes});
  const Program program{commands, embedded::table::table_json(), embedded::table::operators_txt(), pages};
  try {
    try {
      return perform(program, parse_arguments(program.commands, words));
    } catch (const std::exception& exception) {
      return tell(as_error(exception), json);
    }
  } catch (const Error&) {
    return static_cast<int>(ErrorKind::run);  // standard output cannot be written, so nothing can be reported
  }
}

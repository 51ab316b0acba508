#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/arguments.h"
#include "cli/ending.h"
#include "report/texts.h"

namespace trainlab::cli {

namespace {

int output_width() {
  winsize size = {};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col >= 40) return size.ws_col;
  return 100;
}

// `name` is that of a command, an operator, an entry or a group; empty: all entries.
std::string help_on(const Program& program, const std::string& name) {
  if (const Command* command = find_command(program.commands, name)) return command_help(*command);
  for (const char* operators : {"ops", "lab.ops"}) {
    if (name == operators || name.starts_with(operators + std::string("."))) {
      return report::operator_help(program.operators, name, output_width());
    }
  }
  const Registry registry = Registry::from_value(parse_json(program.entries, "the table of entries"));
  return name.empty() ? report::entry_list(registry, output_width())
                      : report::entry_help(registry, name, output_width());
}

}  // namespace

Command help_command() {
  return {
      .name = "help",
      .line = "what a recipe can name",
      .text =
          "NAME is an entry (nn.Linear, optim.AdamW, data:split), a group of them (nn, loss, data, ops) or a "
          "command.\n"
          "Without one: all entries by kind.\n",
      .words = {.operand = "NAME", .what = "one name", .most = 1, .names = FlagType::Names::nothing},
      .run =
          [](const Program& program, const Arguments& given) {
            const std::string name = given.words.empty() ? "" : given.words.front();
            print_text(help_on(program, name), given.has("json"), "help");
            return 0;
          },
  };
}

}  // namespace trainlab::cli

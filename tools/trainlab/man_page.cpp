// The manual page trainlab(1), made from the records of the commands. Its texts are those of the help, line by line.
#include "cli/command.h"
#include "run/version.h"

namespace trainlab::cli {

namespace {

// Escapes a text so that roff shows it unchanged: control characters at the beginning of lines, backslashes, hyphens.
std::string as_is(const std::string& text) {
  std::string roff;
  bool begins_line = true;
  for (const char c : text) {
    if (begins_line && (c == '.' || c == '\'')) roff += "\\&";
    if (c == '\\') {
      roff += "\\e";
    } else if (c == '-') {
      roff += "\\-";
    } else {
      roff += c;
    }
    begins_line = c == '\n';
  }
  return roff;
}

std::string section(const std::string& request, const std::string& title, const std::string& text) {
  return request + " \"" + as_is(title) + "\"\n.nf\n" + as_is(text) + ".fi\n";
}

}  // namespace

std::string man_page(std::span<const Command> commands) {
  std::string page = ".TH TRAINLAB 1 \"\" \"trainlab " + std::string(version()) +
                     "\"\n.SH NAME\ntrainlab \\- machine\\-learning experiments as short Lua recipes\n";
  page += section(".SH", "DESCRIPTION", program_help(commands));
  page += ".SH COMMANDS\n";
  for (const Command& command : commands) {
    page += section(".SS", "trainlab " + command.name, command.line + "\n\n" + command_help(command));
  }
  return page;
}

}  // namespace trainlab::cli

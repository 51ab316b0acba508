// Parses the command line of `trainlab`.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "cli/command.h"
#include "core/value.h"
#include "run/request.h"

namespace trainlab::cli {

struct Arguments {
  // nullptr when only --help, --version or nothing is given. A line that begins with a recipe is `run`.
  const Command* command = nullptr;
  std::vector<std::string> words;  // the command's words: RECIPE, RUN…, DIR…, NAME

  // The recipe's parameters: everything after the recipe's path that is no flag of trainlab.
  std::vector<GivenParameter> parameters;

  // The names of all flags that the line may have, without dashes, of a line with a command.
  std::vector<std::string> known_flags = {};

  // The given flags by name without dashes, with their values in the types of the flags.
  Value flags = Value::Map{};

  bool has(const std::string& flag) const { return !flags[flag].is_nil(); }
};

// Parses the words of a command line. Raises Error{usage} that says what was expected and suggests a similar name. The
// commands must outlive the result.
Arguments parse_arguments(std::span<const Command> commands, std::span<const std::string> words);

// Whether the line asks for JSON, also when it cannot be parsed.
bool asks_for_json(std::span<const std::string> words);

}  // namespace trainlab::cli

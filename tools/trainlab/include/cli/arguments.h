// The command line of `trainlab`.
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
  std::vector<std::string> words;  // what the command takes: RECIPE, RUN…, DIR…, NAME

  // A recipe's own: everything after its path that is no flag of trainlab.
  std::vector<GivenParameter> parameters;

  // The flags that are given, by name without dashes, as their types read them.
  Value flags = Value::Map{};

  bool has(const std::string& flag) const { return !flags[flag].is_nil(); }
};

// Raises Error{usage} saying what was expected, with a did-you-mean. The commands must outlive what is returned.
Arguments parse_arguments(std::span<const Command> commands, std::span<const std::string> words);

// Whether the line asks for JSON, also when it cannot be parsed.
bool asks_for_json(std::span<const std::string> words);

}  // namespace trainlab::cli

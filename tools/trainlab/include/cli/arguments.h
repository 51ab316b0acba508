// The command line of `trainlab`.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "run/request.h"

namespace trainlab::cli {

struct Arguments {
  // run, check, resume, extend, predict, list, report, help; empty when only --help, --version or nothing is given. A
  // line that begins with a recipe is `run`.
  std::string command;
  std::vector<std::string> words;  // what the command takes: RECIPE, RUN…, DIR…, NAME

  // A recipe's own: everything after its path that is no common flag.
  std::vector<GivenParameter> parameters;

  std::vector<std::string> set;
  std::optional<std::string> out, device, params, stdlib;
  std::optional<int> threads, workers;
  std::optional<std::int64_t> seed, epochs, steps, trials;
  std::optional<std::string> html;  // report
  // predict
  std::optional<std::string> input, output, format, stage, model, prompt;
  std::optional<std::int64_t> batch, length, top_k;
  std::optional<double> temperature, top_p;
  bool json = false, quiet = false, step = false, csv = false, help = false, version = false;
};

// Raises Error{usage} saying what was expected, with a did-you-mean.
Arguments parse_arguments(std::span<const std::string> words);

// Whether the line asks for JSON, also when it cannot be parsed.
bool asks_for_json(std::span<const std::string> words);

// The whole program's help; a command's (`resume`), or nullopt when there is none of this name.
std::string program_help();
std::optional<std::string> command_help(const std::string& command);

}  // namespace trainlab::cli

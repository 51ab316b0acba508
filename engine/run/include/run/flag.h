// Flag: one "--name" of the command line, as data. Parsing, help, completion, the names that a recipe's parameters may
// not take, what an engine is told, and what a run records and compares all come from these records.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/value.h"

namespace trainlab {

class Registry;

struct FlagType {
  std::string operand;  // what help shows in place of the value: "N", "DIR"; empty for a switch, which takes no value
  // The value that a text says. Raises Error{usage} that names the flag, given with its dashes, when the text does not
  // fit. Of a switch: true.
  std::function<Value(const std::string& flag, const std::string& text)> read;
  std::vector<std::string> words = {};                                  // the texts that completion offers
  enum class Names { nothing, files, folders } names = Names::nothing;  // what else completion offers
  // From this and the fields above flag_from makes the type again: the name of the function below that made it, as
  // "whole" for whole_type, and the range of its numbers. Empty for the types that only common flags have.
  std::string kind = {};
  Value low = {}, high = {};  // of whole_type integers, of number_type numbers, else nil
  std::string range = {};
};

FlagType switch_type();
FlagType text_type(std::string operand);
FlagType file_type(std::string operand);
FlagType folder_type(std::string operand);
// One of these words.
FlagType choice_type(std::string operand, std::vector<std::string> words);
// A whole number from `low` to `high`.
FlagType whole_type(std::string operand, std::int64_t low, std::int64_t high);
// A number from `low` to `high`; messages call the range `range`, as in "from 0".
FlagType number_type(std::string operand, double low, double high, const std::string& range);
// "90 s", "90 min", "3 h": read as seconds.
FlagType time_type();

// The meaning that a recorded value had when the run was begun.
struct Circumstances {
  int cores = 1;             // usable cores
  const Registry& registry;  // the stages that a recipe can make
};

// How a run records the value of a flag in its manifest, and what another value means when the run is continued.
struct Recorded {
  enum class Difference {
    refused,  // another run: the difference is an error
    told,     // accepted, recorded, and told with its `effect`; the recorded value holds where the flag is not given
    noted,    // accepted, recorded, and said to be not byte-exact; the recorded value holds where the flag is not given
  } difference = Difference::refused;
  // Gives the part of a recorded value that is compared. nullptr: the value itself.
  Value (*compared)(const Value& value, const Circumstances& begun) = nullptr;
  // Stands in a manifest only where it was given. A flag that is added needs this: the manifests of earlier versions
  // lack it, and would be damaged.
  bool only_given = false;
  // The sentence that tells a difference whose run may stay byte-exact; a stage that does not says so itself.
  const char* effect = "";
};

struct Flag {
  std::string name;  // without dashes
  FlagType type;
  std::string help;      // line breaks are indented where the help is shown
  bool repeats = false;  // may stand several times on a line: the value is the list of all
  // A common flag concerns all commands or some of them. These take the flag, beside the commands that have the flag
  // among their own: all; those that start an engine; those that execute a recipe or train, which may have trials;
  // those that execute a recipe; those that execute a recipe and train.
  enum class Concerns { everything, engine, trials, recipe, new_run } concerns = Concerns::everything;
  // The value that holds where the flag is not given, which help shows. nil, 0, an empty text and an empty list stand
  // for nothing, or for what `help` says. A recorded flag says one that is not nil: the value in a manifest must be of
  // the same kind.
  Value otherwise = {};
  std::string needs = {};                 // name of the flag without which this one means nothing
  std::optional<Recorded> recorded = {};  // without: the value is free, and no run records it
};

// The value of a flag among the values of the given flags by name; Flag::otherwise where the flag is not given.
const Value& value_of(const Flag& flag, const Value& given);
// The help of a flag, with the flag that it needs, and with what holds where it is not given: "with --input: number of
// samples at a time (default 256)".
std::string help_of(const Flag& flag);

// A flag of a command as data, and back, for the table of commands that the engine writes for `trainlab`. A common flag
// is known by its name. std::logic_error for what is no flag.
Value to_value(const Flag& flag);
Flag flag_from(const Value& value);

// The flags that may stand anywhere on a command line, in the order of the help. Made once; any thread.
const std::vector<Flag>& common_flags();

// The common flag of this name, which must exist; with another help where one is given.
Flag common_flag(const std::string& name, const std::string& help = "");

// --stage of the commands that measure a stage of a recipe.
Flag stage_flag();

}  // namespace trainlab

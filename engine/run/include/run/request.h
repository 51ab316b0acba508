// Request: what one engine process is asked to do. The thin program makes it from the command line (and from the
// manifest of a run that is continued) and hands it over as one JSON argument.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/value.h"
#include "run/new_total.h"

namespace trainlab {

// A recipe's parameter as the user gave it; its type is known to the recipe only.
struct GivenParameter {
  std::string name;
  std::string text;     // "0.01", "true"
  std::string from;     // for messages: "--lr", "grid.toml:3", "manifest.toml"
  bool quoted = false;  // a string of a TOML file, which is no number and no boolean there

  bool operator==(const GivenParameter&) const = default;
};

struct Request {
  // The name of a command in tools/engine/commands, which the engine executes.
  std::string command = "run";
  // The word before the recipe, for a command that does several things (Command::choices); empty for all others.
  std::string choice;
  // The values of the flags that are given, the command's own and common ones, by name as their types read them, with
  // absolute paths; and what else the command hands to its engine.
  Value options = Value::Map{};
  // The files and folders that flags name, absolute: a recipe may read them.
  std::vector<std::filesystem::path> named;

  // The file to execute, absolute. Of a continued run: the stored copy in RUN/recipe/.
  std::filesystem::path recipe;
  // Where the recipe lies, or lay when the run was begun: paths written in a recipe are relative to it. Modules come
  // from beside `recipe`; one that the stored copy lacks (it was never loaded so far) comes from here.
  std::filesystem::path recipe_folder;
  // A second recipe that is compared with the first, absolute; empty where there is none.
  std::filesystem::path second;
  // Parameters of type "path" are relative to it.
  std::filesystem::path working_folder;

  // From the least to the most significant: a later one of the same name wins (--params first, then the line).
  std::vector<GivenParameter> parameters;
  std::optional<NewTotal> extend;  // `trainlab extend`
  bool terminal = false;           // standard error is a terminal: progress may be redrawn in place

  // This engine works on trials of the run in the option "out", which another engine executes.
  bool helps = false;
  // It does so without belonging to the run's supervisor (`trainlab worker`).
  bool joins = false;
  // The number of this engine among those of the supervisor, from 0: of a kind with several devices each takes another.
  int worker = 0;

  // When the run's program began with this process, by steady_seconds(); 0: unknown. A budget of time counts from here.
  double begun = 0;
  // The process that supervises. An engine whose parent is another one ends at once.
  std::int64_t supervisor = 0;

  // Whether the command works on a run that stays. Any other command that runs stages does so in a folder that is
  // removed with its process.
  bool keeps_run() const { return command == "run"; }
  // `trainlab resume RUN --recipe FILE`: FILE is executed, and `recipe` is what it is compared with.
  bool mends() const { return has("recipe") && !helps; }
  // The recipe as a user names it: relative to the working folder where that is no longer. Of a continued run: the
  // place where the recipe lay.
  std::string shown_recipe() const;
  bool has(std::string_view option) const { return !options[option].is_nil(); }
  // An option that is a path, and the texts of an option that is a list; empty where it is not given.
  std::optional<std::filesystem::path> path(std::string_view option) const;
  std::vector<std::string> texts(std::string_view option) const;

  Value to_value() const;
  // Raises Error{run} for what is not a request: the two programs are of different builds.
  static Request from_value(const Value& value);
};

}  // namespace trainlab

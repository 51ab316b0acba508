// Changes of a stage that were tried and found to be faster or better: `trainlab profile` and `trainlab find` write
// them with --apply FILE, and `trainlab run --apply FILE` makes them.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "run/request.h"

namespace trainlab {

// With what changes were tried: they are valid for the same recipe, which is its sources, the values of its parameters
// and --set. Members but `recipe` are nil in files of earlier versions, and then not compared.
struct TriedWith {
  std::string recipe;     // hash_file of the recipe
  Value sources = {};     // the hash of each module that the recipe has loaded, by its path from the recipe's folder
  Value parameters = {};  // the texts that were given for parameters, by name
  Value set = {};         // the texts of --set
  Value device = {};      // as after --device
  Value threads = {};     // as after --threads; "auto" without this flag
};

// `sources`: the hashes of the recipe and its modules, as Run::source_hashes() has them.
TriedWith tried_with(const Request& request, const std::map<std::string, std::string>& sources);

struct AppliedChanges {
  TriedWith with;
  std::string stage;             // its name
  std::vector<std::string> set;  // as after --set: "loader.threads=2"
  std::optional<int> threads;    // of operators
  std::string machine = {};      // on which they were tried; empty in files of earlier versions

  bool is_none() const { return set.empty() && !threads; }
};

// Asked before the work of --apply: Error{usage} for a file that cannot be written (core/files.h: check_output), and
// for one that is there already and holds no changes. Written, it would replace the recipe itself, for example.
void check_changes(const std::filesystem::path& file);

// A TOML file, which names this machine. Raises the errors of write_atomic.
void write_changes(const std::filesystem::path& file, const AppliedChanges& changes);

// Makes the changes of the file part of the request, as if they stood before all other flags: --set and --threads of
// the command line win. Raises Error{usage} for what is no such file, and for another recipe: further --set are none.
// Returns a warning for the user where the file has no changes, or where they were tried on another machine or device,
// or with other threads.
std::optional<std::string> apply_changes(const std::filesystem::path& file, Request& request);

}  // namespace trainlab

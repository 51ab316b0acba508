// manifest.toml: what a run was begun with. Whoever continues a run compares with it; `trainlab resume` runs from it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/value.h"
#include "run/flag.h"
#include "run/request.h"

namespace trainlab {

class Registry;

// The record that a run keeps of these flags, by name: the given value of each flag that is recorded, or what its
// record says instead.
Value::Map recorded_settings(const Value& given = Value::Map{});

struct Manifest {
  static constexpr int current_format = 1;

  std::string trainlab;  // versions with which the run was begun, also of a run that others have continued
  std::string libtorch;
  std::string started;  // wall_text()

  std::string recipe;                          // of the recipe in recipe/, "digits.lua"
  std::filesystem::path recipe_folder;         // where it lay
  std::filesystem::path working_folder;        // where `trainlab` was called
  std::map<std::string, std::string> sources;  // path below recipe/ → hash; the recipe and what it required

  Value::Map parameters;  // every declared parameter's value (boolean, number, integer, string)
  // The flags that a run records, by name, each as its record says (run/flag.h): "device" as given, "auto" resolved
  // ("cpu", "cuda", "cuda:1"); "threads" 0 where each kind of stage takes its own number.
  Value::Map settings = recorded_settings();
  int cores = 0;  // usable cores when the run was begun
  // False once the run was continued with other threads, another device or other versions, or had to go on in another
  // way because memory had run out.
  bool exact = true;
  std::vector<std::string> continued;  // what differed then, a line each with its time

  std::vector<std::string> mended;  // recipes that were replaced while the run went on, a line each with its time

  // `trainlab extend`: the new totals of this stage, at most a length and a time.
  struct Extension {
    std::string stage;
    std::vector<NewTotal> totals;
  };
  std::optional<Extension> extension;

  std::string study;  // RunSettings::study
  Value::Map chosen;  // RunSettings::chosen, by stage
  Value::Map fixes;   // RunSettings::fixes, by stage
  Value price;        // PaidTime::price, nil without
  Value::Map latest;  // by folder runs/NAME, what Run::latest() gave: a run's folder, or an empty text

  const Value& setting(const std::string& flag) const { return settings.at(flag); }
  // Threads of a single training: those of --threads, or all cores.
  int training_threads() const;

  // One hash of all sources and their paths.
  std::string recipe_hash() const;
};

// The manifest as data, and back. Raises damaged_file naming `place` for what is no manifest, Error{usage} for a newer
// format.
Value to_value(const Manifest& manifest);
Manifest manifest_from(const Value& map, const std::filesystem::path& place);

std::filesystem::path manifest_path(const std::filesystem::path& run);

// Raises as write_atomic does.
void write_manifest(const std::filesystem::path& run, const Manifest& manifest);
// Raises Error{usage} naming the file when `run` is no run folder, the file is damaged, or of a newer format.
Manifest read_manifest(const std::filesystem::path& run);

// The differences that make `present` another run than `recorded`, a readable line each: the recipe, its sources by
// file, each parameter with both values, the flags whose record says so. Sources that `present` does not have (yet) are
// no difference: modules may be loaded late. Empty: the same run. `registry` has the stages that a recipe can make.
std::vector<std::string> differences(const Manifest& recorded, const Manifest& present, const Registry& registry);
// The reasons why a continued run is not byte-exact: the flags whose record says so, versions.
std::vector<std::string> inexactness(const Manifest& recorded, const Manifest& present, const Registry& registry);
// The flags with another value that need not make the run inexact, each with its effect.
std::vector<std::string> told_differences(const Manifest& recorded, const Manifest& present, const Registry& registry);

// Parameters from a TOML file (--params): names to booleans, numbers and strings, as texts with their line.
// Raises Error{usage} with file and line for what is no such file.
std::vector<GivenParameter> read_parameters(const std::filesystem::path& file);

}  // namespace trainlab

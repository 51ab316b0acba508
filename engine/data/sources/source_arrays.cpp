// data.npy, data.npz, data.safetensors: columns that are arrays in files.
#include <algorithm>
#include <filesystem>
#include <functional>

#include "core/long_reading.h"
#include "core/words.h"
#include "npz.h"
#include "set/arrays.h"
#include "set/input_files.h"
#include "set/sources.h"
#include "tensor/npy.h"

namespace trainlab {

namespace fs = std::filesystem;

namespace {

std::vector<std::string> strings(const Options& spec, std::string_view option) {
  std::vector<std::string> all;
  if (!spec.has(option)) return all;
  for (const Value& one : spec.get(option).list()) all.push_back(one.string());
  return all;
}

DataParts parts_of(const std::vector<NamedArray>& arrays) {
  DataParts parts;
  parts.train = whole(dataset_of(arrays));
  return parts;
}

DataParts make_npy(const Options& spec, const DataContext&) {
  std::vector<NamedArray> arrays;
  const auto add = [&](std::string_view option, const std::string& column, const fs::path& path) {
    placed_at(spec, option, [&] {
      const LongReading reading(path);
      InputFile file = open_input(path);
      arrays.push_back({column, load_npy(file, file.name()), file.name()});
    });
  };
  add("x", "x", spec.string("x"));
  if (spec.has("y")) add("y", "y", spec.string("y"));
  for (const std::string& path : strings(spec, "more")) add("more", fs::path(path).stem().string(), path);
  return placed_at(spec, "", [&] { return parts_of(arrays); });
}

// Columns from a file of named arrays.
DataParts take_columns(const Options& spec, const std::string& file, const std::vector<std::string>& names,
                       const std::function<at::Tensor(const std::string&)>& load) {
  std::vector<NamedArray> arrays;
  const auto add = [&](std::string_view option, const std::string& column, const std::string& name) {
    placed_at(spec, option, [&] {
      if (std::find(names.begin(), names.end(), name) == names.end()) {
        Error error = recipe_error(file + ": there is no array \"" + name + "\" in it");
        throw error.hint("the arrays are " + joined_start(names, 20, valid_utf8));
      }
      arrays.push_back({column, load(name), file + ": " + name});
    });
  };
  add("x", "x", spec.string("x"));
  const bool has_y = std::find(names.begin(), names.end(), spec.string("y")) != names.end();
  if (has_y || spec.given("y")) add("y", "y", spec.string("y"));
  for (const std::string& name : strings(spec, "more")) add("more", name, name);
  return placed_at(spec, "path", [&] { return parts_of(arrays); });
}

DataParts make_npz(const Options& spec, const DataContext&) {
  const std::string& path = spec.string("path");
  const LongReading reading(path);
  const NpzFile file = placed_at(spec, "path", [&] { return NpzFile(path); });
  return take_columns(spec, path, file.names(), [&](const std::string& name) { return file.load(name); });
}

DataParts make_safetensors(const Options& spec, const DataContext&) {
  const std::string& path = spec.string("path");
  const LongReading reading(path);
  const LoadedTensors loaded = placed_at(spec, "path", [&] { return tensors_of(path); });
  std::vector<std::string> names;
  for (const auto& [name, tensor] : loaded.tensors) names.push_back(name);
  return take_columns(spec, path, names, [&](const std::string& name) { return loaded.tensors.at(name); });
}

// x, y and more of a file of named arrays.
Entry named_arrays(const char* name, const char* doc, const char* path) {
  return Entry(name, "data", doc)
      .with(Option("path", path).path().required().positional())
      .with(Option("x", "name of the array of inputs").string().or_default("x"))
      .with(Option("y",
                   "name of the array of targets; if the option is not given and there is no array \"y\", the data has "
                   "no targets")
                .string()
                .or_default("y"))
      .with(Option("more", "names of further arrays: each appears in the batch under its own name").string().many())
      .returns("x, y and more: floats as float32, whole numbers as int64; one training part");
}

constexpr const char* rules =
    "The first axis counts the samples. Floats become float32 ([N] becomes [N, 1]), whole numbers int64, and bytes "
    "(uint8) float32 in 0…1. Whole numbers in y are classes from 0, and the number of classes is the largest + 1; "
    "numbers below 0 and from 1,000,000 on mark what does not count (ignore_index); "
    "floats in y are the targets of a regression. NaN and infinity are refused.";

}  // namespace

void register_source_arrays(Registry& registry) {
  registry.add(
      Entry("data.npy", "data", "Arrays from NumPy's .npy files, a file for each column.")
          .with(Option("x", "file of the inputs").path().required().positional())
          .with(Option("y", "file of the targets; without this option the data has no targets").path().positional())
          .with(Option("more", "files of further columns; each column has the name of its file without .npy")
                    .path()
                    .many())
          .returns("x, y and more: floats as float32, whole numbers as int64; one training part")
          .example("lab.data.npy { x = \"images.npy\", y = \"labels.npy\" }")
          .note(rules),
      DataFactory{make_npy});
  registry.add(
      named_arrays("data.npz", "Arrays from NumPy's .npz file, as savez and savez_compressed write it.", "the file")
          .example("lab.data.npz { \"set.npz\", x = \"images\", y = \"labels\", more = { \"mask\" } }")
          .note(rules),
      DataFactory{make_npz});
  registry.add(named_arrays("data.safetensors", "Arrays from a safetensors file.", "the file")
                   .example("lab.data.safetensors { \"set.safetensors\", x = \"images\", y = \"labels\" }")
                   .note(rules),
               DataFactory{make_safetensors});
}

}  // namespace trainlab

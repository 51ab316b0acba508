#include "run/manifest.h"

#include <algorithm>
#include <stdexcept>

#include "core/error.h"
#include "core/file_of_flag.h"
#include "core/files.h"
#include "run/flag.h"
#include "run/folder.h"
#include "run/toml_text.h"

namespace trainlab {

namespace fs = std::filesystem;

namespace {

constexpr std::int64_t largest_toml = std::int64_t{64} << 20;

template <class Strings>
Value list_of(const Strings& strings) {
  Value::List list;
  for (const std::string& text : strings) list.emplace_back(text);
  return list;
}

// Why a manifest is damaged.
class Damage : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The value of this name in a table, which must be of the kind of `otherwise`; a list holds strings. Raises Damage.
const Value& stored_value(const Value& table, const std::string& name, const Value& otherwise) {
  const Value& stored = table[name];
  if (stored.is_nil()) throw Damage(name + " is missing");
  const bool fits = stored.kind_name() == otherwise.kind_name() &&
                    (!stored.is_list() || std::ranges::all_of(stored.list(), &Value::is_string));
  if (!fits) throw Damage(name + " is " + stored.brief());
  return stored;
}

std::vector<std::string> strings_of(const Value& list) {
  std::vector<std::string> strings;
  for (const Value& text : list.list()) strings.push_back(text.string());
  return strings;
}

// The value of a recorded flag in the table of a manifest. Raises Damage.
const Value& stored_setting(const Value& manifest, const Flag& flag) {
  const Value& otherwise = flag.otherwise;
  if (flag.recorded->only_given && manifest[flag.name].is_nil()) return otherwise;
  return stored_value(manifest, flag.name, otherwise);
}

Value read_toml(const fs::path& path) {
  const std::string text = read_file(path, largest_toml);
  if (text.empty()) throw Damage("it is empty");
  try {
    return parse_toml(text, path.string());
  } catch (const Error& error) {
    throw Damage("line " + std::to_string(error.line()) + " is not valid TOML");
  }
}

}  // namespace

Value::Map recorded_settings(const Value& given) {
  Value::Map settings;
  for (const Flag& flag : common_flags()) {
    if (!flag.recorded) continue;
    settings.emplace(flag.name, value_of(flag, given));
  }
  return settings;
}

int Manifest::training_threads() const {
  const auto threads = static_cast<int>(setting("threads").integer());
  return threads > 0 ? threads : cores;
}

std::string Manifest::recipe_hash() const {
  std::string joined;
  for (const auto& [path, hash] : sources) joined += path + "\n" + hash + "\n";
  return hash_bytes(joined);
}

fs::path manifest_path(const fs::path& run) { return run / "manifest.toml"; }

Value to_value(const Manifest& manifest) {
  Value::Map hashes;
  for (const auto& [path, hash] : manifest.sources) hashes.emplace(path, hash);
  Value::Map map{
      {"format", Manifest::current_format},
      {"trainlab", manifest.trainlab},
      {"libtorch", manifest.libtorch},
      {"started", manifest.started},
      {"recipe", manifest.recipe},
      {"recipe_hash", manifest.recipe_hash()},
      {"recipe_folder", manifest.recipe_folder.string()},
      {"working_folder", manifest.working_folder.string()},
      {"sources", std::move(hashes)},
      {"parameters", manifest.parameters},
      {"cores", manifest.cores},
      {"exact", manifest.exact},
      {"continued", list_of(manifest.continued)},
  };
  for (const Flag& flag : common_flags()) {
    if (!flag.recorded || (flag.recorded->only_given && manifest.setting(flag.name) == flag.otherwise)) continue;
    map.emplace(flag.name, manifest.setting(flag.name));
  }
  if (!manifest.study.empty()) map["study"] = manifest.study;
  if (!manifest.chosen.empty()) map["chosen"] = manifest.chosen;
  if (!manifest.fixes.empty()) map["fixes"] = manifest.fixes;
  if (!manifest.price.is_nil()) map["price"] = manifest.price;
  if (!manifest.latest.empty()) map["latest"] = manifest.latest;
  if (!manifest.mended.empty()) map["mended"] = list_of(manifest.mended);
  if (manifest.extension) {
    Value extension = Value::Map{{"stage", manifest.extension->stage}};
    for (const NewTotal& total : manifest.extension->totals) extension.set(total.unit, total.stored());
    map["extend"] = std::move(extension);
  }
  return map;
}

void write_manifest(const fs::path& run, const Manifest& manifest) {
  write_atomic(manifest_path(run), to_toml(to_value(manifest)));
}

Manifest read_manifest(const fs::path& run) {
  const fs::path path = manifest_path(run);
  std::error_code ignored;
  if (!fs::exists(path, ignored)) {
    throw usage_error(run.string() + " is not a run folder: it has no manifest.toml")
        .hint("`trainlab list` shows the runs below this folder");
  }
  try {
    return manifest_from(read_toml(path), path);
  } catch (const Damage& damage) {
    throw damaged_file(path, damage.what());
  }
}

Manifest manifest_from(const Value& map, const fs::path& place) {
  try {
    const auto text = [&](const char* name) { return stored_value(map, name, "").string(); };
    if (stored_value(map, "format", 1).integer() != Manifest::current_format) {
      throw usage_error(place.string() + " has format " + map["format"].brief() + "; this trainlab reads format " +
                        std::to_string(Manifest::current_format));
    }
    Manifest manifest;
    manifest.trainlab = text("trainlab");
    manifest.libtorch = text("libtorch");
    manifest.started = text("started");
    manifest.recipe = text("recipe");
    manifest.recipe_folder = text("recipe_folder");
    manifest.working_folder = text("working_folder");
    const Value& sources = stored_value(map, "sources", Value::Map{});
    for (const auto& [file, hash] : sources.map()) manifest.sources[file] = stored_value(sources, file, "").string();
    manifest.parameters = stored_value(map, "parameters", Value::Map{}).map();
    for (const Flag& flag : common_flags()) {
      if (flag.recorded) manifest.settings[flag.name] = stored_setting(map, flag);
    }
    manifest.cores = static_cast<int>(stored_value(map, "cores", 1).integer());
    manifest.exact = stored_value(map, "exact", true).boolean();
    manifest.continued = strings_of(stored_value(map, "continued", Value::List{}));
    if (!map["study"].is_nil()) manifest.study = text("study");
    if (!map["chosen"].is_nil()) {
      manifest.chosen = stored_value(map, "chosen", Value::Map{}).map();
      for (const auto& [stage, options] : manifest.chosen) stored_value(map["chosen"], stage, Value::Map{});
    }
    if (!map["fixes"].is_nil()) {
      manifest.fixes = stored_value(map, "fixes", Value::Map{}).map();
      for (const auto& [stage, fixes] : manifest.fixes) {
        if (!fixes.is_list()) throw Damage("fixes." + stage + " is " + fixes.brief());
        for (const Value& fix : fixes.list())
          if (!fix.is_map()) throw Damage("fixes." + stage + " has " + fix.brief());
      }
    }
    if (!map["price"].is_nil()) manifest.price = stored_value(map, "price", Value::Map{});
    if (!map["latest"].is_nil()) {
      manifest.latest = stored_value(map, "latest", Value::Map{}).map();
      for (const auto& [runs, run] : manifest.latest) stored_value(map["latest"], runs, "");
    }
    if (!map["mended"].is_nil()) manifest.mended = strings_of(stored_value(map, "mended", Value::List{}));
    if (!map["extend"].is_nil()) {
      const Value& extension = stored_value(map, "extend", Value::Map{});
      manifest.extension = {.stage = stored_value(extension, "stage", "").string(), .totals = {}};
      for (const auto& [unit, count] : extension.map()) {
        if (unit == "stage") continue;
        if (!count.is_number()) throw Damage(unit + " is " + count.brief());
        manifest.extension->totals.push_back({count.number(), unit});
      }
    }
    return manifest;
  } catch (const Damage& damage) {
    throw damaged_file(place, damage.what());
  }
}

std::vector<GivenParameter> read_parameters(const fs::path& file) {
  std::error_code ignored;
  if (!fs::exists(file, ignored)) throw usage_error("--params: there is no file " + file.string());
  if (!fs::is_regular_file(file, ignored))
    throw usage_error("--params: expected a file in TOML, found " + unusual_file(file) + file.string());
  std::vector<GivenParameter> given;
  for (const TomlMember& member : parse_toml_members(read_file_of("--params", file, largest_toml), file.string())) {
    const Value& value = member.value;
    std::string text;
    if (value.is_string()) {
      text = value.string();
    } else if (value.is_boolean()) {
      text = value.boolean() ? "true" : "false";
    } else if (value.is_integer()) {
      text = std::to_string(value.integer());
    } else if (value.is_number()) {
      text = number_text(value.number());
    } else {
      Error error = usage_error("parameter " + member.name + ": expected a boolean, a number or a string, found " +
                                value.brief());
      // The changes that a search or a profile has written have this list.
      if (member.name == "set") error.hint("changes of options: trainlab run RECIPE.lua --apply " + file.string());
      throw error.at(file.string(), member.line);
    }
    const std::string from = file.string() + ":" + std::to_string(member.line);
    given.push_back({member.name, std::move(text), from, value.is_string()});
  }
  return given;
}

}  // namespace trainlab

#include "run/applied.h"

#include <algorithm>

#include "core/error.h"
#include "core/file_of_flag.h"
#include "core/files.h"
#include "core/host.h"
#include "core/words.h"
#include "run/flag.h"
#include "run/run.h"
#include "run/shell_word.h"
#include "run/toml_text.h"

namespace trainlab {

namespace {

std::string this_machine() { return processor_name() + ", " + counted(usable_cores(), "core"); }

// The texts that a request gives for parameters, by name.
Value parameters_of(const Request& request) {
  Value all = Value::Map{};
  for (const GivenParameter& one : request.parameters) all.set(one.name, one.text);
  return all;
}

Value set_of(const Request& request) {
  const std::vector<std::string> texts = request.texts("set");
  return Value::List(texts.begin(), texts.end());
}

// The value that the request has after a flag; "auto" where the flag is not given.
Value given_or_auto(const Request& request, const char* flag) {
  return request.has(flag) ? request.options[flag] : Value("auto");
}

std::string threads_flag(const Value& threads) {
  return threads.is_integer() ? "--threads " + std::to_string(threads.integer()) : "no --threads";
}

// How the recipe of the request differs from the recipe with which the changes were tried; empty: in nothing.
std::string difference(const TriedWith& with, const Request& request) {
  if (with.recipe != hash_file(request.recipe)) return "another text of the recipe than " + request.recipe.string();
  if (with.sources.is_map()) {
    for (const auto& [path, hash] : with.sources.map()) {
      const std::filesystem::path file = request.recipe.parent_path() / path;
      if (!std::filesystem::is_regular_file(file) || hash != Value(hash_file(file)))
        return "another text of " + path + ", which the recipe loads";
    }
  }
  if (with.parameters.is_map()) {
    const Value now = parameters_of(request);
    const auto flag = [](const Value& values, const std::string& name) {
      return values[name].is_string() ? "--" + name + " " + values[name].string() : "no --" + name;
    };
    for (const Value& names : {with.parameters, now}) {
      for (const auto& [name, text] : names.map())
        if (with.parameters[name] != now[name])
          return flag(with.parameters, name) + ", and this run has " + flag(now, name);
    }
  }
  if (with.set.is_list()) {
    const Value now = set_of(request);
    for (const Value& one : with.set.list())
      if (std::ranges::count(now.list(), one) == 0) return "--set " + one.string() + ", and this run is without";
  }
  return "";
}

AppliedChanges read_changes(const std::filesystem::path& file) {
  const auto wrong = [&](const std::string& what) {
    return usage_error("--apply " + file.string() + ": " + what)
        .hint("`trainlab profile RECIPE.lua --apply FILE` and `trainlab find` write such a file");
  };
  const std::string text = read_file_of("--apply", file);
  Value read;
  try {
    read = parse_toml(text, file.string());
  } catch (const Error& error) {
    throw wrong("expected a file of changes, found what is " + error.message() + " in line " +
                std::to_string(error.line()));
  }
  if (read["recipe"].is_nil() && read["stage"].is_nil() && read["set"].is_nil())
    throw wrong("expected a file of changes, found TOML that has neither recipe nor stage nor set");
  AppliedChanges changes;
  for (const auto& [name, to] : {std::pair("recipe", &changes.with.recipe), std::pair("stage", &changes.stage)}) {
    if (!read[name].is_string()) throw wrong(std::string("expected a text under ") + name);
    *to = read[name].string();
  }
  if (!read["set"].is_list()) throw wrong("expected a list under set");
  for (const Value& one : read["set"].list()) {
    if (!one.is_string()) throw wrong("expected texts under set, found " + one.brief());
    changes.set.push_back(one.string());
  }
  if (const Value& threads = read["threads"]; !threads.is_nil()) {
    const FlagType type = common_flag("threads").type;
    if (!threads.is_integer() || threads.integer() < type.low.integer() || threads.integer() > type.high.integer())
      throw wrong("expected a whole number from " + type.low.brief() + " to " + type.high.brief() +
                  " under threads, found " + threads.brief());
    changes.threads = static_cast<int>(threads.integer());
  }
  if (const Value& with = read["with"]; with.is_list()) {
    for (const Value& one : with.list())
      if (!one.is_string()) throw wrong("expected texts under with, found " + one.brief());
  }
  changes.with.sources = read["sources"];
  changes.with.parameters = read["parameters"];
  changes.with.set = read["with"];
  changes.with.device = read["device"];
  changes.with.threads = read["with_threads"];
  if (const Value& machine = read["machine"]; machine.is_string()) changes.machine = machine.string();
  return changes;
}

// The changes as on the command line.
std::string flags_of(const AppliedChanges& changes) {
  std::vector<std::string> flags;
  for (const std::string& one : changes.set) flags.push_back("--set " + shell_word(changes.stage + ":" + one));
  if (changes.threads) flags.push_back("--threads " + std::to_string(*changes.threads));
  return joined(flags, " ");
}

}  // namespace

TriedWith tried_with(const Request& request, const std::map<std::string, std::string>& sources) {
  Value modules = Value::Map{};
  for (const auto& [path, hash] : sources)
    if (path != request.recipe.filename()) modules.set(path, hash);
  return {.recipe = hash_file(request.recipe),
          .sources = std::move(modules),
          .parameters = parameters_of(request),
          .set = set_of(request),
          .device = given_or_auto(request, "device"),
          .threads = given_or_auto(request, "threads")};
}

void check_changes(const std::filesystem::path& file) {
  check_output("--apply", file);
  if (!std::filesystem::exists(std::filesystem::symlink_status(file))) return;
  try {
    read_changes(file);
  } catch (const std::exception&) {
    throw usage_error("--apply: " + file.string() +
                      " is there already, and is no file of changes, which it would become")
        .hint(
            "a new file: --apply changes.toml; `trainlab run RECIPE.lua --apply changes.toml` then makes the changes");
  }
}

void write_changes(const std::filesystem::path& file, const AppliedChanges& changes) {
  Value value = Value::Map{{"recipe", changes.with.recipe},
                           {"stage", changes.stage},
                           {"machine", this_machine()},
                           {"device", changes.with.device},
                           {"with", changes.with.set},
                           {"with_threads", changes.with.threads},
                           {"sources", changes.with.sources},
                           {"parameters", changes.with.parameters},
                           {"set", Value::List(changes.set.begin(), changes.set.end())}};
  if (changes.threads) value.set("threads", *changes.threads);
  write_atomic(file, to_toml(value));
}

std::optional<std::string> apply_changes(const std::filesystem::path& file, Request& request) {
  const AppliedChanges changes = read_changes(file);
  if (const std::string other = difference(changes.with, request); !other.empty()) {
    const std::string flags = flags_of(changes);
    throw usage_error("--apply " + file.string() + ": the changes were tried with " + other)
        .hint("try them anew, with --apply, by the command that wrote the file: trainlab profile, or trainlab find" +
              (flags.empty() ? "" : "; or make them as they are: " + flags));
  }
  if (changes.is_none()) return "--apply " + file.string() + ": the file has no changes, so that it changes nothing";
  Value::List set;
  for (const std::string& one : changes.set) set.emplace_back(changes.stage + ":" + one);
  for (const std::string& one : request.texts("set")) set.emplace_back(one);
  if (!set.empty()) request.options.set("set", std::move(set));
  if (changes.threads && !request.has("threads")) request.options.set("threads", *changes.threads);
  const std::string tried = "--apply " + file.string() + ": the changes were tried ";
  const auto tried_on = [&](const std::string& what, const std::string& there, const std::string& here) {
    return tried + "on another " + what + " (" + there + "), and on this one (" + here +
           ") they may gain less, or nothing";
  };
  const std::string here = this_machine();
  if (!changes.machine.empty() && changes.machine != here) return tried_on("machine", changes.machine, here);
  const Value device = given_or_auto(request, "device"), threads = given_or_auto(request, "threads");
  if (changes.with.device.is_string() && changes.with.device != device)
    return tried_on("device", changes.with.device.string(), device.string());
  const Value tried_threads = changes.threads ? Value(*changes.threads) : changes.with.threads;
  if (!tried_threads.is_nil() && tried_threads != threads) {
    return tried + "with " + threads_flag(tried_threads) + ", and in this run, which has " + threads_flag(threads) +
           ", they may gain less, or nothing";
  }
  return std::nullopt;
}

}  // namespace trainlab

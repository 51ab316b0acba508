#include "run/applied.h"

#include "core/error.h"
#include "core/files.h"
#include "core/host.h"
#include "core/words.h"
#include "run/run.h"
#include "run/shell_word.h"
#include "run/toml_text.h"

namespace trainlab {

namespace {

std::string this_machine() {
  const int cores = usable_cores();
  return processor_name() + ", " + std::to_string(cores) + (cores == 1 ? " core" : " cores");
}

AppliedChanges read_changes(const std::filesystem::path& file) {
  const Value read = parse_toml(read_file(file), file.string());
  const auto wrong = [&](const std::string& what) {
    return usage_error("--apply " + file.string() + ": " + what)
        .hint("`trainlab profile RECIPE.lua --apply FILE` and `trainlab find` write such a file");
  };
  AppliedChanges changes;
  for (const auto& [name, to] : {std::pair("recipe", &changes.recipe), std::pair("stage", &changes.stage)}) {
    if (!read[name].is_string()) throw wrong(std::string("expected a text under ") + name);
    *to = read[name].string();
  }
  if (!read["set"].is_list()) throw wrong("expected a list under set");
  for (const Value& one : read["set"].list()) {
    if (!one.is_string()) throw wrong("expected texts under set, found " + one.brief());
    changes.set.push_back(one.string());
  }
  if (const Value& threads = read["threads"]; threads.is_integer()) {
    changes.threads = static_cast<int>(threads.integer());
  } else if (!threads.is_nil()) {
    throw wrong("expected a whole number under threads, found " + threads.brief());
  }
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

void check_replaces_changes(const std::filesystem::path& file) {
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
  Value value = Value::Map{{"recipe", changes.recipe},
                           {"stage", changes.stage},
                           {"machine", this_machine()},
                           {"set", Value::List(changes.set.begin(), changes.set.end())}};
  if (changes.threads) value.set("threads", *changes.threads);
  write_atomic(file, to_toml(value));
}

std::optional<std::string> apply_changes(const std::filesystem::path& file, Request& request) {
  const AppliedChanges changes = read_changes(file);
  if (changes.recipe != hash_file(request.recipe)) {
    const std::string flags = flags_of(changes);
    throw usage_error("--apply " + file.string() + ": the changes were tried with another text of the recipe than " +
                      request.recipe.string())
        .hint("try them anew, with --apply, by the command that wrote the file: trainlab profile, or trainlab find" +
              (flags.empty() ? "" : "; or make them as they are: " + flags));
  }
  if (changes.is_none()) return "--apply " + file.string() + ": the file has no changes, so that it changes nothing";
  Value::List set;
  for (const std::string& one : changes.set) set.emplace_back(changes.stage + ":" + one);
  for (const std::string& one : request.texts("set")) set.emplace_back(one);
  if (!set.empty()) request.options.set("set", std::move(set));
  if (changes.threads && !request.has("threads")) request.options.set("threads", *changes.threads);
  const std::string here = this_machine();
  if (changes.machine.empty() || changes.machine == here) return std::nullopt;
  return "--apply " + file.string() + ": the changes were tried on another machine (" + changes.machine +
         "), and on this one (" + here + ") they may gain less, or nothing";
}

}  // namespace trainlab

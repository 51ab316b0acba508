#include "trainings/seeded_runs.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <string>

#include "cli/ending.h"
#include "core/error.h"
#include "core/files.h"
#include "report/texts.h"
#include "run/folder.h"
#include "run/manifest.h"
#include "trainings/facts.h"

namespace trainlab::cli {

namespace fs = std::filesystem;

std::vector<fs::path> numbered(const fs::path& parent) {
  std::vector<fs::path> all;
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(parent, ignored)) {
    if (run_number(entry.path().filename().string())) all.push_back(entry.path());
  }
  std::ranges::sort(all, {}, [](const fs::path& path) { return *run_number(path.filename().string()); });
  return all;
}

fs::path made_folder(const fs::path& parent) {
  check_outside_runs(parent / "001");
  make_directories(parent);
  const std::vector<fs::path> before = numbered(parent);
  for (int number = before.empty() ? 1 : *run_number(before.back().filename().string()) + 1;; ++number) {
    std::array<char, 16> name{};
    std::snprintf(name.data(), name.size(), "%03d", number);
    const fs::path folder = parent / name.data();
    if (file_calls().make_directory(folder) == 0) return folder;
    if (errno != EEXIST) throw usage_error("cannot make the folder " + folder.string() + ": " + std::strerror(errno));
  }
}

std::optional<EarlierCommand> same_command(const Arguments& given, const fs::path& parent,
                                           const std::function<std::optional<EarlierCommand>(const fs::path&)>& read) {
  std::optional<EarlierCommand> same, of_other_data;  // the latter: the newest that has not ended
  const std::vector<fs::path> all = numbered(parent);
  for (auto folder = all.rbegin(); folder != all.rend() && !same; ++folder) {
    const std::optional<EarlierCommand> command = read(*folder);
    if (!command) continue;
    if (!command->change_of_data) {
      same = command;
    } else if (!of_other_data && !command->has_ended) {
      of_other_data = command;
    }
  }
  if (of_other_data && (!same || same->has_ended)) {
    say(given,
        report::shown_path(of_other_data->folder) + " does not go on, because " + *of_other_data->change_of_data);
  }
  return same;
}

namespace {

fs::path path_of_asked(const fs::path& folder) { return folder / "asked.json"; }

void write_asked(const fs::path& folder, const Value& asked, bool has_ended) {
  write_atomic(path_of_asked(folder), to_json(Value::Map{{"asked", asked}, {"has_ended", has_ended}}, 1) + "\n");
}

}  // namespace

Value asked_of(const fs::path& recipe, std::span<const GivenParameter> parameters) {
  Value::Map texts;
  for (const GivenParameter& one : parameters) texts.insert_or_assign(one.name, one.text);  // a later one wins
  return Value::Map{{"recipe", recipe.string()}, {"hash", hash_file(recipe)}, {"parameters", std::move(texts)}};
}

Value asked_by(const Request& request) {
  Value asked = asked_of(request.recipe, request.parameters);
  asked.set("options", request.options);
  return asked;
}

Value asked_in(const fs::path& folder) { return read_json(path_of_asked(folder)); }

namespace {

// The part of what was asked that is compared as a whole: without the data, and without the options that change nothing
// of a training.
Value question_in(Value asked) {
  if (!asked.is_map()) return asked;
  asked.map().erase("data");
  Value training = asked["training"], options = training["options"];
  if (!options.is_map()) return asked;
  for (const char* other : {"json", "quiet", "grace", "silence", "flags"}) options.map().erase(other);
  training.set("options", std::move(options));
  asked.set("training", std::move(training));
  return asked;
}

}  // namespace

fs::path folder_for(const Arguments& given, const fs::path& parent, const Value& asked) {
  const std::optional<EarlierCommand> before =
      same_command(given, parent, [&](const fs::path& folder) -> std::optional<EarlierCommand> {
        const Value last = asked_in(folder);
        if (question_in(last["asked"]) != question_in(asked)) return std::nullopt;
        EarlierCommand command{.folder = folder, .has_ended = last["has_ended"] != Value(false)};
        if (const std::optional<std::string> part = changed_part(last["asked"]["data"], asked["data"]))
          command.change_of_data = "the part " + *part + " of the data has changed";
        return command;
      });
  const bool goes_on = before && !before->has_ended;
  const fs::path folder = goes_on ? before->folder : made_folder(parent);
  // The record of an earlier version has no data.
  if (!goes_on || asked_in(folder)["asked"]["data"].is_nil()) write_asked(folder, asked, false);
  return folder;
}

void mark_ended(const fs::path& folder) { write_asked(folder, asked_in(folder)["asked"], true); }

bool has_result(const fs::path& folder) {
  const Value summary = read_summary(folder);
  return is_finished(summary) || has_diverged(summary);
}

std::optional<Outcome> train_with_seed(Request request, const fs::path& folder, std::int64_t seed,
                                       std::optional<double> until) {
  if (has_result(folder)) return std::nullopt;
  request.command = "run";
  request.options.set("out", folder.string());
  request.options.set("seed", seed);
  request.options.set("quiet", true);
  Outcome outcome = Supervisor(Supervisor::find_engine()).run(std::move(request), std::nullopt, until);
  if (outcome.code == 0 || (outcome.code == 3 && !outcome.error)) return std::nullopt;
  return outcome;
}

bool has_run_out_of_time(const Outcome& outcome) { return outcome.is_out_of_time && outcome.code == 128 + SIGTERM; }

void check_same_sources(const fs::path& recipe, const fs::path& first, const fs::path& now) {
  if (read_manifest(first).recipe_hash() == read_manifest(now).recipe_hash()) return;
  throw usage_error("a source of " + report::shown_path(recipe) + " has changed since its first training")
      .hint("undo the change and repeat the command; without " + report::shown_path(first.parent_path()) +
            " it begins anew");
}

}  // namespace trainlab::cli

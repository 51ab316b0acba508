#include "trainings/seeded_runs.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <ranges>
#include <string>

#include "core/error.h"
#include "core/files.h"
#include "report/texts.h"
#include "run/folder.h"
#include "run/manifest.h"

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
  Value options = request.options;
  for (const char* of_output : {"json", "quiet"}) options.map().erase(of_output);
  Value asked = asked_of(request.recipe, request.parameters);
  asked.set("options", std::move(options));
  return asked;
}

Value asked_in(const fs::path& folder) { return read_json(path_of_asked(folder)); }

fs::path folder_for(const fs::path& parent, const Value& asked) {
  const std::vector<fs::path> all = numbered(parent);
  for (const fs::path& before : std::views::reverse(all)) {
    const Value last = asked_in(before);
    if (last["asked"] != asked) continue;
    if (last["has_ended"] == Value(false)) return before;
    break;
  }
  const fs::path folder = made_folder(parent);
  write_asked(folder, asked, false);
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

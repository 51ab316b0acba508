#include "study_home.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <iterator>
#include <optional>
#include <thread>

#include "core/clock.h"
#include "core/files.h"
#include "core/host.h"
#include "run/folder.h"
#include "run/manifest.h"

namespace trainlab {

namespace fs = std::filesystem;

namespace {

constexpr std::chrono::milliseconds look_again{200};

void require_no_stop() {
  if (stop_requested()) throw Error(ErrorKind::interrupted, "stopped before the study was opened");
}

// Why the study that this run would join is another one's; empty if it is not. A study that has not been begun by a run
// has no manifest.
std::string difference(const Value& description, const StageContext& context, const Registry& registry) {
  const Value& manifest = description["run"]["manifest"];
  if (!manifest.is_map()) return "it was not begun by a run";
  Manifest own = *context.manifest;
  own.study.clear();
  std::string all;
  for (const std::string& line : differences(manifest_from(manifest, "the study"), own, registry))
    all += "\n    " + line;
  return all.empty() ? all : "begun with something else:" + all;
}

bool has_work_left(Storage& storage, std::int64_t trials) {
  StudyChanges all;
  storage.begin({}, wall_seconds(), [&](const StudyChanges& changes) -> std::optional<Storage::Begin> {
    all = changes;
    return std::nullopt;
  });
  const auto ended = std::ranges::count_if(all.trials, [](const StoredTrial& trial) { return is_final(trial.state); });
  return ended < trials && (!all.is_over || ended < std::ssize(all.trials));
}

// The newest study of this stage that has work left, and that a run like this one has begun.
std::optional<std::string> joinable(const StudyPlan& plan, const StageContext& context, const Database& database,
                                    std::string& others) {
  others.clear();
  for (const std::string& name : database.studies(context.name, waiting_of(context))) {
    const auto storage = StudyPlace(database, name).open(waiting_of(context));
    if (!has_work_left(*storage, plan.terms().trials)) continue;
    const std::string why = difference(storage->open({}), context, plan.options().registry());
    if (why.empty()) return name;
    others += "\n  " + name + ": " + why;
  }
  return std::nullopt;
}

std::string join(const StudyPlan& plan, const StageContext& context, const Database& database) {
  const std::string none =
      database.text() + ": there is no unfinished study of stage \"" + context.name + "\" to help with";
  const double begin = steady_seconds();
  std::string others;
  std::optional<std::string> found = joinable(plan, context, database, others);
  if (!found) {
    const auto patience = static_cast<int>(Waiting::usual_patience);
    context.say(none + "; waiting for one for " + std::to_string(patience) + " s" + others);
  }
  while (!found) {
    require_no_stop();
    if (steady_seconds() - begin >= Waiting::usual_patience)
      throw usage_error(none + others).hint("a run of this recipe with this storage makes the study");
    std::this_thread::sleep_for(look_again);
    try {
      found = joinable(plan, context, database, others);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::run) throw;
      others = "\n  " + error.message();  // a server that starts again, perhaps
    }
  }
  context.say(context.name + ": helps with study " + *found + " in " + database.text());
  return *found;
}

Database database_of(const StudyPlan& plan, const StageContext& context, const Value& kept) {
  const std::string& joined = context.settings->study;
  if (!joined.empty()) return given_database(joined);
  if (std::optional<Database> given = storage_of(plan.options())) return *given;
  return Database(kept["url"].string());
}

}  // namespace

Waiting waiting_of(const StageContext& context) { return {.say = context.say, .gives_up = stop_requested}; }

std::unique_ptr<Storage> empty_copy(const StageContext& context, const Value& description) {
  const StudyPlace place = StudyPlace::of_stage(context.folder);
  for (const char* end : {"", "-wal", "-shm"}) remove_file(place.text() + end);
  std::unique_ptr<Storage> copy = place.open();
  copy->open(description);
  return copy;
}

Value run_description(const StageContext& context) {
  return Value::Map{
      {"host", host_name()}, {"folder", context.folder.string()}, {"manifest", to_value(*context.manifest)}};
}

StudyHome find_home(const StudyPlan& plan, const StageContext& context) {
  const fs::path file = context.folder / "database.json";
  const StudyPlace in_folder = StudyPlace::of_stage(context.folder);
  if (plan.terms().is_confirmation) return {.place = in_folder};
  const std::string& joined = context.settings->study;
  const bool asks = !joined.empty() || (context.is_kept && storage_of(plan.options()));
  Value kept = read_json(file);
  for (; kept.is_nil() && context.helps && asks && !in_folder.exists(); kept = read_json(file)) {
    require_no_stop();
    std::this_thread::sleep_for(look_again);
  }
  // A run keeps its study where it has begun it, whatever the environment says later.
  if (kept.is_nil() && (!asks || in_folder.exists())) return {.place = in_folder};
  if (!kept.is_nil() && (!kept["study"].is_string() || !kept["url"].is_string()))
    throw damaged_file(file, "it names no study");
  const Database database = database_of(plan, context, kept);
  if (kept.is_nil()) {
    kept = Value::Map{{"url", database.text()},
                      {"study", joined.empty() ? database.make_next(context.name, waiting_of(context))
                                               : join(plan, context, database)}};
    write_atomic(file, to_json(kept, 2) + "\n");
  }
  return {.place = StudyPlace(database, kept["study"].string()), .is_in_database = true, .is_joined = !joined.empty()};
}

}  // namespace trainlab

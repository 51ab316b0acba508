// How a run gets its folder: begun afresh, or continued as it was recorded.
#include <stdexcept>

#include "core/clock.h"
#include "core/reading.h"
#include "run/flag.h"
#include "run/run.h"
#include "run/shell_word.h"
#include "run/stage_files.h"
#include "run/version.h"

namespace trainlab {

namespace fs = std::filesystem;

namespace {

std::map<std::string, std::string> hashes_of(const std::vector<std::pair<std::string, std::string>>& sources) {
  std::map<std::string, std::string> hashes;
  for (const auto& [path, text] : sources) hashes.insert_or_assign(path, hash_bytes(text));
  return hashes;
}

}  // namespace

std::map<std::string, std::string> Run::source_hashes() const {
  return folder_ ? manifest_.sources : hashes_of(sources_);
}

bool Run::open() {
  if (sources_.empty()) throw std::logic_error("a stage before any source was loaded");
  channel_.send(Value::Map{{"type", "open"}, {"recipe", request_.recipe.string()}});
  const std::optional<Value> answer = channel_.receive();
  if (!answer) throw run_error("trainlab has ended without giving its engine a run folder");
  if ((*answer)["type"] == Value("refused")) throw error_from((*answer)["error"]);
  if ((*answer)["type"] != Value("opened")) throw run_error("trainlab answered with " + answer->brief());

  const fs::path folder = (*answer)["folder"].string();
  allow_reading(folder);
  folder_ = folder;
  const bool existed = (*answer)["existed"].boolean();
  if (existed) {
    continue_existing();
  } else {
    begin_fresh();
  }

  budget_ = present_budget();
  if (budget_) budget_keeper_.emplace(budget_->terms().seconds, [this] { budget_->save(); });

  const std::lock_guard lock(log_mutex_);
  try {
    log_.emplace(folder / "log.txt");
    log_->append(early_log_);
  } catch (const Error&) {
    log_failed_ = true;  // see log()
  }
  early_log_.clear();
  return existed;
}

Manifest Run::present() const {
  Manifest manifest;
  manifest.trainlab = version();
  manifest.libtorch = environment_.libtorch;
  manifest.started = wall_text(environment_.started);
  manifest.recipe = sources_.front().first;
  manifest.recipe_folder = request_.recipe_folder;
  manifest.working_folder = request_.working_folder;
  manifest.sources = hashes_of(sources_);
  manifest.parameters = parameters_;
  manifest.settings = recorded_settings(request_.options);
  manifest.settings["device"] = environment_.device;
  manifest.cores = usable_cores();
  manifest.study = settings_.study;
  if (paid_) manifest.price = paid_->price;
  manifest.latest = latest_;
  return manifest;
}

void Run::begin_fresh() {
  if (request_.extend) throw usage_error("there is no run in " + folder_->string() + " to extend");
  manifest_ = present();
  for (const auto& [path, text] : sources_) save_source(path, text);
  write_manifest(*folder_, manifest_);  // last: it makes the folder a run
}

void Run::continue_existing() {
  const Manifest recorded = read_manifest(*folder_);
  if (settings_.study.empty()) settings_.study = recorded.study;
  Manifest now = present();
  for (const Flag& flag : common_flags()) {
    const bool follows = flag.recorded && flag.recorded->difference != Recorded::Difference::refused;
    if (follows && !request_.has(flag.name)) now.settings[flag.name] = recorded.setting(flag.name);
  }
  if (now.setting("threads") == Value(0)) now.cores = recorded.cores;
  if (request_.mends()) {  // whoever executes the recipe compares its stages
    now.recipe = recorded.recipe;
    now.sources = recorded.sources;
  }

  const std::vector<std::string> changes = differences(recorded, now, registry_);
  if (!changes.empty()) {
    std::string message = "the run in " + folder_->string() + " was begun with something else:";
    for (const std::string& line : changes) message += "\n  " + line;
    const fs::path stored = *folder_ / "recipe";
    if (request_.recipe.parent_path() == stored) {
      throw usage_error(message).hint("undo the change in " + stored.string() +
                                      ", or begin a new run with the changed recipe: trainlab " +
                                      shell_word(request_.recipe));
    }
    throw usage_error(message).hint("choose another --out, or continue the run as it was begun: trainlab resume " +
                                    shell_word(*folder_));
  }

  settings_.threads = now.training_threads();
  asks_threads_ = now.setting("threads") != Value(0);
  settings_.device = environment_.own_device(now.setting("device").string());
  records_ = read_stages(*folder_);
  manifest_ = recorded;

  const std::vector<std::string> inexact = inexactness(recorded, now, registry_);
  for (const std::string& line : inexact) {
    say("not byte-exact: " + line);
    manifest_.continued.push_back(wall_text() + " " + line);
  }
  const std::vector<std::string> told = told_differences(recorded, now, registry_);
  for (const std::string& line : told) say(line);
  // A mended recipe, or one that was killed before it asked.
  const bool asks_more = latest_ != recorded.latest || now.price != recorded.price;
  manifest_.latest = latest_;
  manifest_.price = now.price;
  if (!inexact.empty()) {
    manifest_.exact = false;
    manifest_.cores = now.cores;
  }
  if (!inexact.empty() || !told.empty()) manifest_.settings = now.settings;
  pause_ = budget_pause(*folder_);
  // A budget in which nothing is left is refused before it is recorded.
  if (pause_ && !request_.extend) {
    if (const std::optional<Budget> budget = present_budget()) budget->check_left("stage " + pause_->stage);
  }
  if (replaces_) save_mended();
  if (!request_.mends()) {
    for (const auto& [path, text] : sources_) {
      // Equal to what is recorded, or `differences` would have said so; but the copy may have been removed by hand.
      std::error_code ignored;
      if (!fs::exists(*folder_ / "recipe" / path, ignored)) save_source(path, text);
    }
  }
  if (request_.extend) {
    extend(recorded);
  } else if (!inexact.empty() || !told.empty() || asks_more) {
    write_manifest(*folder_, manifest_);
  }
}

void Run::replace_recipe() {
  replaces_ = true;
  if (folder_) save_mended();
}

// Before the manifest, as in a run that begins: whoever reads the manifest finds the sources.
void Run::save_mended() {
  const std::string folder = "recipe-before-" + std::to_string(manifest_.mended.size() + 1);
  const std::string hash = manifest_.recipe_hash();
  for (const auto& [path, recorded] : manifest_.sources) {
    const fs::path kept = *folder_ / folder / path;
    // A process that was killed before it wrote the manifest has kept the sources, and may have replaced them.
    std::error_code ignored;
    if (fs::exists(kept, ignored)) continue;
    make_directories(kept.parent_path());
    write_atomic(kept, read_file(*folder_ / "recipe" / path));
  }
  for (const auto& [path, text] : sources_) {
    const std::string own = path == main_source_ ? manifest_.recipe : path;
    save_source(own, text);
    manifest_.sources.insert_or_assign(own, hash_bytes(text));
  }
  manifest_.mended.push_back(wall_text() + " recipe " + hash + ", kept in " + folder + ", replaced by " +
                             manifest_.recipe_hash() + " from " + request_.path("recipe")->string());
  write_manifest(*folder_, manifest_);
  sources_.clear();
}

void Run::extend(const Manifest& recorded) {
  if (records_.empty()) {
    throw usage_error("no stage of " + folder_->string() + " has begun yet: there is nothing to extend")
        .hint("trainlab resume " + shell_word(*folder_));
  }
  const StageRecord& last = records_.back();
  const NewTotal& wanted = *request_.extend;
  Manifest::Extension extension{.stage = last.name, .totals = {}};
  if (manifest_.extension && manifest_.extension->stage == last.name) extension.totals = manifest_.extension->totals;
  // More than the stage's own length is its kind's to check.
  for (const NewTotal& before : extension.totals) {
    if (before.unit != wanted.unit || before.count < wanted.count) continue;
    Error error = wanted.no_more_than(before.text());
    throw error.hint(error.hint() + "; to continue the run unchanged: trainlab resume " + shell_word(*folder_));
  }
  std::erase_if(extension.totals, [&](const NewTotal& before) { return before.is_time() == wanted.is_time(); });
  extension.totals.push_back(wanted);
  Value summary = read_summary(folder_of(last));
  check_goes_on(folder_of(last), last.kind);
  before_extension_ = BeforeExtension{last.name, summary, recorded};
  manifest_.extension = std::move(extension);
  write_manifest(*folder_, manifest_);
  if (is_finished(summary)) reopen(last, std::move(summary), "is being extended to " + wanted.text());
}

void Run::reopen(const StageRecord& record, Value summary, const std::string& reason) const {
  summary.set("status", "interrupted");
  summary.set("reason", reason);
  const std::string text = to_json(summary, 2) + "\n";
  write_atomic(folder_of(record) / "summary.json", text);
  if (record.folder != ".") write_atomic(*folder_ / "summary.json", text);
}

void Run::take_back_extension() noexcept {
  if (!before_extension_) return;
  try {
    manifest_ = before_extension_->manifest;
    write_manifest(*folder_, manifest_);
    const StageRecord& last = records_.back();
    if (before_extension_->summary.is_nil()) return;
    const std::string text = to_json(before_extension_->summary, 2) + "\n";
    write_atomic(folder_of(last) / "summary.json", text);
    if (last.folder != ".") write_atomic(*folder_ / "summary.json", text);
  } catch (const std::exception&) {
    // The run counts as unfinished then; `resume` finds that there is nothing left to do.
  }
}

void Run::save_source(const std::string& path, std::string_view text) {
  const fs::path relative = fs::path(path).lexically_normal();
  if (relative.empty() || relative.is_absolute() || *relative.begin() == "..") {
    throw std::logic_error("source " + path + " is outside the recipe's folder");
  }
  const fs::path file = *folder_ / "recipe" / relative;
  make_directories(file.parent_path());
  write_atomic(file, text);
}

}  // namespace trainlab

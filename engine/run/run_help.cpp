// An engine that helps: it follows the recipe beside the engine that executes the run.
#include <unistd.h>

#include <chrono>
#include <functional>
#include <optional>
#include <thread>

#include "core/clock.h"
#include "core/host.h"
#include "run/run.h"

namespace trainlab {

namespace fs = std::filesystem;

namespace {

constexpr std::chrono::milliseconds poll{20};

}  // namespace

void Run::join() {
  folder_ = *request_.path("out");
  manifest_ = read_manifest(*folder_);
  settings_.study = manifest_.study;
  Manifest now = present();
  // Parameters and --set are those that the manifest gave.
  const std::vector<std::string> changes = differences(manifest_, now, registry_);
  if (!changes.empty()) {
    std::string message = "the run in " + folder_->string() + " was begun with something else:";
    for (const std::string& line : changes) message += "\n  " + line;
    throw usage_error(message);
  }
  settings_.threads = manifest_.training_threads();
  asks_threads_ = manifest_.setting("threads") != Value(0);
  settings_.device =
      environment_.own_device(request_.has("device") ? environment_.device : manifest_.setting("device").string());
  const std::lock_guard lock(log_mutex_);
  log_.emplace(*folder_ / ("log-" + host_name() + "-" + std::to_string(::getpid()) + ".txt"));
  log_->append(early_log_);
  early_log_.clear();
}

bool Run::run_goes_on() const { return holder(*folder_).has_value() && !is_finished(read_summary(*folder_)); }

// The coming stage as the run records it, once it has begun.
StageRecord Run::await_stage(const Options& stage) {
  while (true) {
    if (records_.size() <= position_) records_ = read_stages(*folder_);
    if (records_.size() > position_) {
      bool resumed = false;
      return place(stage, stage.string("name"), false, resumed);
    }
    if (stop_requested() || !run_goes_on()) throw NothingLeft();
    std::this_thread::sleep_for(poll);
  }
}

// The engine that executes the run writes when a stage begins, and its helpers may be there sooner.
void Run::set_time_as_helper(const StageRecord& record, StageContext& context) const {
  if (!budget_terms().bounds_time()) return;
  std::optional<StageTime> time;
  const auto present_time = [&]() -> std::optional<StageTime> {
    const std::optional<std::string> supervisor = holder(*folder_);
    if (!supervisor) return std::nullopt;
    return time_of_stage(record.name, budget_path(*folder_), present_moment(), *supervisor);
  };
  while (!(time = present_time())) {
    if (stop_requested() || !run_goes_on()) throw NothingLeft();
    std::this_thread::sleep_for(poll);
  }
  const double until = environment_.clock() + time->left;
  context.seconds_left = [this, until] { return until - environment_.clock(); };
  context.seconds_in_all = time->in_all;
}

Value Run::help(const Options& stage) {
  if (!folder_) join();
  const StageRecord record = await_stage(stage);
  const fs::path folder = folder_of(record);
  const auto found = [&]() -> Value {
    const Value summary = read_stage_summary(folder);
    return summary["name"] == Value(record.name) && is_finished(summary) ? summary : Value();
  };
  if (Value summary = found(); !summary.is_nil()) return summary;

  const bool is_shared = registry_.implementation<StageKind>(stage.entry()).is_shared;
  if (request_.joins && !is_shared) {
    const std::string what = record.kind + " \"" + record.name + "\", which one process trains";
    // No other stage follows the stage that the recipe returns.
    if (record.folder == ".") throw usage_error("the run works on the " + what + ": there is nothing to help with");
    say("waiting for the end of the " + what);
  }
  if (is_shared) {
    log("helps with stage " + record.name);
    const RunSettings settings = settings_for(stage, record);
    StageContext context;
    context.name = record.name;
    context.folder = folder;
    context.settings = &settings;
    context.resumed = true;
    context.helps = true;
    context.is_kept = request_.keeps_run();
    context.manifest = &manifest_;
    set_time_as_helper(record, context);
    context.most_flops = flops_left_for(stage, record.folder == ".");
    context.run_goes_on = [this] { return run_goes_on(); };
    if (!request_.joins) context.supervisor = holder_name(request_.supervisor);
    context.say = [this](const std::string& line) { say(line); };
    context.say_damage = [this](const std::string& line) { say_damage(line); };
    context.on_warning = [this](const std::string& text) { say_damage("warning: " + text); };
    perform(prepare(stage, settings), context);
  }
  while (true) {
    if (Value summary = found(); !summary.is_nil()) return summary;
    if (stop_requested() || !run_goes_on()) throw NothingLeft();
    std::this_thread::sleep_for(poll);
  }
}

}  // namespace trainlab

// Durable stages: a stage is found finished, continued, or begun.
#include <algorithm>
#include <stdexcept>
#include <utility>

#include "core/as_error.h"
#include "core/clock.h"
#include "core/printable.h"
#include "run/commit.h"
#include "run/run.h"
#include "run/shell_word.h"
#include "run/stage_files.h"

namespace trainlab {

namespace fs = std::filesystem;

namespace {

// A name is also a folder's.
bool is_stage_name(const std::string& name) {
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
           c == '.';
  };
  return !name.empty() && name.size() <= 100 && name.front() != '.' && name.front() != '-' &&
         std::all_of(name.begin(), name.end(), allowed);
}

std::string spoken(const std::string& kind, const std::string& name) { return kind + " \"" + name + "\""; }

// The summary as later processes will read it from the file: a NaN becomes nil at once, not only after a resume.
Value as_stored(const Value& summary) { return parse_json(to_json(summary), "summary"); }

}  // namespace

Error with_origin(Error error, const std::vector<std::string>& set, const std::string& stage, bool returned) {
  const std::string& option = error.path();
  for (const std::string& text : set) {
    const std::string left = text.substr(0, text.find('='));
    if (option.empty() || (left != stage + ":" + option && (left != option || !returned))) continue;
    const std::string before = error.hint();
    error.hint((before.empty() ? "" : before + "; ") + option + " comes from --set " + text);
    break;
  }
  return error;
}

std::string stage_key(const Registry& registry, const Value& stage) {
  const Value& name = stage["name"];
  if (name.is_string()) return name.string();
  const std::string& kind = stage["@"].string();
  const Option* option = registry.find(kind)->find("name");
  return option && option->fallback.is_string() ? option->fallback.string() : kind;
}

// The key of a stage that may have it.
std::string checked_key(const Registry& registry, const Options& stage) {
  const std::string name = stage_key(registry, stage.value());
  if (is_stage_name(name)) return name;
  throw stage
      .error("name", "expected 1 to 100 letters, digits, '_', '-' and '.', neither '-' nor '.' first, found \"" +
                         printable_line(shortened(name, 100)) + "\"")
      .hint("a stage's name is also the name of its folder");
}

Value Run::stage(const Options& stage, bool returned) {
  if (ended_) throw *ended_;
  const std::string name = checked_key(registry_, stage);
  if (const auto earlier = done_.find(name); earlier != done_.end()) {
    if (earlier->second.stage != stage.value()) {
      throw stage.error("name", "expected another name for each stage, found \"" + name + "\" for a second stage")
          .hint("name = \"" + name + "_2\"");
    }
    if (returned) last_ = name;
    return earlier->second.summary;
  }

  bool has_begun = false;
  try {
    if (request_.helps) {
      Value summary = help(stage);
      done_.insert_or_assign(name, Done{stage.value(), summary, records_[position_ - 1].folder});
      return summary;
    }
    check_joining(stage, name);
    StageWork prepared;
    if (!folder_) {
      // A new run writes nothing before its first stage is known to be right.
      prepared = prepare(stage, settings_for(stage));
      check_budget();
      // With the settings that are recorded, whether or not a stage had begun.
      if (open()) prepared = nullptr;
    } else if (position_ == records_.size()) {
      // A stage that cannot begin is not recorded: in a mended recipe it may be another one.
      if (budget_) budget_->check_left("stage " + name, flops_used());
      try {
        if (!stop_requested()) prepared = prepare(stage, settings_for(stage));
      } catch (const Error& error) {
        if (error.kind() != ErrorKind::interrupted) throw;
      }
      if (stop_requested()) stop_before(stage, name);
    }
    has_begun = true;
    bool resumed = false;
    const StageRecord record = place(stage, name, returned, resumed);
    Value summary = attempt(stage, record, resumed, std::move(prepared));
    done_.insert_or_assign(name, Done{stage.value(), summary, record.folder});
    last_ = name;
    return summary;
  } catch (const NothingLeft&) {
    throw;
  } catch (const std::exception& exception) {
    const Error error = with_origin(as_error(exception), request_.texts("set"), name, returned);
    ended_ = has_begun ? error : after_stages(error);
    throw *ended_;
  }
}

// `trainlab worker --study`: this run has a folder of its own, and not what other stages have left in the run that it
// helps.
void Run::check_joining(const Options& stage, const std::string& name) const {
  if (settings_.study.empty()) return;
  const StageKind& kind = registry_.implementation<StageKind>(stage.entry());
  const std::string why = kind.is_shared ? kind.needs_folder(stage) : "one process trains it";
  if (why.empty()) return;
  if (position_ > 0) throw NothingLeft();  // what came before has been helped with
  throw usage_error("expected a stage that trains without the files of others, found " +
                    spoken(stage.entry().name, name) + ": " + why)
      .hint("on a machine that sees the run's folder: trainlab worker RUN");
}

fs::path Run::stage_folder(const std::string& name) const { return stage_path(*folder_, done_.at(name).folder); }

StageRecord Run::place(const Options& stage, const std::string& name, bool returned, bool& resumed) {
  const std::string& kind = stage.entry().name;
  const std::size_t position = position_;
  resumed = position < records_.size();
  if (resumed) {
    const StageRecord& recorded = records_[position];
    if (recorded.name != name || recorded.kind != kind) {
      throw stage
          .error("", "stage " + std::to_string(position + 1) + " of this run was " +
                         spoken(recorded.kind, recorded.name) + ", now it is " + spoken(kind, name))
          .hint("the stages of a recipe must not depend on the time, on random numbers or on other files");
    }
  } else {
    records_.push_back({name, kind, returned ? "." : "stages/" + name});
    make_directories(folder_of(records_.back()));  // before the stage is announced to those who help with it
    write_stages(*folder_, records_);
  }
  ++position_;
  return records_[position];
}

Value Run::attempt(const Options& stage, const StageRecord& record, bool resumed, StageWork prepared) {
  const fs::path folder = folder_of(record);
  const Value found = read_stage_summary(folder);
  // At the top there may be the summary of an earlier stage that did not end well.
  const Value before = found["name"] == Value(record.name) ? found : Value();
  const bool goes_on =
      pause_ && pause_->stage == record.name && budget_ && pause_->goes_on_within(budget_->terms().seconds);
  if (is_finished(before) && !goes_on) {
    log("stage " + record.name + " is finished");
    return before;
  }
  if (goes_on) {
    check_goes_on(folder, record.kind);
    reopen(record, before, "goes on in a larger budget");
  }

  make_directories(folder);
  // A mended recipe may have removed the cause of a warning.
  const bool keeps_warnings = before["warnings"].is_list() && !request_.mends();
  warnings_ = keeps_warnings ? before["warnings"].list() : Value::List{};
  const double start = steady_seconds();
  const auto elapsed = [&] { return steady_seconds() - start; };
  Value summary;
  try {
    begin_in_budget(stage, record);
    log("stage " + record.name + (resumed ? " continues" : " begins"));
    const double seconds_before = before["seconds"].is_number() ? before["seconds"].number() : 0;
    summary = run_kind(stage, record, resumed, std::move(prepared), seconds_before);
    summary = complete(std::move(summary), record, before, elapsed());
    // The stage has trained since it was published, so that its new result is still to be published.
    if (std::exchange(records_[position_ - 1].is_published, false)) write_stages(*folder_, records_);
    save_summary(record, summary);
  } catch (const std::exception& exception) {
    Error error = as_error(exception);
    if (error.kind() == ErrorKind::usage && before_extension_ && before_extension_->stage == record.name) {
      take_back_extension();
    } else if (error.kind() == ErrorKind::interrupted) {
      told_by_summary_ = true;
      save_failure(record, "interrupted", error.headline(), before, elapsed());
    } else if (const auto* late = dynamic_cast<const LateError*>(&exception)) {
      save_failure(record, "failed", error.headline(), before, elapsed(), late->summary());
      error = repeatable(std::move(error));
    } else if (const auto* saved = dynamic_cast<const SavedError*>(&exception)) {
      Value work;
      if (saved->failed_after()) work.set(failed_after_key, *saved->failed_after());
      save_failure(record, "failed", error.headline(), before, elapsed(), work);
      if (saved->kept().empty()) throw error;
      error = saved->is_of_function() ? mendable(std::move(error), saved->kept() + "; to go on with a mended recipe: ")
                                      : resumable(std::move(error), saved->kept() + ": ");
    } else if (record.kind == "task" && is_raised_by_function(error)) {
      const std::vector<fs::path> all = commits(folder / "checkpoints");
      const std::int64_t step = all.empty() ? 0 : step_of_commit(all.front());
      save_failure(record, "failed", error.headline(), before, elapsed(), Value::Map{{failed_after_key, step}});
      if (step > 0) error = mendable(std::move(error), "the loops are saved; to go on with a mended recipe: ");
    } else {
      save_failure(record, "failed", error.headline(), before, elapsed());
    }
    throw error;
  }

  const std::string& status = summary["status"].string();
  const std::string& reason = summary["reason"].string();
  log("stage " + record.name + ": " + status + (reason.empty() ? "" : ": " + reason));
  if (is_finished(summary)) return summary;
  told_by_summary_ = true;
  throw Error(status == "interrupted" ? ErrorKind::interrupted : ErrorKind::run,
              "stage " + record.name + " " + (status == "interrupted" ? "was interrupted" : "failed") +
                  (reason.empty() ? "" : ": " + reason));
}

// The top folder tells how the run ended, because the stage has no record and no folder.
void Run::stop_before(const Options& stage, const std::string& name) {
  const std::string reason = "stopped before stage " + name + " began";
  warnings_.clear();  // those of the stage before
  save_failure({name, stage.entry().name, "."}, "interrupted", reason, {}, 0);
  told_by_summary_ = true;
  throw Error(ErrorKind::interrupted, reason);
}

// Data is opened with the threads of a single training whatever the kind, so that sums over the data are the same for
// each process that opens the data.
StageWork Run::prepare(const Options& stage, const RunSettings& settings) const {
  check_counted(stage);
  environment_.use_threads(settings_.threads);
  return registry_.implementation<StageKind>(stage.entry()).prepare(stage, settings);
}

Value Run::perform(const StageWork& work, const StageContext& context) const {
  environment_.use_threads(context.settings->threads);
  return work(context);
}

Checked Run::check(const Options& stage, const CheckedToo& too) const {
  check_counted(stage);
  checked_key(registry_, stage);
  return registry_.implementation<StageKind>(stage.entry()).check(stage, begin_trial_of(stage), too);
}

RunSettings Run::begin_trial_of(const Options& stage) const {
  if (ended_) throw *ended_;
  const RunSettings settings = settings_for(stage);
  environment_.use_threads(settings.threads);
  return settings;
}

RunSettings Run::settings_for(const Options& stage) const {
  RunSettings settings = settings_;
  settings.counts_flops = flops_limit() > 0;
  if (!asks_threads_ && registry_.implementation<StageKind>(stage.entry()).is_shared) {
    settings.threads = stage.given("threads") ? static_cast<int>(stage.integer("threads")) : 1;
  }
  return settings;
}

RunSettings Run::settings_for(const Options& stage, const StageRecord& record) const {
  RunSettings settings = settings_for(stage);
  if (manifest_.extension && manifest_.extension->stage == record.name) {
    settings.extended = manifest_.extension->totals;
    settings.extends_now = request_.extend.has_value();
  }
  settings.is_mended = !manifest_.mended.empty();
  if (const auto chosen = manifest_.chosen.find(record.name); chosen != manifest_.chosen.end())
    settings.chosen = chosen->second;
  if (const auto fixes = manifest_.fixes.find(record.name); fixes != manifest_.fixes.end())
    settings.fixes = fixes->second.list();
  return settings;
}

Value Run::run_kind(const Options& stage, const StageRecord& record, bool resumed, StageWork prepared,
                    double seconds_before) {
  if (stop_requested()) {
    return Value::Map{{"status", "interrupted"}, {"reason", "stopped before the stage went on"}};
  }
  const RunSettings settings = settings_for(stage, record);
  StageContext context;
  context.name = record.name;
  context.folder = folder_of(record);
  context.settings = &settings;
  context.resumed = resumed;
  context.manifest = &manifest_;
  context.say = [this](const std::string& line) { say(line); };
  context.say_damage = [this](const std::string& line) { say_damage(line); };
  context.on_warning = [this](const std::string& text) { warn(text); };
  context.say_inexact = [this, name = record.name](const std::string& line) {
    say_inexact("stage " + name + ": " + line);
  };
  context.choose = [this, name = record.name](const Value& chosen) {
    manifest_.chosen.insert_or_assign(name, chosen);
    write_manifest(*folder_, manifest_);
  };
  context.keep_fixes = [this, name = record.name](const Value::List& fixes, const std::string& why_inexact) {
    manifest_.fixes.insert_or_assign(name, fixes);
    if (!why_inexact.empty()) return say_inexact("stage " + name + ": " + why_inexact);
    write_manifest(*folder_, manifest_);
  };
  context.is_kept = request_.keeps_run();
  if (context.is_kept) {
    context.profile_run = "trainlab profile --attach " + shell_word(*folder_);
    // A profile of another stage would first run all stages before it.
    const bool is_first = !records_.empty() && record.name == records_.front().name;
    context.profile_recipe = is_first ? "trainlab profile " + shell_word(request_.shown_recipe()) : context.profile_run;
  }
  context.seconds_before = seconds_before;
  context.most_flops = flops_left_for(stage, record.folder == ".");
  if (budget_ && budget_->terms().bounds_time()) {
    context.seconds_left = [this] { return budget_->seconds_left(); };
    context.seconds_in_all = budget_->seconds_of_stage();
  }
  context.supervisor = holder_name(request_.supervisor);
  context.ask_for_workers = [this](int count) {
    if (count > 1) ask_for_engines(count);
  };
  if (!prepared) prepared = prepare(stage, settings);
  return perform(prepared, context);
}

void Run::ask_for_engines(int count) const { channel_.send(Value::Map{{"type", "workers"}, {"count", count}}); }

void Run::end_help() {
  if (folder_) ask_for_engines(1);
}

Value Run::complete(Value summary, const StageRecord& record, const Value& before, double seconds) const {
  if (summary.is_nil()) summary = Value::Map{};
  summary.set("name", record.name);
  summary.set("kind", record.kind);
  summary.set("out", folder_of(record).string());
  if (summary["status"].is_nil()) summary.set("status", "done");
  if (summary["reason"].is_nil()) summary.set("reason", "");
  if (summary["resumed"].is_nil()) summary.set("resumed", Value::List{});
  if (summary["seconds"].is_nil()) {
    summary.set("seconds", seconds + (before["seconds"].is_number() ? before["seconds"].number() : 0.0));
  }
  if (budget_) {
    const Value& own = summary["flops"];
    summary.set("budget", budget_->summary(flops_used() + (own.is_number() ? own.number() : 0)));
  }
  // A stage of several processes knows of the warnings of the others.
  Value::List warnings = warnings_;
  if (summary["warnings"].is_list()) {
    for (const Value& one : summary["warnings"].list())
      if (std::ranges::find(warnings, one) == warnings.end()) warnings.push_back(one);
  }
  if (!warnings.empty()) summary.set("warnings", std::move(warnings));
  const std::string& status = summary["status"].string();
  if (status != "interrupted" && status != "failed" && !is_finished(summary)) {
    throw std::logic_error("stage kind " + record.kind + " ended with status " + status);
  }
  if (!is_finished(summary)) keep_for_going_on(summary, before);
  return as_stored(summary);
}

fs::path Run::folder_of(const StageRecord& record) const { return stage_path(*folder_, record.folder); }

void Run::save_summary(const StageRecord& record, const Value& summary) {
  if (budget_) budget_->save();
  const std::string text = to_json(summary, 2) + "\n";
  write_atomic(folder_of(record) / "summary.json", text);
  // The top folder's summary tells how a run ended that did not end well; a continued run gets its summary at its end.
  if (record.folder != "." && !is_finished(summary)) write_atomic(*folder_ / "summary.json", text);
}

void Run::save_failure(const StageRecord& record, const std::string& status, const std::string& reason,
                       const Value& before, double seconds, const Value& work) noexcept {
  try {
    Value summary = work;
    summary.set("status", status);
    summary.set("reason", reason);
    save_summary(record, complete(std::move(summary), record, before, seconds));
  } catch (const std::exception&) {
    // The error on its way says more than that its summary could not be written.
  }
}

}  // namespace trainlab

#include "run/run.h"

#include <unistd.h>

#include <algorithm>
#include <stdexcept>

#include "core/clock.h"
#include "core/printable.h"
#include "run/latest.h"
#include "run/scratch_folder.h"
#include "run/shell_word.h"

namespace trainlab {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t most_early_log = std::size_t{1} << 20;

}  // namespace

RunSettings settled(const Request& request) {
  const Value given = recorded_settings(request.options);
  RunSettings settings;
  settings.seed = given["seed"].integer();
  settings.threads = static_cast<int>(given["threads"].integer());
  if (settings.threads == 0) settings.threads = usable_cores();
  if (request.has("workers")) settings.workers = static_cast<int>(request.options["workers"].integer());
  if (request.has("study")) settings.study = request.options["study"].string();
  settings.device = given["device"].string();
  settings.quiet = request.has("quiet");
  settings.folder = request.path("out").value_or(request.working_folder);
  return settings;
}

Run::Run(const Registry& registry, Request request, Environment environment, Channel& channel)
    : registry_(registry),
      request_(std::move(request)),
      environment_(std::move(environment)),
      channel_(channel),
      settings_(settled(request_)),
      asks_threads_(request_.has("threads")),
      latest_(environment_.latest) {
  settings_.device = environment_.own_device(environment_.device);
  settings_.say = [this](const std::string& line) { say(line); };
  if (request_.begun > 0 && environment_.clock) start_ = std::max(environment_.clock() - request_.begun, 0.0);
}

Run::~Run() = default;

void Run::source(const std::string& path, std::string_view text) {
  if (main_source_.empty()) main_source_ = path;
  if (!folder_ || (request_.mends() && !replaces_)) {
    sources_.emplace_back(path, text);
    return;
  }
  if (request_.helps) return;  // the engine that executes the run keeps it
  std::string hash = hash_bytes(text);
  const auto recorded = manifest_.sources.find(path);
  if (recorded == manifest_.sources.end()) {
    save_source(path, text);
    manifest_.sources.emplace(path, std::move(hash));
    write_manifest(*folder_, manifest_);
  } else if (recorded->second != hash) {
    if (request_.mends()) {
      sources_.emplace_back(path, text);
      return save_mended();
    }
    throw usage_error("the run in " + folder_->string() + " was begun with something else: source " + path +
                      " has changed");
  }
}

void Run::parameter(const std::string& name, Value value) {
  if (folder_) throw std::logic_error("parameter " + name + " declared after the first stage");
  parameters_.insert_or_assign(name, std::move(value));
}

fs::path Run::latest(const fs::path& runs) {
  const std::string key = runs.lexically_normal().string();
  const auto known = latest_.find(key);
  if (known != latest_.end()) return known->second.string();
  const fs::path found = latest_run(runs);
  latest_.emplace(key, found.string());
  if (folder_ && !request_.helps) {
    manifest_.latest = latest_;
    write_manifest(*folder_, manifest_);
  }
  return found;
}

int Run::finish() {
  if (ended_) return fail(*ended_);
  try {
    if (!folder_ || request_.helps) {
      channel_.send(Value::Map{{"type", "result"}, {"kind", "none"}});
      return 0;
    }
    if (position_ < records_.size()) {
      const StageRecord& missing = records_[position_];
      throw recipe_error("the recipe ended before " + missing.kind + " \"" + missing.name +
                         "\", which it ran as stage " + std::to_string(position_ + 1) + " before")
          .hint("the stages of a recipe must not depend on the time, on random numbers or on other files");
    }
    const Done& last = done_.at(last_);
    if (last.folder != ".") write_atomic(*folder_ / "summary.json", to_json(last.summary, 2) + "\n");
    publish();
    const auto is_shared = [&](const StageRecord& record) {
      return registry_.implementation<StageKind>(*registry_.find(record.kind)).is_shared;
    };
    if (settings_.workers.value_or(1) > 1 && std::ranges::none_of(records_, is_shared)) {
      say_damage("warning: --workers " + std::to_string(*settings_.workers) +
                 " has changed nothing: only the trials of lab.sweep and the members of lab.ensemble train in several "
                 "processes");
    }
    channel_.send(Value::Map{{"type", "result"}, {"folder", folder_->string()}});
    return 0;
  } catch (const Error& error) {
    return fail(error);
  }
}

// A stage that an earlier process has published is not published again: the user may have gone back since.
void Run::publish() {
  for (StageRecord& record : records_) {
    const auto& publish = registry_.implementation<StageKind>(*registry_.find(record.kind)).publish;
    if (!publish || record.is_published) continue;
    const std::vector<std::string> lines = publish(done_.at(record.name).summary, *folder_);
    if (lines.empty()) continue;
    for (const std::string& line : lines) say(line);
    record.is_published = true;
    write_stages(*folder_, records_);
  }
}

int Run::fail(const Error& error) {
  Error cause = ended_ ? *ended_ : after_stages(error);
  if (folder_ && !request_.keeps_run()) cause = ScratchFolder::explained(std::move(cause), *folder_);
  log(cause.what());
  if (told_by_summary_ && request_.keeps_run()) {
    try {
      channel_.send(Value::Map{{"type", "result"}, {"folder", folder_->string()}});
    } catch (const Error&) {
      // No supervisor to tell; the summary is on the disk.
    }
  } else {
    send_error(channel_, cause);
  }
  return static_cast<int>(cause.kind());
}

// Code after the last stage that has begun went wrong: the top tells it, and the stages keep their results.
Error Run::after_stages(const Error& error) {
  if (!folder_ || request_.helps || done_.empty() || error.kind() == ErrorKind::interrupted) return error;
  const Done& last = done_.at(last_);
  if (last.folder == ".") return error;
  try {
    Value summary = last.summary;
    summary.set("status", "failed");
    summary.set("reason", error.headline());
    write_atomic(*folder_ / "summary.json", to_json(summary, 2) + "\n");
  } catch (const Error&) {
    // The error on its way says more than that a summary could not be written.
  }
  return error.kind() == ErrorKind::recipe ? repeatable(error) : error;
}

Error Run::repeatable(Error error) const {
  return mendable(std::move(error), "all that was trained is kept; to repeat only what failed: ");
}

Error Run::mendable(Error error, const std::string& what) const {
  return resumable(std::move(error), what, " --recipe MENDED.lua");
}

Error Run::resumable(Error error, const std::string& what, const std::string& flags) const {
  if (!request_.keeps_run()) return error;
  const std::string before = error.hint();
  error.hint((before.empty() ? "" : before + "; ") + what + "trainlab resume " + shell_word(*folder_) + flags);
  return error;
}

void Run::say(const std::string& line) { tell(line, !settings_.quiet); }

void Run::say_damage(const std::string& line) { tell(line, true); }

void Run::warn(const std::string& text) {
  say_damage("warning: " + text);
  // A stage that goes on gives its warnings again.
  if (std::ranges::find(warnings_, Value(text)) == warnings_.end()) warnings_.emplace_back(text);
}

void Run::say_inexact(const std::string& line) {
  say_damage("not byte-exact: " + line);
  manifest_.continued.push_back(wall_text() + " " + line);
  manifest_.exact = false;
  write_manifest(*folder_, manifest_);
}

void Run::tell(const std::string& line, bool shows) {
  if (shows) {
    // A progress bar may stand in the line: it draws itself anew.
    const std::string text = (request_.terminal ? "\r\033[K" : "") + printable(line) + "\n";
    std::string_view rest = text;
    while (!rest.empty()) {
      const ssize_t n = ::write(STDERR_FILENO, rest.data(), rest.size());
      if (n <= 0) break;  // nobody reads
      rest.remove_prefix(static_cast<std::size_t>(n));
    }
  }
  log(line);
}

void Run::log(const std::string& line) {
  const std::string text = wall_text() + " " + printable(line) + "\n";
  const std::lock_guard lock(log_mutex_);
  try {
    if (log_) {
      if (!log_failed_) log_->append(text);
    } else if (early_log_.size() + text.size() <= most_early_log) {
      early_log_ += text;
    }
  } catch (const Error&) {
    // A log that cannot be written never ends a run: what matters will say so itself when it is saved.
    log_failed_ = true;
  }
}

}  // namespace trainlab

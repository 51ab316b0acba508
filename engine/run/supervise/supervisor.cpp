#include "run/supervisor.h"

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <csignal>
#include <deque>
#include <utility>
#include <vector>

#include "core/clock.h"
#include "core/files.h"
#include "core/printable.h"
#include "ending.h"
#include "expected_workers.h"
#include "run/budget.h"
#include "run/control.h"
#include "run/flag.h"
#include "run/last_note.h"
#include "run/manifest.h"
#include "run/scratch_folder.h"
#include "run/shell_word.h"
#include "run/unpublished.h"
#include "signals.h"
#include "start_engine.h"

namespace trainlab {

namespace fs = std::filesystem;

namespace {

// The error for a recipe that is to be run into the folder of a finished run.
Error finished(const fs::path& run, const fs::path& recipe) {
  const Manifest begun = read_manifest(run);
  const auto text = begun.sources.find(begun.recipe);
  std::error_code ignored;
  const bool is_other = recipe.filename() != begun.recipe;
  const bool is_changed = !is_other && text != begun.sources.end() && fs::exists(recipe, ignored) &&
                          text->second != hash_bytes(read_file(recipe));
  if (is_other || is_changed) {
    return usage_error("--out: " + run.string() + " holds a finished run of " +
                       (is_other ? "another recipe, " + begun.recipe : "an earlier text of " + begun.recipe))
        .hint("choose another --out, or leave it out for the next free folder in runs/");
  }
  return usage_error("the run in " + run.string() + " is finished")
      .hint("choose another --out, or train it longer: trainlab extend " + shell_word(run) +
            " --epochs N (of a sweep --trials N)");
}

// An engine beside the first one. As long as it has no request, it is a spare: it has loaded what it needs, and waits.
struct Spare {
  pid_t pid = 0;
  std::unique_ptr<Channel> channel;
  std::unique_ptr<LastNote> note;
};

// An engine that helps, see Request::helps.
struct Helper : Spare {
  int number = 1;       // Request::worker
  bool leaves = false;  // the helper was asked to end
};

// Signals that come within this many seconds of the first are the same request: `timeout` signals the program that it
// has started, and at once the whole process group, so that the program has two signals for one.
constexpr double same_request = 0.1;

// Killed helpers are restarted at most this often in a run; afterwards the run continues without them.
constexpr int most_replaced = 1000;

// An engine under supervision, and the engines that help this engine.
class Watch {
 public:
  Watch(const fs::path& engine, Request request, std::optional<RunFolder> held, std::optional<double> until)
      : engine_(engine), request_(std::move(request)), held_(std::move(held)), until_(until) {
    auto [mine, theirs] = Channel::pair();
    channel_ = std::move(mine);
    request_.supervisor = ::getpid();
    request_.begun = steady_seconds();
    pid_ = spawn_engine(engine, to_json(request_.to_value()), theirs->fd(), note_.fd());
    begin_spares();
  }

  Outcome run() {
    while (!ended_) watch();
    // The engine's last messages are read, and processes that the engine left running are killed.
    while (channel_open_ && take_messages()) {
    }
    ::kill(-pid_, SIGKILL);
    ::waitid(P_PID, static_cast<id_t>(pid_), &ending_.status, WEXITED);
    ending_.note = note_.read();
    // All is done, and helpers have nothing left to do; or they save what they have under way.
    const bool well = ending_.status.si_code == CLD_EXITED && ending_.status.si_status == 0;
    end_spares();
    for (const Helper& helper : helpers_) ::kill(well ? -helper.pid : helper.pid, well ? SIGKILL : SIGTERM);
    while (!helpers_.empty()) watch();
    if (ending_.status.si_code != CLD_EXITED)
      ScratchFolder::remove_abandoned();  // perhaps it was killed in a measurement
    if (held_ && scratch_.empty()) ending_.folder = held_->path();
    return outcome(ending_);
  }

 private:
  void watch() {
    std::array<pollfd, 2> ready = {
        {{signals_.fd(), POLLIN, 0}, {channel_open_ && !ended_ ? channel_->fd() : -1, POLLIN, 0}}};
    if (::poll(ready.data(), ready.size(), milliseconds_left()) < 0) return;
    if (ready[1].revents != 0) take_messages();
    while (const int signal = signals_.take()) take_signal(signal);
    // Also while the engine sends one message after the other. An engine that has ended by now is not late.
    if (milliseconds_left() == 0) end_time();
  }

  void take_signal(int signal) {
    switch (signal) {
      case SIGCHLD: {
        siginfo_t status = {};
        if (!ended_) ::waitid(P_PID, static_cast<id_t>(pid_), &status, WEXITED | WNOHANG | WNOWAIT);
        if (status.si_pid == pid_) ended_ = true;
        reap_helpers();
        break;
      }
      case SIGTSTP: pause(); break;
      default: stop(signal);
    }
  }

  void pause() {
    kill_all(SIGSTOP);
    siginfo_t status = {};
    if (!ended_) ::waitid(P_PID, static_cast<id_t>(pid_), &status, WSTOPPED | WEXITED | WNOWAIT);
    ::raise(SIGSTOP);  // until the shell continues this process
    kill_all(SIGCONT);
  }

  void stop(int signal) {
    if (ending_.stop_signals.empty()) {
      asked_to_stop_ = steady_seconds();
    } else if (steady_seconds() - asked_to_stop_ < same_request) {
      return;
    }
    ending_.stop_signals.push_back(signal);
    if (ending_.stop_signals.size() == 1) {
      tell(std::string(request_.keeps_run() ? "stopping at the next step, after a checkpoint" : "stopping") +
           " (once more: stop at once)");
      deadline_ = steady_seconds() + grace();
      if (!ended_) ::kill(pid_, SIGTERM);
      for (const Helper& helper : helpers_) ::kill(helper.pid, SIGTERM);
    } else {
      kill_all(SIGKILL);
    }
  }

  double grace() const { return value_of(common_flag("grace"), request_.options).number(); }

  // Until engines that were asked to stop are killed, or until the end of their time; −1: for ever.
  int milliseconds_left() const {
    const std::optional<double>& next = deadline_ ? deadline_ : until_;
    if (!next) return -1;
    constexpr double longest = 1e6;
    return static_cast<int>(std::ceil(std::clamp(*next - steady_seconds(), 0.0, longest) * 1000));
  }

  void end_time() {
    if (deadline_) {
      deadline_.reset();
      ending_.is_late = !ended_;
      kill_all(SIGKILL);
    } else if (!ended_) {
      ending_.is_out_of_time = true;
      stop(SIGTERM);
    }
    until_.reset();
  }

  // ------------------------------------------------------------------------------------------------------- helpers

  // To load an engine takes longer than many a trial. So the engines that will probably be wanted load at the same time
  // as the first one, and then wait for a request. A run whose spare engines cannot be started does without them.
  void begin_spares() {
    if (!request_.keeps_run() || request_.joins) return;
    try {
      for (int count = expected_workers(request_) - 1; count > 0; --count) spares_.push_back(start(""));
    } catch (const Error&) {
      // The engines that a stage really wants are started later, and their error is told.
    }
  }

  // `request`: as JSON, or empty for a spare.
  Spare start(const std::string& request) const {
    auto [mine, theirs] = Channel::pair();
    auto note = std::make_unique<LastNote>();
    const pid_t pid = spawn_engine(engine_, request, theirs->fd(), note->fd());
    return {pid, std::move(mine), std::move(note)};
  }

  static void end(const Spare& spare) {
    ::kill(-spare.pid, SIGKILL);
    ::waitid(P_PID, static_cast<id_t>(spare.pid), nullptr, WEXITED);
  }

  void end_spares() {
    std::ranges::for_each(spares_, end);
    spares_.clear();
  }

  // Whether a spare engine has taken the request. One that was killed meanwhile has not.
  bool wake_spare(const Request& request) {
    if (spares_.empty()) return false;
    Spare spare = std::move(spares_.back());
    spares_.pop_back();
    try {
      spare.channel->send(Value::Map{{"type", "request"}, {"request", request.to_value()}});
    } catch (const Error&) {
      end(spare);
      return false;
    }
    helpers_.push_back({std::move(spare), request.worker, false});
    return true;
  }

  void begin_helper() {
    Request request = request_;
    request.helps = true;
    request.options.set("quiet", true);
    request.options.set("out", held_->path().string());
    request.recipe = held_->path() / "recipe" / request_.recipe.filename();
    request.worker = 1;
    while (std::ranges::count(helpers_, request.worker, &Helper::number) > 0) ++request.worker;
    if (!wake_spare(request)) helpers_.push_back({start(to_json(request.to_value())), request.worker, false});
  }

  // A stage may want fewer engines than the stage before.
  void set_workers(std::int64_t count) {
    auto staying = 1 + std::ranges::count(helpers_, false, &Helper::leaves);
    for (; staying < count; ++staying) begin_helper();
    end_spares();  // the next stage may come in hours
    for (Helper& helper : helpers_) {
      if (staying <= count) break;
      if (helper.leaves) continue;
      helper.leaves = true;
      ::kill(helper.pid, SIGTERM);
      --staying;
    }
  }

  void reap_helpers() {
    std::vector<std::string> killed;  // in which operations
    std::erase_if(helpers_, [&](const Helper& helper) {
      siginfo_t status = {};
      ::waitid(P_PID, static_cast<id_t>(helper.pid), &status, WEXITED | WNOHANG);
      if (status.si_pid != helper.pid) return false;
      tell_error(helper);
      ::kill(-helper.pid, SIGKILL);
      if (status.si_code != CLD_EXITED && !helper.leaves) killed.push_back(place_text(helper.note->read()));
      return true;
    });
    if (ended_ || !ending_.stop_signals.empty()) return;
    for (const std::string& place : killed) {
      if (replaced_++ >= most_replaced) return;
      tell("a worker was killed" + place + "; another one takes its place");
      begin_helper();
    }
  }

  // " in lab.ops.matmul (x.lua:3)"
  static std::string place_text(const LastNote::Words& note) {
    if (note.operation.empty()) return "";
    return " in " + note.operation + (note.line > 0 ? " (" + note.file + ":" + std::to_string(note.line) + ")" : "");
  }

  void tell_error(const Helper& helper) {
    try {
      helper.channel->fill();
      while (const std::optional<Value> message = helper.channel->next()) {
        if ((*message)["type"] != Value("error") && (*message)["type"] != Value("silent")) continue;
        const Error error = error_from((*message)["error"]);
        if (error.kind() != ErrorKind::interrupted) tell("a worker has ended: " + std::string(error.what()));
      }
    } catch (const Error&) {
      // The engine was killed while it sent a message.
    }
  }

  // False when nothing had arrived.
  bool take_messages() {
    bool any = false;
    try {
      channel_open_ = channel_->fill();
      while (std::optional<Value> message = channel_->next()) {
        any = true;
        take_message(*message);
      }
    } catch (const Error& error) {
      channel_open_ = false;
      // An engine that has gone cannot be answered: how it ended says more.
      if (!ended_ && !ending_.broken) {
        ending_.broken = error;
        ::kill(-pid_, SIGKILL);
      }
    }
    return any;
  }

  void take_message(const Value& message) {
    const std::string& type = message["type"].string();
    if (type == "open") {
      open(message);
    } else if (type == "error") {
      ending_.error = error_from(message["error"]);
    } else if (type == "silent") {
      ending_.silent = error_from(message["error"]);
    } else if (type == "workers") {
      if (held_) set_workers(message["count"].integer());
    } else if (type == "text") {
      text_ += message["text"].string();
    } else if (type == "result") {
      ending_.result = message;
      if (!text_.empty()) ending_.result.set("text", text_ + message["text"].string());
    } else {
      throw run_error("the control channel between trainlab and its engine is broken: a message of type " + type);
    }
  }

  void open(const Value& message) {
    try {
      if (!request_.keeps_run()) {
        // Helpers execute the recipe that runs a stage now; a command may measure two.
        request_.recipe = message["recipe"].string();
        request_.recipe_folder = request_.recipe.parent_path();
        ScratchFolder::remove_abandoned();
        held_.emplace(RunFolder::open(scratch_.emplace_back().path()));
      } else if (!held_) {
        held_.emplace(request_.has("out")
                          ? RunFolder::open(*request_.path("out"))
                          : RunFolder::allocate(request_.working_folder, request_.recipe.stem().string()));
      }
      const auto goes_on = [&] {
        const std::optional<BudgetPause> pause = budget_pause(held_->path());
        return (pause && pause->goes_on_within(request_.options["within"])) || has_unpublished(held_->path());
      };
      if (held_->existed() && !request_.extend && is_finished(read_summary(held_->path())) && !goes_on()) {
        const fs::path run = held_->path();
        held_.reset();
        throw finished(run, request_.recipe);
      }
    } catch (const Error& error) {
      const Error told = scratch_.empty() ? error : ScratchFolder::explained(error, scratch_.back().path());
      channel_->send(Value::Map{{"type", "refused"}, {"error", error_value(told)}});
      return;
    }
    channel_->send(Value::Map{{"type", "opened"}, {"folder", held_->path().string()}, {"existed", held_->existed()}});
  }

  void kill_all(int signal) {
    if (!ended_) ::kill(-pid_, signal);
    for (const Helper& helper : helpers_) ::kill(-helper.pid, signal);
    for (const Spare& spare : spares_) ::kill(-spare.pid, signal);
  }

  void tell(const std::string& line) {
    if (request_.has("quiet")) return;
    const std::string text = (request_.terminal ? "\r\033[K" : "") + ("trainlab: " + printable(line)) + "\n";
    if (::write(STDERR_FILENO, text.data(), text.size()) < 0) return;  // nobody reads
  }

  SignalQueue signals_;  // outlives the folders: no signal ends this process before they are gone
  const fs::path& engine_;
  Request request_;
  std::deque<ScratchFolder> scratch_;  // of the runs of a command that keeps none
  std::optional<RunFolder> held_;
  std::unique_ptr<Channel> channel_;
  bool channel_open_ = true;
  std::string text_;  // of messages of type text
  bool ended_ = false;
  std::vector<Helper> helpers_;
  std::vector<Spare> spares_;
  int replaced_ = 0;
  double asked_to_stop_ = 0;        // by steady_seconds(): the first signal
  std::optional<double> deadline_;  // by steady_seconds()
  std::optional<double> until_;     // by steady_seconds(): the end of the engine's time
  pid_t pid_ = 0;
  LastNote note_;
  Ending ending_;
};

}  // namespace

Supervisor::Supervisor(fs::path engine) : engine_(std::move(engine)) {}

Outcome Supervisor::run(Request request, std::optional<RunFolder> held, std::optional<double> until) {
  Watch watch(engine_, std::move(request), std::move(held), until);
  return watch.run();
}

}  // namespace trainlab

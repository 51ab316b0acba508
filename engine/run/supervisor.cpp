#include "run/supervisor.h"

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <utility>

#include "core/files.h"
#include "ending.h"
#include "run/control.h"
#include "signals.h"
#include "start_engine.h"

namespace trainlab {

namespace fs = std::filesystem;

namespace {

// One engine under supervision.
class Watch {
 public:
  Watch(const fs::path& engine, Request request, std::optional<RunFolder> held)
      : request_(std::move(request)), held_(std::move(held)) {
    auto [mine, theirs] = Channel::pair();
    channel_ = std::move(mine);
    request_.supervisor = ::getpid();
    pid_ = spawn_engine(engine, to_json(request_.to_value()), theirs->fd());
  }

  Outcome run() {
    while (!ended_) {
      std::array<pollfd, 2> ready = {{{signals_.fd(), POLLIN, 0}, {channel_open_ ? channel_->fd() : -1, POLLIN, 0}}};
      if (::poll(ready.data(), ready.size(), -1) < 0) continue;
      if (ready[1].revents != 0) take_messages();
      while (const int signal = signals_.take()) take_signal(signal);
    }
    // What it sent last, and what it may have left running.
    while (channel_open_ && take_messages()) {
    }
    kill_group(SIGKILL);
    ::waitid(P_PID, static_cast<id_t>(pid_), &ending_.status, WEXITED);
    if (held_) ending_.folder = held_->path();
    return outcome(ending_);
  }

 private:
  void take_signal(int signal) {
    switch (signal) {
      case SIGCHLD: {
        siginfo_t status = {};
        ::waitid(P_PID, static_cast<id_t>(pid_), &status, WEXITED | WNOHANG | WNOWAIT);
        if (status.si_pid == pid_) ended_ = true;
        break;
      }
      case SIGTSTP: pause(); break;
      default: stop(signal);
    }
  }

  void pause() {
    kill_group(SIGSTOP);
    siginfo_t status = {};
    ::waitid(P_PID, static_cast<id_t>(pid_), &status, WSTOPPED | WEXITED | WNOWAIT);
    ::raise(SIGSTOP);  // until the shell continues this process
    kill_group(SIGCONT);
  }

  void stop(int signal) {
    ending_.stop_signals.push_back(signal);
    if (ending_.stop_signals.size() == 1) {
      tell("stopping at the next step, after a checkpoint (once more: stop at once)");
      ::kill(pid_, SIGTERM);
    } else {
      kill_group(SIGKILL);
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
        kill_group(SIGKILL);
      }
    }
    return any;
  }

  void take_message(const Value& message) {
    const std::string& type = message["type"].string();
    if (type == "open") {
      open();
    } else if (type == "error") {
      ending_.error = error_from(message["error"]);
    } else if (type == "text") {
      text_ += message["text"].string();
    } else if (type == "result") {
      ending_.result = message;
      if (!text_.empty()) ending_.result.set("text", text_ + message["text"].string());
    } else {
      throw run_error("the control channel between trainlab and its engine is broken: a message of type " + type);
    }
  }

  void open() {
    try {
      if (!held_) {
        held_.emplace(request_.out ? RunFolder::open(*request_.out)
                                   : RunFolder::allocate(request_.working_folder, request_.recipe.stem().string()));
      }
      if (held_->existed() && !request_.extend_epochs && is_finished(read_summary(held_->path()))) {
        const std::string path = held_->path().string();
        held_.reset();
        throw usage_error("the run in " + path + " is finished")
            .hint("choose another --out, or train it longer: trainlab extend " + path + " --epochs N");
      }
    } catch (const Error& error) {
      channel_->send(Value::Map{{"type", "refused"}, {"error", error_value(error)}});
      return;
    }
    channel_->send(Value::Map{{"type", "opened"}, {"folder", held_->path().string()}, {"existed", held_->existed()}});
  }

  void kill_group(int signal) { ::kill(-pid_, signal); }

  void tell(const std::string& line) {
    if (request_.quiet) return;
    const std::string text = (request_.terminal ? "\r\033[K" : "") + ("trainlab: " + line) + "\n";
    if (::write(STDERR_FILENO, text.data(), text.size()) < 0) return;  // nobody reads
  }

  Request request_;
  std::optional<RunFolder> held_;
  SignalQueue signals_;
  std::unique_ptr<Channel> channel_;
  bool channel_open_ = true;
  std::string text_;  // of messages of type text
  bool ended_ = false;
  pid_t pid_ = 0;
  Ending ending_;
};

}  // namespace

Supervisor::Supervisor(fs::path engine) : engine_(std::move(engine)) {}

fs::path Supervisor::find_engine() {
  const fs::path bin = fs::read_symlink("/proc/self/exe").parent_path();
  const fs::path engine = bin.parent_path() / "libexec" / "trainlab-engine";
  if (::access(engine.c_str(), X_OK) != 0) {
    throw usage_error("the installation is incomplete: there is no program " + engine.string());
  }
  return engine;
}

Outcome Supervisor::run(Request request, std::optional<RunFolder> held) {
  Watch watch(engine_, std::move(request), std::move(held));
  return watch.run();
}

}  // namespace trainlab

#include "signals.h"

#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "core/error.h"

namespace trainlab {

SignalQueue::SignalQueue() {
  sigemptyset(&taken_);
  sigaddset(&taken_, SIGCHLD);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGTSTP}) {
    struct sigaction action = {};
    sigaction(signal, nullptr, &action);
    if (action.sa_handler != SIG_IGN) sigaddset(&taken_, signal);
  }
  fd_ = ::signalfd(-1, &taken_, SFD_NONBLOCK | SFD_CLOEXEC);
  if (fd_ < 0) throw run_error(std::string("cannot wait for signals: ") + std::strerror(errno));

  struct sigaction action = {};
  action.sa_handler = SIG_IGN;
  sigaction(SIGPIPE, &action, &pipe_before_);
  action.sa_handler = SIG_DFL;  // ignored, children would leave no status
  sigaction(SIGCHLD, &action, &child_before_);
  sigprocmask(SIG_BLOCK, &taken_, &mask_before_);
}

SignalQueue::~SignalQueue() {
  while (take() != 0) {
    // A signal that came too late for the engine must not end the process that is about to tell how it ended.
  }
  ::close(fd_);
  sigprocmask(SIG_SETMASK, &mask_before_, nullptr);
  sigaction(SIGPIPE, &pipe_before_, nullptr);
  sigaction(SIGCHLD, &child_before_, nullptr);
}

int SignalQueue::take() {
  signalfd_siginfo info = {};
  return ::read(fd_, &info, sizeof info) == sizeof info ? static_cast<int>(info.ssi_signo) : 0;
}

}  // namespace trainlab

// The signals of a supervisor, taken out of a descriptor instead of by handlers.
#pragma once

#include <signal.h>

namespace trainlab {

// Blocks SIGINT, SIGTERM, SIGHUP and SIGTSTP, unless the caller's shell had them ignored (nohup, background jobs),
// and SIGCHLD, and ignores SIGPIPE, until destroyed. One at a time, in a process with one thread.
class SignalQueue {
 public:
  SignalQueue();
  ~SignalQueue();
  SignalQueue(const SignalQueue&) = delete;

  int fd() const { return fd_; }  // readable when take() has something
  // The next signal, 0 when there is none.
  int take();

 private:
  sigset_t taken_{};
  sigset_t mask_before_{};
  struct sigaction pipe_before_ {};
  struct sigaction child_before_ {};
  int fd_ = -1;
};

}  // namespace trainlab

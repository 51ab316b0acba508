#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>

#include "run/control.h"
#include "run/last_note.h"
#include "run/stage.h"

namespace trainlab {

EngineStart engine_starts(int argc, const char* const* argv) {
  // First of all: whatever follows may take long.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);

  struct stat status = {};
  if (argc != 2 || ::fstat(control_fd, &status) != 0 || !S_ISSOCK(status.st_mode)) {
    throw usage_error("trainlab-engine is started by `trainlab`, not by hand");
  }
  EngineStart start;
  start.channel = std::make_shared<Channel>(control_fd);
  if (*argv[1] != '\0') {
    start.request = Request::from_value(parse_json(argv[1], "the request"));
  } else {
    const std::optional<Value> message = start.channel->receive();
    if (!message) std::_Exit(0);
    start.request = Request::from_value((*message)["request"]);
  }
  // It may have died before prctl.
  if (::getppid() != start.request.supervisor) std::_Exit(static_cast<int>(ErrorKind::run));

  ::fcntl(control_fd, F_SETFD, FD_CLOEXEC);
  open_last_note();

  install_stop_handler();
  // SIGPIPE: a reader of standard error that has gone is no reason to end a training. SIGTTOU: an engine is never the
  // terminal's foreground group, and may write to it all the same. SIGXFSZ: to write beyond `ulimit -f` is an error
  // like that of a full disk.
  for (const int signal : {SIGINT, SIGHUP, SIGPIPE, SIGTTOU, SIGXFSZ}) std::signal(signal, SIG_IGN);
  return start;
}

}  // namespace trainlab

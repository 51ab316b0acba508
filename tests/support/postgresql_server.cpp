#include "support/postgresql_server.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <stdexcept>

namespace trainlab::test {

namespace {

// The server ends when this process closes its end, however it ends.
class ServerProcess {
 public:
  ServerProcess() {
    std::array<int, 2> ends = {};
    if (::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()) != 0) throw std::runtime_error("no socket pair");
    pid_ = ::fork();
    if (pid_ == 0) {
      ::dup2(ends[1], STDIN_FILENO);
      ::dup2(ends[1], STDOUT_FILENO);
      ::close(ends[0]);
      ::close(ends[1]);
      ::execlp("python3", "python3", TRAINLAB_SOURCE_DIR "/tests/cli/postgresql.py", "serve", nullptr);
      ::_exit(127);
    }
    ::close(ends[1]);
    end_ = ends[0];
    ::fcntl(end_, F_SETFD, FD_CLOEXEC);
    url_ = line();
  }
  ServerProcess(const ServerProcess&) = delete;

  const std::string& url() const { return url_; }
  void tell(const std::string& word) {
    const std::string text = word + "\n";
    if (::write(end_, text.data(), text.size()) < 0 || line() != "done")
      throw std::runtime_error("the PostgreSQL server cannot " + word);
  }

 private:
  // Empty at the end.
  std::string line() const {
    std::string text;
    for (char c = 0; ::read(end_, &c, 1) == 1 && c != '\n';) text += c;
    return text;
  }

  pid_t pid_ = 0;
  int end_ = -1;
  std::string url_;
};

ServerProcess& server_process() {
  static ServerProcess process;
  return process;
}

}  // namespace

std::optional<std::string> postgresql_server() {
  const std::string& url = server_process().url();
  return url.empty() ? std::nullopt : std::optional(url);
}

void tell_postgresql_server(const std::string& word) { server_process().tell(word); }

}  // namespace trainlab::test

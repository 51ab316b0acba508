// Engines whose start takes little time. Compiled as a library that is preloaded into trainlab-engine, this makes the
// engine a server: the program is loaded once, and forks a process for each start before its main() has run. Compiled
// as a program, it stands in the place of trainlab-engine, passes on to the server with what the supervisor has started
// it, and ends as the engine ends. See warm.py.
#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

// Standard input, output and error, the channel, the page for the last note, the working folder.
constexpr int given = 6, to_fds = 5;

struct Start {
  pid_t supervisor, group;
  std::size_t length;  // of the argument, which follows
};

[[noreturn]] void fail(const char* what) {
  std::perror(what);
  std::_Exit(99);
}

sockaddr_un address() {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const char* path = std::getenv("WARM_ENGINE");
  if (!path || std::strlen(path) >= sizeof address.sun_path) fail("WARM_ENGINE");
  std::strcpy(address.sun_path, path);
  return address;
}

template <class Call>
void whole(Call call, int fd, void* bytes, std::size_t length, const char* what) {
  auto* at = static_cast<char*>(bytes);
  while (length > 0) {
    const ssize_t done = call(fd, at, length);
    if (done <= 0) fail(what);
    at += done;
    length -= static_cast<std::size_t>(done);
  }
}

union Descriptors {
  cmsghdr header;
  std::array<char, CMSG_SPACE(given * sizeof(int))> bytes;
};

msghdr message_of(iovec& part, Descriptors& descriptors) {
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = descriptors.bytes.data();
  message.msg_controllen = descriptors.bytes.size();
  return message;
}

}  // namespace

#ifdef WARM_SERVER

namespace {

using Main = int (*)(int, char**, char**);
Main engine_main = nullptr;
pid_t supervisor = 0;

// In a process of its own: the engine of one start, and whoever waits for its end.
int handle(int connection, char* name, char** environment) {
  std::signal(SIGCHLD, SIG_DFL);
  Start start{};
  Descriptors descriptors{};
  iovec part{&start, sizeof start};
  msghdr message = message_of(part, descriptors);
  if (::recvmsg(connection, &message, MSG_WAITALL) != sizeof start) fail("recvmsg");
  std::array<int, given> fds{};
  std::memcpy(fds.data(), CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof fds);
  std::string argument(start.length, 0);
  whole(::read, connection, argument.data(), argument.size(), "read");
  const pid_t engine = ::fork();
  if (engine < 0) fail("fork");
  if (engine == 0) {
    ::close(connection);
    for (int i = 0; i < to_fds; ++i) ::dup2(fds[static_cast<std::size_t>(i)], i);
    if (::fchdir(fds.back()) != 0 || ::setpgid(0, start.group) != 0) fail("fchdir or setpgid");
    for (const int fd : fds) ::close(fd);
    supervisor = start.supervisor;
    std::array<char*, 3> arguments = {name, argument.data(), nullptr};
    return engine_main(2, arguments.data(), environment);
  }
  for (const int fd : fds) ::close(fd);
  ::send(connection, &engine, sizeof engine, MSG_NOSIGNAL);
  const int ended = static_cast<int>(::syscall(SYS_pidfd_open, engine, 0));
  std::array<pollfd, 2> both = {{{ended, POLLIN, 0}, {connection, POLLIN, 0}}};
  while (::poll(both.data(), both.size(), -1) < 0) {
  }
  if (both[0].revents == 0) ::kill(engine, SIGKILL);  // its supervisor has gone
  int status = 0;
  ::waitpid(engine, &status, 0);
  ::send(connection, &status, sizeof status, MSG_NOSIGNAL);
  std::_Exit(0);
}

int serve(int, char** arguments, char** environment) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::unsetenv("LD_PRELOAD");
  std::signal(SIGCHLD, SIG_IGN);
  // What an engine is given has the lowest numbers; what is received has others.
  while (true) {
    const int fd = ::open("/dev/null", O_RDWR);
    if (fd >= 20) break;
  }
  for (int fd = to_fds; fd <= 20; ++fd) ::fcntl(fd, F_SETFD, FD_CLOEXEC);
  const int listener = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_un place = address();
  const auto* name = reinterpret_cast<const sockaddr*>(&place);
  if (::bind(listener, name, sizeof place) != 0 || ::listen(listener, 64) != 0) fail("listen");
  while (true) {
    const int connection = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
    if (connection < 0) continue;
    const pid_t handler = ::fork();
    if (handler == 0) {
      ::close(listener);
      return handle(connection, arguments[0], environment);
    }
    ::close(connection);
  }
}

}  // namespace

// The engine asks whether its supervisor lives.
extern "C" pid_t getppid() noexcept { return supervisor > 0 ? supervisor : static_cast<pid_t>(::syscall(SYS_getppid)); }

extern "C" int __libc_start_main(Main main, int argc, char** argv, void (*init)(), void (*fini)(), void (*rtld_fini)(),
                                 void* stack_end) {
  using Begin = int (*)(Main, int, char**, void (*)(), void (*)(), void (*)(), void*);
  engine_main = main;
  const auto begin = reinterpret_cast<Begin>(::dlsym(RTLD_NEXT, "__libc_start_main"));
  return begin(serve, argc, argv, init, fini, rtld_fini, stack_end);
}

#else

namespace {

volatile pid_t engine = 0;

}  // namespace

int main(int, char** arguments) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  for (const int signal : {SIGINT, SIGHUP, SIGPIPE, SIGTTOU}) std::signal(signal, SIG_IGN);
  const int connection = ::socket(AF_UNIX, SOCK_STREAM, 0);
  const sockaddr_un place = address();
  if (::connect(connection, reinterpret_cast<const sockaddr*>(&place), sizeof place) != 0) fail("connect");
  std::string argument = arguments[1];
  Start start{::getppid(), ::getpgrp(), argument.size()};
  Descriptors descriptors{};
  iovec part{&start, sizeof start};
  const msghdr message = message_of(part, descriptors);
  descriptors.header.cmsg_level = SOL_SOCKET;
  descriptors.header.cmsg_type = SCM_RIGHTS;
  descriptors.header.cmsg_len = CMSG_LEN(given * sizeof(int));
  const std::array<int, given> fds = {0, 1, 2, 3, 4, ::open(".", O_RDONLY | O_DIRECTORY)};
  std::memcpy(CMSG_DATA(&descriptors.header), fds.data(), sizeof fds);
  if (::sendmsg(connection, &message, 0) != sizeof start) fail("sendmsg");
  whole(::write, connection, argument.data(), argument.size(), "write");
  ::close(3);
  ::close(4);
  pid_t started = 0;
  whole(::read, connection, &started, sizeof started, "read the engine's number");
  engine = started;
  struct sigaction passes_on {};
  passes_on.sa_handler = [](int signal) { ::kill(engine, signal); };
  passes_on.sa_flags = SA_RESTART;
  ::sigaction(SIGTERM, &passes_on, nullptr);
  int status = 0;
  whole(::read, connection, &status, sizeof status, "read the engine's end");
  if (!WIFSIGNALED(status)) std::_Exit(WEXITSTATUS(status));
  const rlimit none{0, 0};
  ::setrlimit(RLIMIT_CORE, &none);
  std::signal(WTERMSIG(status), SIG_DFL);
  ::raise(WTERMSIG(status));
  std::_Exit(99);
}

#endif

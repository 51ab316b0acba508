#include "start_engine.h"

#include <fcntl.h>
#include <spawn.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "core/error.h"
#include "run/control.h"
#include "run/last_note.h"

namespace trainlab {

namespace {

struct FileActions {
  posix_spawn_file_actions_t actions;
  FileActions() { posix_spawn_file_actions_init(&actions); }
  ~FileActions() { posix_spawn_file_actions_destroy(&actions); }
  FileActions(const FileActions&) = delete;
};

struct Attributes {
  posix_spawnattr_t attributes;
  Attributes() { posix_spawnattr_init(&attributes); }
  ~Attributes() { posix_spawnattr_destroy(&attributes); }
  Attributes(const Attributes&) = delete;
};

}  // namespace

pid_t spawn_engine(const std::filesystem::path& engine, const std::string& request, int control, int note) {
  FileActions files;
  posix_spawn_file_actions_addopen(&files.actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&files.actions, STDERR_FILENO, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&files.actions, control, control_fd);
  posix_spawn_file_actions_adddup2(&files.actions, note, note_fd);

  Attributes how;
  sigset_t none;
  sigset_t all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setpgroup(&how.attributes, 0);
  posix_spawnattr_setsigmask(&how.attributes, &none);
  posix_spawnattr_setsigdefault(&how.attributes, &all);
  posix_spawnattr_setflags(&how.attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);

  std::string name = engine.string();
  std::string argument = request;
  const std::array<char*, 3> arguments = {name.data(), argument.data(), nullptr};
  pid_t pid = 0;
  const int code = ::posix_spawn(&pid, name.c_str(), &files.actions, &how.attributes, arguments.data(), environ);
  if (code == E2BIG) throw usage_error("the command line is too long for the engine");
  if (code != 0) throw usage_error("cannot start the engine " + name + ": " + std::strerror(code));
  return pid;
}

}  // namespace trainlab

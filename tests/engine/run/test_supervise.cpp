#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "core/files.h"
#include "run/control.h"
#include "run/folder.h"
#include "run/request.h"

namespace trainlab::supervise_test {

namespace fs = std::filesystem;

namespace {

// A supervisor process of its own (tests/support/supervise.cpp) over an engine that behaves as `mode` says. `before`: a
// command of the shell that is executed first. `seconds`: the engine's time; 0: without end.
class Supervised {
 public:
  Supervised(const fs::path& folder, const std::string& mode, const fs::path& out = {}, const std::string& before = {},
             double seconds = 0) {
    Request request;
    request.recipe = folder / "digits.lua";
    request.recipe_folder = request.working_folder = folder;
    request.parameters = {{"mode", mode, "--mode"}};
    if (!out.empty()) request.options.set("out", out.string());

    std::vector<std::string> words;
    if (!before.empty()) words = {"/bin/sh", "-c", before + " && exec \"$0\" \"$@\""};
    for (const std::string& word :
         {std::string(SUPERVISE), std::string(FAKE_ENGINE), to_json(request.to_value()), std::to_string(seconds)})
      words.push_back(word);
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    std::array<int, 2> out_pipe{};
    std::array<int, 2> error_pipe{};
    REQUIRE(pipe2(out_pipe.data(), O_CLOEXEC) == 0);
    REQUIRE(pipe2(error_pipe.data(), O_CLOEXEC) == 0);
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, out_pipe[1], STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&files, error_pipe[1], STDERR_FILENO);
    posix_spawn_file_actions_addclosefrom_np(&files, STDERR_FILENO + 1);
    REQUIRE(posix_spawn(&pid_, arguments[0], &files, nullptr, arguments.data(), environ) == 0);
    posix_spawn_file_actions_destroy(&files);
    ::close(out_pipe[1]);
    ::close(error_pipe[1]);
    fds_ = {out_pipe[0], error_pipe[0]};
  }
  ~Supervised() {
    if (!ended_) {
      ::kill(pid_, SIGKILL);
      ::waitpid(pid_, nullptr, 0);
    }
    for (const int fd : fds_) {
      if (fd >= 0) ::close(fd);
    }
  }
  Supervised(const Supervised&) = delete;

  pid_t pid() const { return pid_; }
  void signal(int number) const { ::kill(pid_, number); }

  // Reads on until standard error holds the text; gives what follows it on its line.
  std::string until(const std::string& text) {
    while (true) {
      const std::size_t at = error_.find(text);
      const std::size_t end = at == std::string::npos ? at : error_.find('\n', at);
      if (end != std::string::npos) return error_.substr(at + text.size(), end - at - text.size());
      if (!read_some()) FAIL("standard error ended without \"" << text << "\": " << error_);
    }
  }

  // The process of the engine, once it runs its stage.
  pid_t engine() { return std::stoi(until("ready ")); }

  // Exit code of the supervisor, 1000 + number when a signal ended it.
  int wait() {
    while (read_some()) {
    }
    int status = 0;
    REQUIRE(::waitpid(pid_, &status, 0) == pid_);
    ended_ = true;
    return WIFSIGNALED(status) ? 1000 + WTERMSIG(status) : WEXITSTATUS(status);
  }

  Value outcome() const { return parse_json(out_, "outcome"); }
  std::string message() const { return outcome()["error"]["message"].string(); }
  fs::path folder() const { return outcome()["folder"].string(); }
  const std::string& error() const { return error_; }

 private:
  bool read_some() {
    std::array<pollfd, 2> ready = {{{fds_[0], POLLIN, 0}, {fds_[1], POLLIN, 0}}};
    if (fds_[0] < 0 && fds_[1] < 0) return false;
    if (::poll(ready.data(), 2, 60000) <= 0) FAIL("nothing heard for a minute; so far: " << error_);
    for (std::size_t i = 0; i < 2; ++i) {
      if (ready[i].revents == 0) continue;
      std::array<char, 1 << 16> chunk;
      const ssize_t n = ::read(fds_[i], chunk.data(), chunk.size());
      if (n <= 0) {
        ::close(fds_[i]);
        fds_[i] = -1;
      } else {
        (i == 0 ? out_ : error_).append(chunk.data(), static_cast<std::size_t>(n));
      }
    }
    return true;
  }

  pid_t pid_ = 0;
  bool ended_ = false;
  std::array<int, 2> fds_{};
  std::string out_, error_;
};

fs::path empty_folder(const std::string& name) {
  const fs::path folder = fs::current_path() / name;
  fs::remove_all(folder);
  fs::create_directories(folder);
  return folder;
}

// Waits until a process has ended that is no child of this one.
void wait_for_end(pid_t pid) {
  const int fd = static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
  if (fd < 0) return;  // gone already
  pollfd ended = {fd, POLLIN, 0};
  REQUIRE(::poll(&ended, 1, 60000) == 1);
  ::close(fd);
}

bool is_alive(pid_t pid) {
  std::ifstream status("/proc/" + std::to_string(pid) + "/stat");
  std::string text;
  std::getline(status, text);
  const std::size_t name_end = text.rfind(')');
  return name_end != std::string::npos && text[name_end + 2] != 'Z';
}

char state(pid_t pid) {
  std::ifstream status("/proc/" + std::to_string(pid) + "/stat");
  std::string text;
  std::getline(status, text);
  return text.at(text.rfind(')') + 2);
}

}  // namespace

TEST_CASE("a run that ends well") {
  const fs::path folder = empty_folder("well");
  Supervised run(folder, "done");
  CHECK(run.wait() == 0);
  CHECK(run.folder() == folder / "runs/digits/001");
  CHECK(read_summary(run.folder())["status"] == Value("done"));
  CHECK(run.outcome()["result"]["folder"] == Value(run.folder().string()));
  CHECK(run.outcome()["error"].is_nil());
  CHECK_FALSE(holder(run.folder()));
  // What the engine writes to standard output belongs to standard error.
  CHECK(run.error().find("noise") != std::string::npos);

  Supervised again(folder, "done");
  CHECK(again.wait() == 0);
  CHECK(again.folder() == folder / "runs/digits/002");
  Supervised refused(folder, "done", folder / "runs/digits/001");
  CHECK(refused.wait() == 2);
  CHECK_THAT(refused.message(), Catch::Contains("holds a finished run of another recipe, fake.lua"));
}

TEST_CASE("a run whose spare engines cannot be started does without them") {
  const fs::path folder = empty_folder("spares");
  write_atomic(folder / "digits.lua", "return lab.sweep { workers = 2 }");
  // As many descriptors as the supervisor needs for one engine.
  Supervised run(folder, "done", {}, "ulimit -n 11");
  CHECK(run.wait() == 0);
  CHECK(read_summary(run.folder())["status"] == Value("done"));
}

TEST_CASE("a run without a stage leaves no folder") {
  const fs::path folder = empty_folder("none");
  Supervised run(folder, "none");
  CHECK(run.wait() == 0);
  CHECK(run.outcome()["result"]["kind"] == Value("none"));
  CHECK(fs::is_empty(folder));
}

TEST_CASE("a run that says why it failed") {
  const fs::path folder = empty_folder("fails");
  Supervised wrong(folder, "error");
  CHECK(wrong.wait() == 1);
  CHECK(wrong.outcome()["error"]["file"] == Value("digits.lua"));
  CHECK(wrong.outcome()["error"]["line"] == Value(12));
  CHECK(wrong.outcome()["error"]["path"] == Value("optim.lr"));
  CHECK(read_summary(wrong.folder())["status"] == Value("failed"));

  Supervised failed(folder, "failed");
  CHECK(failed.wait() == 3);
  CHECK(failed.outcome()["error"].is_nil());
  CHECK(read_summary(failed.folder())["reason"] == Value("loss is nan"));
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // these take the address space themselves
TEST_CASE("an engine that eats all memory says so") {
  Supervised hungry(empty_folder("hungry"), "allocate");
  CHECK(hungry.wait() == 3);
  CHECK_THAT(hungry.message(), Catch::Contains("out of memory"));
  CHECK(read_summary(hungry.folder())["status"] == Value("failed"));
}
#endif

TEST_CASE("an engine that crashes ends with one message and a folder that says so") {
  const fs::path folder = empty_folder("crash");
  const auto check = [&](const std::string& mode, const std::string& words) {
    INFO(mode);
    Supervised run(folder, mode);
    CHECK(run.wait() == 3);
    CHECK_THAT(run.message(), Catch::Contains(words));
    CHECK(read_summary(run.folder())["status"] == Value("failed"));
    CHECK_THAT(read_summary(run.folder())["reason"].string(), Catch::Contains(words));
    CHECK_FALSE(holder(run.folder()));

    Supervised again(folder, "done", run.folder());
    CHECK(again.wait() == 2);  // the parameter has changed: refused, and the folder kept as it is
    CHECK(read_summary(run.folder())["status"] == Value("failed"));
  };
  check("segv", "SIGSEGV");
  check("kill", "memory runs out");
  check("exit", "exit code 7");
  check("quiet-exit", "without a result");
}

TEST_CASE("an engine that dies in an operator has told which one, and the line of the recipe") {
  const auto error = [](const std::string& mode) {
    Supervised run(empty_folder(mode), mode);
    CHECK(run.wait() == 3);
    CHECK_THAT(read_summary(run.folder())["reason"].string(),
               Catch::EndsWith(run.outcome()["error"]["message"].string()));
    return run.outcome()["error"];
  };
  const Value crashed = error("segv-noted");
  CHECK(crashed["message"] == Value("the engine crashed in lab.ops.matmul: SIGSEGV (Segmentation fault)"));
  CHECK(crashed["file"] == Value("digits.lua"));
  CHECK(crashed["line"] == Value(7));
  const Value killed = error("kill-noted");
  CHECK_THAT(killed["message"].string(),
             Catch::StartsWith("the engine was killed from outside (SIGKILL) in lab.ops.matmul, often by the system"));
  CHECK(killed["line"] == Value(7));
  CHECK(error("segv-after")["message"] == Value("the engine crashed: SIGSEGV (Segmentation fault)"));
}

TEST_CASE("an engine that ends itself because the recipe is silent leaves a folder that says so") {
  Supervised run(empty_folder("silent"), "silent");
  CHECK(run.wait() == 1);
  CHECK(run.message() == "no answer for 60 s");
  CHECK(run.outcome()["error"]["line"] == Value(12));
  CHECK(run.outcome()["error"]["hint"] == Value("a shorter text"));
  CHECK(read_summary(run.folder())["status"] == Value("failed"));
  CHECK(read_summary(run.folder())["reason"] == Value("digits.lua:12: no answer for 60 s"));
}

TEST_CASE("a crash after the end of the run keeps its result") {
  Supervised run(empty_folder("late"), "late-segv");
  CHECK(run.wait() == 3);
  CHECK_THAT(run.message(), Catch::Contains("SIGSEGV"));
  CHECK(read_summary(run.folder())["status"] == Value("done"));
}

TEST_CASE("an engine that talks nonsense is ended") {
  Supervised run(empty_folder("garbage"), "garbage");
  CHECK(run.wait() == 3);
  CHECK_THAT(run.message(), Catch::Contains("control channel"));
}

TEST_CASE("an engine that floods standard error is read to its end") {
  Supervised run(empty_folder("flood"), "flood");
  CHECK(run.wait() == 0);
  CHECK(run.error().size() >= std::size_t{4} << 20);
}

TEST_CASE("the first signal asks for a checkpoint") {
  for (const auto& [signal, code] : {std::pair{SIGINT, 130}, {SIGTERM, 143}, {SIGHUP, 143}}) {
    INFO(signal);
    Supervised run(empty_folder("stop"), "loop");
    const pid_t engine = run.engine();
    CHECK(::getpgid(engine) == engine);
    run.signal(signal);
    CHECK(run.wait() == code);
    CHECK(run.outcome()["error"].is_nil());
    CHECK(read_summary(run.folder())["status"] == Value("interrupted"));
    CHECK_FALSE(is_alive(engine));
  }
}

TEST_CASE("the end of its time stops an engine as a signal does") {
  Supervised late(empty_folder("time"), "loop", {}, {}, 0.2);
  CHECK(late.wait() == 143);
  CHECK(late.outcome()["is_out_of_time"] == Value(true));
  Supervised early(empty_folder("time"), "done", {}, {}, 1000);
  CHECK(early.wait() == 0);
  CHECK(early.outcome()["is_out_of_time"] == Value(false));
  // A signal that comes before is a signal.
  Supervised stopped(empty_folder("time"), "loop", {}, {}, 1000);
  stopped.engine();
  stopped.signal(SIGINT);
  CHECK(stopped.wait() == 130);
  CHECK(stopped.outcome()["is_out_of_time"] == Value(false));
}

TEST_CASE("the second signal kills an engine that does not listen") {
  Supervised run(empty_folder("deaf"), "deaf");
  const pid_t engine = run.engine();
  run.signal(SIGINT);
  run.until("stopping at the next step");
  CHECK(is_alive(engine));
  // The first tries come so soon that they count as the same request.
  while (is_alive(engine)) run.signal(SIGINT);
  CHECK(run.wait() == 130);
  CHECK_THAT(run.message(), Catch::Contains("second signal"));
  CHECK(read_summary(run.folder())["status"] == Value("interrupted"));
}

TEST_CASE("an engine dies with its supervisor") {
  Supervised run(empty_folder("orphan"), "deaf");
  const pid_t engine = run.engine();
  run.signal(SIGKILL);
  wait_for_end(engine);
  CHECK_FALSE(is_alive(engine));
  CHECK(run.wait() == 1000 + SIGKILL);
}

TEST_CASE("an engine without a supervisor does not begin") {
  Request request;
  request.supervisor = 1;
  const std::string command =
      std::string(FAKE_ENGINE) + " '" + to_json(request.to_value()) + "' 2>&1 | grep -q 'started by `trainlab`'";
  CHECK(std::system(command.c_str()) == 0);
}

TEST_CASE("a second supervisor is told who holds the run") {
  const fs::path folder = empty_folder("two");
  Supervised first(folder, "loop", folder / "run");
  first.engine();
  Supervised second(folder, "loop", folder / "run");
  CHECK(second.wait() == 2);
  CHECK_THAT(second.message(), Catch::Contains("in use by process " + std::to_string(first.pid()) + " on "));
  first.signal(SIGINT);
  CHECK(first.wait() == 130);
  // Free again, and gone on with.
  Supervised third(folder, "loop", folder / "run");
  third.engine();
  third.signal(SIGTERM);
  CHECK(third.wait() == 143);
}

TEST_CASE("Ctrl-Z stops the engine too, and it goes on with its supervisor") {
  Supervised run(empty_folder("stopped"), "loop");
  const pid_t engine = run.engine();
  run.signal(SIGTSTP);
  int status = 0;
  REQUIRE(::waitpid(run.pid(), &status, WUNTRACED) == run.pid());
  CHECK(WIFSTOPPED(status));
  CHECK(state(engine) == 'T');
  run.signal(SIGCONT);
  run.signal(SIGINT);
  CHECK(run.wait() == 130);
}

TEST_CASE("a stop before the stage began leaves it to be gone on with") {
  Supervised run(empty_folder("early"), "stop-first");
  CHECK(run.wait() == 143);
  CHECK(read_summary(run.folder())["status"] == Value("interrupted"));
  CHECK(read_summary(run.folder())["name"] == Value("only"));
}

}  // namespace trainlab::supervise_test

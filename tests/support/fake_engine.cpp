// An engine that behaves as the request's parameter `mode` says, for tests of supervision.
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "core/clock.h"
#include "fake_stage.h"
#include "run/control.h"
#include "run/last_note.h"
#include "run/run.h"

namespace {

using namespace trainlab;

void crash(int signal) {
  const rlimit no_core = {0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

void ready() { std::cerr << "ready " << getpid() << std::endl; }

Value body(const std::string& mode) {
  if (mode == "error") throw recipe_error("expected a number, found nil").at("digits.lua", 12).in("optim.lr");
  if (mode == "segv") crash(SIGSEGV);
  if (mode == "kill") crash(SIGKILL);
  if (mode == "segv-noted" || mode == "kill-noted") {
    write_last_note("lab.ops.matmul", "digits.lua", 7);
    crash(mode == "segv-noted" ? SIGSEGV : SIGKILL);
  }
  if (mode == "segv-after") {
    write_last_note("lab.ops.matmul", "digits.lua", 7);
    clear_last_note();
    crash(SIGSEGV);
  }
  if (mode == "exit") std::_Exit(7);
  if (mode == "quiet-exit") std::_Exit(0);
  if (mode == "failed") return Value::Map{{"status", "failed"}, {"reason", "loss is nan"}};
  if (mode == "loop" || mode == "deaf") {
    if (mode == "deaf") std::signal(SIGTERM, SIG_IGN);
    // Blocked between the test and the wait, so that no signal is missed.
    sigset_t term;
    sigset_t before;
    sigemptyset(&term);
    sigaddset(&term, SIGTERM);
    sigprocmask(SIG_BLOCK, &term, &before);
    ready();
    while (!stop_requested()) sigsuspend(&before);
    sigprocmask(SIG_SETMASK, &before, nullptr);
    return Value::Map{{"status", "interrupted"}};
  }
  if (mode == "flood") {
    const std::string line(1023, 'x');
    for (int i = 0; i < 4096; ++i) std::cerr << line << '\n';
  }
  if (mode == "allocate") {
    const rlimit memory = {256 << 20, 256 << 20};
    setrlimit(RLIMIT_AS, &memory);
    std::vector<std::unique_ptr<char[]>> blocks;
    while (true) blocks.push_back(std::make_unique<char[]>(16 << 20));
  }
  return Value::Map{{"metrics", Value::Map{{"val.loss", 0.5}}}};
}

int engine(int argc, char** argv) {
  EngineStart start = engine_starts(argc, argv);
  const std::string mode = start.request.parameters.at(0).text;
  std::cout << "noise" << std::endl;
  if (mode == "garbage") {
    if (write(control_fd, "{]\n", 3) == 3) ready();
    while (true) pause();
  }
  Registry registry;
  testing::add_stage_kind(registry, "fit", [&](const Options&, const StageContext&) {
    if (mode == "silent") {
      send_silent(*start.channel, recipe_error("no answer for 60 s").at("digits.lua", 12).hint("a shorter text"));
      std::_Exit(1);
    }
    return body(mode);
  });
  const auto own_device = [](const std::string& device) { return device; };
  Run run(registry, start.request, {"2.11.0", "cpu", wall_seconds(), [](int) {}, own_device, {}, steady_seconds},
          *start.channel);
  try {
    run.source("fake.lua", "return nil");
    run.parameter("mode", mode);
    if (mode == "stop-first") request_stop();
    if (mode != "none") run.stage(testing::stage_options(registry, "fit", "only"), true);
    const int code = run.finish();
    if (mode == "late-segv") crash(SIGSEGV);
    return code;
  } catch (const Error& error) {
    return run.fail(error);
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return engine(argc, argv);
  } catch (const trainlab::Error& error) {
    std::cerr << error.what() << '\n';
    return static_cast<int>(error.kind());
  }
}

#include <csignal>

#include "run/stage.h"

namespace trainlab {

namespace {

volatile std::sig_atomic_t stop_flag = 0;

void on_stop_signal(int /*signal*/) { stop_flag = 1; }

}  // namespace

bool stop_requested() { return stop_flag != 0; }

void request_stop() { stop_flag = 1; }

void clear_stop_request() { stop_flag = 0; }

void install_stop_handler() {
  struct sigaction action = {};
  action.sa_handler = on_stop_signal;
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;  // a checkpoint that is being written goes on
  sigaction(SIGTERM, &action, nullptr);
}

}  // namespace trainlab

// supervise ENGINE REQUEST SECONDS: runs the supervisor and prints the outcome as JSON. SECONDS is the engine's time,
// which has no end with 0.
#include <cstdlib>
#include <iostream>
#include <optional>

#include "core/clock.h"
#include "core/value.h"
#include "run/control.h"
#include "run/supervisor.h"

int main(int argc, char** argv) {
  using namespace trainlab;
  if (argc != 4) return 99;
  const double seconds = std::atof(argv[3]);
  Request request = Request::from_value(parse_json(argv[2], "request"));
  const Outcome outcome = Supervisor(argv[1]).run(
      request, std::nullopt, seconds > 0 ? std::optional(steady_seconds() + seconds) : std::nullopt);
  std::cout << to_json(Value::Map{{"folder", outcome.folder.string()},
                                  {"error", outcome.error ? error_value(*outcome.error) : Value()},
                                  {"result", outcome.result},
                                  {"is_out_of_time", outcome.is_out_of_time}})
            << std::endl;
  return outcome.code;
}

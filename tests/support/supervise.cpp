// supervise ENGINE REQUEST: runs the supervisor and prints the outcome as JSON.
#include <iostream>

#include "core/value.h"
#include "run/control.h"
#include "run/supervisor.h"

int main(int argc, char** argv) {
  using namespace trainlab;
  if (argc != 3) return 99;
  Request request = Request::from_value(parse_json(argv[2], "request"));
  const Outcome outcome = Supervisor(argv[1]).run(request);
  std::cout << to_json(Value::Map{{"folder", outcome.folder.string()},
                                  {"error", outcome.error ? error_value(*outcome.error) : Value()},
                                  {"result", outcome.result}})
            << std::endl;
  return outcome.code;
}

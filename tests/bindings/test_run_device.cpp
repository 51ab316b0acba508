// What a recipe makes by itself lives on the run's device.
#include "support.h"

using namespace trainlab;
using namespace trainlab::testing;

TEST_CASE("lab.build works on the run's device unless the recipe names another") {
  Sandbox sandbox;
  sandbox.device = "cuda:7";
  const auto message = [&](const std::string& options) {
    return sandbox.fails("lab.build(lab.nn.Linear(1), { input = { 4 }" + options + " })").message();
  };
  CHECK_THAT(message(""), Catch::Contains("device cuda:7 is not there"));
  CHECK_THAT(message(", device = \"cuda:8\""), Catch::Contains("device cuda:8 is not there"));
}

TEST_CASE("the model of a result is read to the run's device") {
  Sandbox sandbox;
  sandbox.device = "cuda:7";
  for (const std::string call : {"model()", "predict(lab.tensor({ 1 }))"}) {
    CHECK_THAT(sandbox.fails("lab.run(lab.stage {}):" + call).message(), Catch::Contains("device cuda:7 is not there"));
  }
}

// What a recipe makes by itself lives on the run's device.
#include "support.h"
#include "support/stand_in_device.h"
#include "tensor/device.h"

namespace trainlab::run_device_test {

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

TEST_CASE("garbage is collected in time also where the tensors of a loop live on another device") {
  test::register_stand_in();
  constexpr std::int64_t mega = std::int64_t{1} << 20;
  Sandbox sandbox;
  sandbox.execute(R"(
    local x = lab.tensor.ones({ 1024, 1024 }, { device = "stand_in" })
    for i = 1, 100 do local y = x + i end
  )");
  CHECK(device_at(at::Device(at::kPrivateUse1, 0)).memory().peak < 100 * mega);
}

}  // namespace trainlab::run_device_test

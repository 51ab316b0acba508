// Steps in float16 that a device leaves out by itself, because it computes behind the host.
#include <ATen/ops/allclose.h>

#include <catch2/catch.hpp>

#include "support/last_checkpoint.h"
#include "support/overflowing_loss.h"
#include "support/stand_in_device.h"

namespace trainlab::lost_steps_test {

using namespace test;
namespace fs = std::filesystem;

namespace {

RunSettings stand_in_settings() {
  RunSettings settings = test_settings();
  settings.device = "stand_in";
  return settings;
}

Value trained(const std::string& json, const fs::path& folder, std::shared_ptr<Callable> loss,
              const RunSettings& settings) {
  register_stand_in();  // LibTorch must know the device before its first backward pass
  return run_one(parse_options(json, {std::move(loss)}), folder, false, settings);
}

}  // namespace

TEST_CASE("a device that computes behind the host leaves out the same steps by itself") {
  for (const std::string optim :
       {R"({"@": "optim.AdamW", "lr": 0.005})", R"({"@": "optim.SGD", "lr": 0.1, "momentum": 0.9})"}) {
    INFO(optim);
    const TemporaryFolder temporary;
    const std::string fit =
        with_optimizer(with_own_loss(R"(, "steps": 12, "clip": 1, "stop": {"@": "stop.evidence"})"), optim);
    const Value host = trained(fit, temporary.path() / "host", overflowing({0, 5, 6}), cpu_settings());
    const Value device = trained(fit, temporary.path() / "device", overflowing({0, 5, 6}), stand_in_settings());
    CHECK(host["precision"]["skipped_steps"] == Value(3));
    CHECK(host["precision"]["scale"] == Value(8192.0));
    CHECK(device["precision"] == host["precision"]);
    const NamedTensors ours = last_checkpoint(temporary.path() / "device");
    CHECK(ours.contains("stop.1.squares.0"));
    for (const auto& [name, tensor] : last_checkpoint(temporary.path() / "host")) {
      INFO(name);
      // optim.SGD counts steps to know whether its buffers are empty, and a buffer of zeros is as good as an empty one.
      if (name == "optim.step" && optim.find("SGD") != std::string::npos) continue;
      CHECK(at::allclose(ours.at(name).to(at::kDouble), tensor.to(at::kDouble), 1e-3, 1e-4));
    }
  }
}

}  // namespace trainlab::lost_steps_test

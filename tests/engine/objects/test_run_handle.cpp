// What each running fit checks of the calls that a recipe makes.
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <string>

#include "objects/run_handle.h"
#include "support/error_of.h"

namespace trainlab::run_handle_checks_test {

using test::error_of;

namespace {

// Does nothing but check.
class CheckedRun final : public RunHandle {
 public:
  std::int64_t step() const override { return 0; }
  std::int64_t epoch() const override { return 0; }
  std::int64_t samples() const override { return 0; }
  double metric(const std::string&) const override { return 0; }
  std::vector<std::string> metric_names() const override { return {"train.loss", "val.loss"}; }
  void stop(const std::string&) override {}
  void set_lr(SetRate rate) override { check_rate(rate.rate); }
  std::optional<SetRate> set_rate() const override { return {}; }
  void save(const std::string&) override {}
  void log(const std::string& name, Logged) override { check_log_name(name); }
  void artifact(const std::string&, const Artifact&) override {}
  Objects models() const override { return {}; }
  Objects optimizers() const override { return {}; }
  double rate() const override { return 0; }
  Value speed() const override { return {}; }
};

}  // namespace

TEST_CASE("a learning rate is a number of at least 0") {
  CheckedRun run;
  CHECK(error_of([&] { run.set_lr({.rate = 0}); }) == "");
  CHECK(error_of([&] { run.set_lr({.rate = 1e-3}); }) == "");
  for (const double rate : {-1e-3, std::nan(""), std::numeric_limits<double>::infinity()})
    CHECK_THAT(error_of([&] { run.set_lr({.rate = rate}); }),
               Catch::StartsWith("run:set_lr: expected a rate ≥ 0, found "));
}

TEST_CASE("a logged value has another name than what the fit itself writes into its rows") {
  CheckedRun run;
  CHECK(error_of([&] { run.log("loss", 1.0); }) == "");
  CHECK(error_of([&] { run.log("val.own", 1.0); }) == "");
  for (const char* name : {"step", "epoch", "samples", "seconds", "lr", "train.loss", "val.loss"}) {
    CHECK(error_of([&] { run.log(name, 1.0); }) ==
          "run:log: expected another name, found \"" + std::string(name) + "\", which the fit measures itself");
  }
}

TEST_CASE("the entries of logging are those of an object, for its documentation") {
  const Entry log = log_entry("ctx", "Logs.", "ctx:log(\"x\", 1)"), artifact = artifact_entry("run");
  CHECK(log.name == "ctx:log");
  CHECK(artifact.name == "run:artifact");
  CHECK((log.find("value") && artifact.find("content")));
}

}  // namespace trainlab::run_handle_checks_test

// Whether a new model is to be served.
#include <catch2/catch.hpp>

#include "promote_support.h"
#include "serving.h"

namespace trainlab::promotion_test {

namespace fs = std::filesystem;
using namespace test;

namespace {

// A training that learns, and one that hardly does.
const std::string good = R"(, "optim": {"@": "optim.AdamW", "lr": 0.01}, "epochs": 4)";
const std::string bad = R"(, "optim": {"@": "optim.SGD", "lr": 0.0001}, "epochs": 1)";

fs::path served(const fs::path& runs) { return fs::read_symlink(runs / "current"); }

}  // namespace

TEST_CASE("a model is served unless it is worse than the one that is served, on the same data") {
  const TemporaryFolder folder;
  const fs::path& runs = folder.path();
  const Value first = train_in(runs / "001", promoted_fit(good + R"(, "promote": {})"));
  CHECK(first["promotion"]["promoted"] == Value(true));
  CHECK(first["promotion"]["metric"] == Value("val.loss"));
  CHECK(first["promotion"]["value"] == first["metrics"]["val.loss"]);
  CHECK(first["promotion"]["rival"].is_nil());
  CHECK(served(runs) == "001");

  const Value worse = train_in(runs / "002", promoted_fit(bad + R"(, "promote": {})"));
  CHECK(worse["promotion"]["promoted"] == Value(false));
  CHECK(worse["promotion"]["rival"]["run"] == Value((runs / "001").string()));
  CHECK(worse["promotion"]["rival"]["value"].number() == Approx(first["metrics"]["val.loss"].number()));
  CHECK(served(runs) == "001");

  // The newest run is 002, than which this one is not worse.
  const Value again = train_in(runs / "003", promoted_fit(bad + R"(, "promote": {"not_worse_than": "latest"})"));
  CHECK(again["promotion"]["promoted"] == Value(true));
  CHECK(again["promotion"]["rival"]["run"] == Value((runs / "002").string()));
  CHECK(served(runs) == "003");
}

TEST_CASE("a model may be worse by a margin, in the metric's own direction") {
  const TemporaryFolder folder;
  const fs::path& runs = folder.path();
  const std::string accuracy = R"(, "metrics": ["accuracy"], "promote": {"metric": "val.accuracy", "by": )";
  train_in(runs / "001", promoted_fit(good + accuracy + "0}"));
  const Value refused = train_in(runs / "002", promoted_fit(bad + accuracy + "0.05}"));
  CHECK(refused["promotion"]["promoted"] == Value(false));
  CHECK(refused["promotion"]["value"] == refused["metrics"]["val.accuracy"]);
  const Value allowed = train_in(runs / "003", promoted_fit(bad + accuracy + "0.99}"));
  CHECK(allowed["promotion"]["promoted"] == Value(true));
  CHECK(served(runs) == "003");
}

TEST_CASE("a run that normalises its data takes the place of one that did not") {
  const TemporaryFolder folder;
  const std::string normalised = R"({"@": "data:normalize", "source": )" + std::string(digits_data) + "}";
  const Value first = train_in(folder.path() / "001", promoted_fit(bad + R"(, "promote": {})"));
  const Value summary = train_in(folder.path() / "002", promoted_fit(good + R"(, "promote": {})", normalised));
  CHECK(summary["promotion"]["rival"]["value"].number() == Approx(first["metrics"]["val.loss"].number()).epsilon(1e-4));
  CHECK(summary["promotion"]["promoted"] == Value(true));
  CHECK(served(folder.path()) == "002");
}

TEST_CASE("the latest of the other runs is no run that goes on, and one that cannot be read is told") {
  const TemporaryFolder folder;
  const fs::path& runs = folder.path();
  const std::string latest = R"(, "promote": {"not_worse_than": "latest"})";
  for (const char* run : {"001", "002", "003"}) train_in(runs / run, promoted_fit(good + latest));
  // The newest run goes on, and is compared with the run before it.
  const Value again = train_in(runs / "003", promoted_fit(bad + latest));
  CHECK(again["promotion"]["rival"]["run"] == Value((runs / "002").string()));
  CHECK(again["promotion"]["promoted"] == Value(false));

  write_atomic(runs / "003/summary.json", "{");
  const Value after = train_in(runs / "004", promoted_fit(good + latest));
  CHECK(after["promotion"]["promoted"] == Value(false));
  CHECK_THAT(after["promotion"]["reason"].string(),
             Catch::StartsWith("the run with which it was to be compared cannot be told: ") &&
                 Catch::Contains("003/summary.json"));
}

TEST_CASE("a served run that nobody can look into keeps its place, and one that is gone does not") {
  const TemporaryFolder folder;
  const fs::path& runs = folder.path();
  const Value first = train_in(runs / "001", promoted_fit(bad + R"(, "promote": {})"));
  CHECK_THAT(first["promotion"]["reason"].string(), Catch::EndsWith(", and no other run was served"));
  // A link to itself cannot be followed, whoever asks.
  fs::rename(runs / "001", runs / "elsewhere");
  fs::create_directory_symlink("001", runs / "001");
  const Value second = train_in(runs / "002", promoted_fit(good + R"(, "promote": {})"));
  CHECK(second["promotion"]["promoted"] == Value(false));
  CHECK_THAT(second["promotion"]["reason"].string(),
             Catch::Contains("cannot be measured on this data: cannot look into the run folder " +
                             (runs / "001").string() + ": "));
  CHECK(served(runs) == "001");

  fs::remove(runs / "001");
  const Value third = train_in(runs / "003", promoted_fit(good + R"(, "promote": {})"));
  CHECK(third["promotion"]["promoted"] == Value(true));
  CHECK(third["promotion"]["rival"]["run"] == Value((runs / "001").string()));
  CHECK_THAT(third["promotion"]["reason"].string(),
             Catch::EndsWith((runs / "001").string() + ", with which it was to be compared, is gone"));
  CHECK(served(runs) == "003");
}

TEST_CASE("the link stays where another run has been served since the models were compared") {
  const TemporaryFolder folder;
  const fs::path& runs = folder.path();
  train_in(runs / "001", promoted_fit(good + R"(, "promote": {})"));
  train_in(runs / "002", promoted_fit(good + R"(, "promote": {})"));
  const Value third = train_in(runs / "003", promoted_fit(good + R"(, "promote": {})"));
  CHECK(third["promotion"]["serves"] == Value("003"));
  CHECK(third["promotion"]["replaces"] == Value("002"));
  const auto publish = [&] {
    const Options fit = promoted_fit(good + R"(, "promote": {})");
    return promote_registry().implementation<StageKind>(fit.entry()).publish(third, runs / "003");
  };
  CHECK_THAT(publish().at(0), Catch::StartsWith("promoted: "));  // once more: the link leads there already
  CHECK(served(runs) == "003");
  serve_beside(runs / "001", runs / "001");
  CHECK_THAT(publish().at(0), Catch::StartsWith("not promoted: the link has been moved to 001 since"));
  CHECK(served(runs) == "001");
  serve_beside(runs / "002", runs / "002");
  CHECK_THAT(publish().at(0), Catch::StartsWith("promoted: "));
  CHECK(served(runs) == "003");
}

TEST_CASE("the link goes back to the run that was replaced, also to one elsewhere") {
  const TemporaryFolder folder;
  const fs::path run = folder.path() / "digits/005", other = folder.path() / "other/003";
  const Options fit = promoted_fit(good + R"(, "promote": {})");
  for (const fs::path& each : {run, other}) make_directories(each);
  serve_beside(run, run);
  const Value worse = parse_json(
      R"({"promotion": {"promoted": false, "reason": "worse", "serves": "../other/003", "replaces": "../other/003"}})",
      "test");
  const std::vector<std::string> said = promote_registry().implementation<StageKind>(fit.entry()).publish(worse, run);
  CHECK(said == std::vector<std::string>{"no longer served: worse"});
  CHECK(served_beside(run) == other);
}

TEST_CASE("a budget of time keeps the time in which the other model is measured, where there is one") {
  const TemporaryFolder folder;
  const fs::path& runs = folder.path();
  const Options fit = promoted_fit(good + R"(, "metrics": ["accuracy"], "promote": {"metric": "test.accuracy"})");
  const auto parts = [&](const fs::path& run) {
    make_directories(run);
    write_atomic(manifest_path(run), "");
    const RunSettings settings = test_settings();
    const FitPlan plan = plan_fit(fit, settings);
    FitMember member{.options = fit, .context = quiet_context(run, settings)};
    FitCompany company;
    promotion_addition().join(plan, member, company);
    return member.evaluated_at_end.size();
  };
  CHECK(parts(runs / "001") == 0);
  train_in(runs / "001", fit);
  CHECK(parts(runs / "002") == 1);
}

TEST_CASE("what cannot be compared or served is told before the training") {
  const TemporaryFolder folder;
  const auto refused = [&](const std::string& more) {
    return error_of([&] { train_in(folder.path() / "001", promoted_fit(good + more)); });
  };
  CHECK_THAT(refused(R"(, "promote": {"metric": "train.loss"})"),
             Catch::Contains("fit.promote.metric: expected a metric of the validation or the test part"));
  CHECK_THAT(refused(R"(, "promote": {"metric": "val.acuracy"}, "metrics": ["accuracy"])"),
             Catch::Contains("fit.promote.metric") && Catch::Contains("did you mean \"val.accuracy\"?"));
  make_directories(folder.path() / "current");
  CHECK_THAT(refused(R"(, "promote": {})"), Catch::Contains("expected a link to the run that is served"));
  CHECK_FALSE(fs::exists(folder.path() / "001" / "metrics.jsonl"));
}

}  // namespace trainlab::promotion_test

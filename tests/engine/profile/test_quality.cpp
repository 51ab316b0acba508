// The price of remedies that change the result.
#include <catch2/catch.hpp>

#include <string>
#include <vector>

#include "remedies_support.h"

namespace trainlab::quality_test {

using namespace test;

namespace {

Remedy changing(const std::string& set) { return {.name = set, .set = {set}, .result = "changes the result"}; }

// Sets the options `seed` and `optim.lr` of a small fit on digits.
Options digits_with(const std::vector<std::string>& texts) {
  std::string text = digits_fit(R"(, "epochs": 30)");
  for (const std::string& set : texts) {
    const std::size_t equals = set.find('=');
    const std::string option = set.substr(0, equals), value = set.substr(equals + 1);
    if (option == "seed") {
      text.insert(text.size() - 1, R"(, "seed": )" + value);
    } else if (option == "optim.lr") {
      text.replace(text.find("0.005"), 5, value);
    } else {
      throw recipe_error(option + ": no such option");
    }
  }
  return parse_options(text);
}

}  // namespace

TEST_CASE("remedies that change the result are judged by trainings of the same time with the same seeds") {
  const RunSettings settings = cpu_settings();
  const Profile profile = profile_stage(digits_with({}), settings, {.seconds = 0.1});
  TriedRemedies tried{.all = {changing("optim.lr=1e-9"), changing("optim.lr=1e30"), changing("units=4"),
                              changing("optim.lr=0.01"), changing("optim.lr=0.01")},
                      .joined = {.set = {"optim.lr=0.01", "--threads 1"}, .ratio = {3, 2, 4}}};
  std::vector<Remedy>& remedies = tried.all;
  remedies[3].result = "same to rounding";
  remedies[4].reason = "the fit refuses it";
  std::vector<std::vector<std::string>> trained;
  const WithSet with_set = [&](const std::vector<std::string>& texts) {
    trained.push_back(texts);
    return digits_with(texts);
  };
  judge_remedies(tried, profile, digits_with({}), settings, with_set, 6, [](const std::string&) {});

  REQUIRE(remedies[0].quality);
  const RemedyQuality& slow = *remedies[0].quality;
  CHECK(slow.reason == "");
  CHECK(slow.metric == "val.loss");
  CHECK(slow.minimize);
  CHECK(slow.seconds == Approx(0.6));
  CHECK(slow.judgement.pairs == 5);
  CHECK(slow.with > slow.without);
  CHECK(slow.judgement.difference.mean == Approx(slow.with - slow.without));
  CHECK(slow.judgement.difference.low <= slow.judgement.difference.mean);
  CHECK(slow.judgement.quality == compare::Quality::worse);
  // Seeds in order; the two sides of a pair take turns in beginning.
  const std::vector<Texts> first(trained.begin(), trained.begin() + 4);
  CHECK(first == std::vector<Texts>{{"seed=1"}, {"seed=1", "optim.lr=1e-9"}, {"seed=2", "optim.lr=1e-9"}, {"seed=2"}});

  REQUIRE(remedies[1].quality);
  CHECK(remedies[1].quality->judgement.b.failed == 5);
  CHECK(remedies[1].quality->judgement.a.failed == 0);
  REQUIRE(remedies[2].quality);
  CHECK(remedies[2].quality->reason == "units: no such option");
  CHECK_FALSE(remedies[3].quality);
  CHECK_FALSE(remedies[4].quality);

  const std::string text = remedies_text(tried);
  CHECK(
      text.ends_with("\n  to apply: --set optim.lr=0.01 --threads 1 3.00 (2.00 to 4.00); "
                     "later stages would have these threads, too\n"));
  CHECK(text.find("    quality: val.loss ") != std::string::npos);
  CHECK(text.find(", worse; 5 pairs, 600 ms each\n") != std::string::npos);
  CHECK(text.find("; 5 failed with the change, 0 without\n") != std::string::npos);
  CHECK(text.find("    quality: not judged: units: no such option\n") != std::string::npos);
  const Value value = remedies_value(tried);
  CHECK(value["applied"]["set"].list().size() == 2);
  CHECK(value["applied"]["ratio"]["low"] == Value(2.0));
  CHECK(remedies_value({.all = remedies})["applied"].is_nil());
  const Value list = value["remedies"];
  CHECK(list.list()[0]["quality"]["verdict"] == Value("worse"));
  CHECK(list.list()[0]["quality"]["difference"]["low"].number() > 0);
  CHECK(list.list()[2]["quality"]["verdict"].is_nil());
  CHECK(list.list()[3]["quality"].is_nil());
}

TEST_CASE(
    "where no change that changes the result was tried, the quality says so, and with which seconds it would be") {
  const RunSettings settings = cpu_settings();
  const auto error = [&](TriedRemedies tried) {
    return error_of([&] { judge_remedies(tried, {}, digits_with({}), settings, {}, 1, [](const std::string&) {}); });
  };
  Remedy keeps = changing("loader.threads=0");
  keeps.result = "same bytes";
  Remedy missing = changing("batch=128");
  missing.reason = "no time left (--seconds 20 tries all)";
  CHECK(error({.all = {keeps}}) == "no change that changes the result was tried");
  CHECK(error({.all = {keeps, missing}, .enough_seconds = 20}) ==
        "no change that changes the result was tried, and for some changes no time was left (--seconds 20 tries all)");
}

TEST_CASE("remedies are judged by the metric that the fit monitors, and need a validation part") {
  const auto metric = [](const std::string& fit) {
    return quality_metric(plan_fit(parse_options(fit), cpu_settings()));
  };
  CHECK(metric(digits_fit(R"(, "epochs": 1)")) == "val.loss");
  CHECK(metric(digits_fit(R"(, "epochs": 1, "monitor": "val.accuracy")")) == "val.accuracy");
  CHECK(metric(digits_fit(R"(, "epochs": 1, "monitor": "train.loss", "keep": "last")")) == "val.loss");
  std::string alone = digits_fit(R"(, "epochs": 1)");
  const std::string split = R"(, "train": 0.8, "val": 0.1, "test": 0.1, "seed": 7)";
  alone.replace(alone.find(split), split.size(), R"(, "train": 0.8, "test": 0.2)");
  CHECK(error_of([&] {
          metric(alone);
        }).starts_with("--quality: expected a fit with a validation part, found \"test\", which has none"));
}

}  // namespace trainlab::quality_test

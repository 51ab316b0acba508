// The reason that most failed trials share.
#include "study/failures.h"

#include <catch2/catch.hpp>

namespace trainlab::failures_test {

namespace {

// One trial for each text: "" has ended well, "?" failed without a reason, "…" is under way.
std::vector<StoredTrial> trials(const std::vector<std::string>& reasons) {
  std::vector<StoredTrial> all;
  for (const std::string& reason : reasons) {
    StoredTrial& trial = all.emplace_back();
    trial.number = static_cast<std::int64_t>(all.size()) - 1;
    trial.state = reason.empty() ? TrialState::complete : reason == "…" ? TrialState::running : TrialState::failed;
    if (trial.state == TrialState::failed) trial.info = Value::Map{{"reason", reason == "?" ? Value() : Value(reason)}};
  }
  return all;
}

std::string text(const std::vector<std::string>& reasons) { return text_of(failures_of(trials(reasons)).value()); }

}  // namespace

TEST_CASE("without failed trials there is nothing to tell") {
  CHECK_FALSE(failures_of({}));
  CHECK_FALSE(failures_of(trials({"", "…"})));
}

TEST_CASE("the commonest reason is told, and of equally common ones the earlier") {
  CHECK(text({"", "no luck"}) == "1 of 2 trials failed, with: no luck");
  CHECK(text({"no luck", "no luck", "…"}) == "2 of 2 trials failed, all of them with: no luck");
  CHECK(text({"a", "b", "", "b"}) == "3 of 4 trials failed, 2 of them with: b");
  CHECK(text({"b", "a", "a", "b"}) == "4 of 4 trials failed, 2 of them with: b");
  CHECK(text({"?"}) == "1 of 1 trials failed");
  CHECK(failures_of(trials({"a", "b", "", "b"}))->alike == std::vector<std::int64_t>{1, 3});
}

TEST_CASE("reasons may differ in numbers, but not in their places in files") {
  CHECK(text({"not finite at step 4 (learning rate 0.25)", "not finite at step 4 (learning rate 1e-3)"}) ==
        "2 of 2 trials failed, all of them with: not finite at step 4 (learning rate …)");
  CHECK(text({"r.lua:7: conv2 is 12 long", "r.lua:9: conv2 is 12 long", "r.lua:9: conv2 is 3 long"}) ==
        "3 of 3 trials failed, 2 of them with: r.lua:9: conv2 is … long");
  CHECK(text({"conv1 fails", "conv2 fails"}) == "2 of 2 trials failed, 1 of them with: conv1 fails");
}

TEST_CASE("a reason is one line, and cut") {
  CHECK(text({"no luck\nat all"}) == "1 of 1 trials failed, with: no luck");
  const std::string told = text({std::string(1'000, 'x')});
  CHECK(told.size() < 260);
  CHECK_THAT(told, Catch::Contains("xxx"));
}

}  // namespace trainlab::failures_test

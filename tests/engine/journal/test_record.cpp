// The record of a stage: what survives, in which order it comes back, and what cannot be restored.
#include <ATen/ops/arange.h>
#include <ATen/ops/equal.h>

#include <catch2/catch.hpp>
#include <memory>

#include "core/files.h"
#include "journal/record.h"
#include "support/error_of.h"
#include "support/temporary_folder.h"

namespace trainlab::record_test {

using namespace test;
namespace fs = std::filesystem;

namespace {

StageContext stage_in(const fs::path& folder, std::vector<std::string>* said = nullptr) {
  StageContext stage;
  stage.folder = folder;
  stage.say = stage.say_damage = [said](const std::string& line) {
    if (said) said->push_back(line);
  };
  return stage;
}

std::string rows_of(const fs::path& folder) { return read_file(folder / "metrics.jsonl"); }

}  // namespace

TEST_CASE("a record gives back what its parts told, in their order, and cuts the rows that came later") {
  const TemporaryFolder folder;
  {
    Record record(stage_in(folder.path()));
    record.add({.name = "count", .state = [] { return Value(3); }});
    record.add({.name = "absent", .state = []() -> std::optional<Value> { return std::nullopt; }});
    record.add({.name = "weights", .tensors = [] { return NamedTensors{{"weights.w", at::arange(4)}}; }});
    record.begin();
    record.append("{\"step\":1}\n");
    record.commit({.step = 1, .tensors = {}, .info = {}, .best = {}});
    record.append("{\"step\":2}\n");
  }
  std::vector<std::string> calls;
  Record record(stage_in(folder.path()));
  record.add({.name = "weights", .restore = [&](const Value& state, const NamedTensors& tensors) {
                calls.emplace_back("weights");
                CHECK(state.is_nil());
                CHECK(at::equal(tensors.at("weights.w"), at::arange(4)));
              }});
  record.add({.name = "count", .restore = [&](const Value& state, const NamedTensors&) {
                calls.emplace_back("count");
                CHECK(state == Value(3));
              }});
  const std::optional<Checkpoint> found = record.newest("the first step");
  REQUIRE(found);
  CHECK(found->info["absent"].is_nil());
  record.resume(*found);
  CHECK(calls == std::vector<std::string>{"weights", "count"});
  CHECK(record.resumed() == Value(Value::List{1}));
  CHECK(record.seconds() >= 0);
  CHECK(rows_of(folder.path()) == "{\"step\":1}\n");
}

TEST_CASE("values that are added to the last row stay where a stage goes on, and a damaged row stays as it is") {
  const TemporaryFolder folder;
  const std::string first = "{\"step\":1}\n", last = "{\"a\":10.25,\"step\":2}\n";
  const auto resumed = [&](std::vector<std::string>* said = nullptr) {
    auto record = std::make_unique<Record>(stage_in(folder.path(), said));
    record->resume(record->newest("the first step").value());
    record->begin();
    return record;
  };
  {
    Record record(stage_in(folder.path()));
    record.begin();
    record.append(first + last);
    record.commit({.step = 2, .tensors = {}, .info = {}, .best = {}});
    record.amend(Value::Map{{"z", 7}});
  }
  CHECK(rows_of(folder.path()) == first + "{\"a\":10.25,\"step\":2,\"z\":7}\n");
  resumed()->amend(Value::Map{{"a", 1}});
  CHECK(rows_of(folder.path()) == first + "{\"a\":1,\"step\":2,\"z\":7}    \n");
  for (const char* damaged : {"{\"a\":10.25,\"step\":2\n", "[12345678901234567890]\n", "1234567890123456789012\n"}) {
    write_atomic(folder.path() / "metrics.jsonl", first + damaged);
    std::vector<std::string> said;
    resumed(&said)->amend(Value::Map{{"z", 7}});
    CHECK(rows_of(folder.path()) == first + damaged);
    REQUIRE_FALSE(said.empty());
    CHECK_THAT(said.back(), Catch::StartsWith("damage: the last row of "));
  }
}

TEST_CASE("a part that cannot be restored is named, and the rows stay") {
  const TemporaryFolder folder;
  {
    Record record(stage_in(folder.path()));
    record.add({.name = "count", .state = [] { return Value("three"); }});
    record.begin();
    record.commit({.step = 7, .tensors = {}, .info = {}, .best = {}});
    record.append("{\"step\":8}\n");
  }
  const auto refused = [&](const auto& restore) {
    Record record(stage_in(folder.path()));
    record.add({.name = "count", .restore = [&](const Value& state, const NamedTensors&) { restore(state); }});
    const Checkpoint found = record.newest("the first step").value();
    try {
      record.resume(found);
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::usage);
      CHECK(error.hint() == "continue with the engine that wrote the checkpoint, or begin a new run");
      return error.message();
    }
    return std::string("restored");
  };
  CHECK(refused([](const Value& state) { (void)state.integer(); }) ==
        "the checkpoint of step 7 has another kind of count than this engine writes");
  CHECK(refused([](const Value&) { throw recipe_error("the checkpoint has no tensor w"); }) ==
        "the checkpoint of step 7 has count that this engine cannot restore: the checkpoint has no tensor w");
  CHECK_THAT(refused([](const Value&) { at::arange(4).copy_(at::arange(3)); }),
             Catch::StartsWith("the checkpoint of step 7 has count that this engine cannot restore: "));
  CHECK(rows_of(folder.path()) == "{\"step\":8}\n");
}

TEST_CASE("a checkpoint without the number of rows is another engine's, and a disk that fails is not") {
  const TemporaryFolder folder;
  Record record(stage_in(folder.path()));
  CHECK_THAT(error_of([&] { record.resume({.step = 7, .tensors = {}, .info = {}, .best = {}}); }),
             Catch::StartsWith("the checkpoint of step 7 has another kind of seconds than this engine writes"));
  const Value info(Value::Map{{"seconds", 1.0}, {"resumed", Value::List{}}});
  CHECK_THAT(error_of([&] { record.resume({.step = 7, .tensors = {}, .info = info, .best = {}}); }),
             Catch::StartsWith("the checkpoint of step 7 has another kind of metrics_bytes than this engine writes"));
  record.add({.name = "weights",
              .restore = [](const Value&, const NamedTensors&) { throw run_error("the device has failed"); }});
  CHECK(error_of([&] { record.resume({.step = 7, .tensors = {}, .info = info, .best = {}}); }) ==
        "the device has failed");
}

TEST_CASE("a lost start is said and its rows are cut") {
  const TemporaryFolder folder;
  std::vector<std::string> said;
  {
    Record record(stage_in(folder.path()));
    record.begin();
    record.append("{\"step\":1}\n");
  }
  CHECK_FALSE(Record(stage_in(folder.path(), &said)).newest("the beginning"));
  CHECK(said == std::vector<std::string>{"there is no checkpoint: this starts again from the beginning"});
  CHECK(rows_of(folder.path()).empty());
  // Also where no row was written yet: the steps before the first validation are lost.
  CHECK_FALSE(Record(stage_in(folder.path(), &said)).newest("the beginning"));
  CHECK(said.size() == 2);
}

TEST_CASE("a record without a folder keeps nothing") {
  Record record(stage_in(""));
  CHECK_FALSE(record.is_kept());
  record.begin();
  record.append("{\"step\":1}\n");
  record.watch(ProgressStyle::bar, [] { return 0.0; });
  CHECK(record.observers().empty());
}

TEST_CASE("rows that were lost are told, and the rows that are there stay whole lines") {
  for (const auto& [left, stays] : {std::pair("", ""), std::pair("{\"step\":1}\n{\"st", "{\"step\":1}\n")}) {
    const TemporaryFolder folder;
    {
      Record record(stage_in(folder.path()));
      record.begin();
      record.append("{\"step\":1}\n{\"step\":2}\n");
      record.commit({.step = 2, .tensors = {}, .info = {}, .best = {}});
    }
    write_atomic(folder.path() / "metrics.jsonl", left);
    std::vector<std::string> said;
    Record record(stage_in(folder.path(), &said));
    record.resume(*record.newest("the first step"));
    CHECK(rows_of(folder.path()) == stays);
    REQUIRE(said.size() == 1);
    CHECK_THAT(said[0], Catch::EndsWith("has lost rows from before step 2: reports of this stage will lack them"));
  }
}

}  // namespace trainlab::record_test

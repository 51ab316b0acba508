// Requests for snapshots, which are files in a stage's folder.
#include "run/snapshot.h"

#include <catch2/catch.hpp>
#include <chrono>
#include <string>
#include <utility>

#include "core/error.h"
#include "core/files.h"
#include "core/host.h"
#include "support/temporary_folder.h"

namespace trainlab::snapshot_test {

using test::TemporaryFolder;
namespace fs = std::filesystem;

TEST_CASE("a request is there until it is answered, and the answer until it is withdrawn") {
  const TemporaryFolder temporary;
  const fs::path& stage = temporary.path();
  CHECK_FALSE(snapshot_request(stage));
  ask_for_snapshot(stage, {.id = "a1", .seconds = 3, .has_trace = true});
  const auto request = snapshot_request(stage);
  REQUIRE(request);
  CHECK(request->id == "a1");
  CHECK(request->seconds == 3);
  CHECK(request->has_trace);
  answer_snapshot(stage, "a1", Value::Map{{"text", "input"}});
  CHECK_FALSE(snapshot_request(stage));
  CHECK(parse_json(read_file(snapshot_answer_path(stage, "a1")), "answer")["text"] == Value("input"));
  write_atomic(snapshot_trace_path(stage, "a1"), "{}");
  withdraw_snapshot_request(stage, "a1");
  CHECK(fs::is_empty(stage));
}

TEST_CASE("the request of another process stays when one is answered or withdrawn") {
  const TemporaryFolder temporary;
  const fs::path& stage = temporary.path();
  ask_for_snapshot(stage, {.id = "a1"});
  CHECK_THROWS_WITH(ask_for_snapshot(stage, {.id = "b2"}),
                    Catch::Contains("--attach: another process measures this run at present"));
  withdraw_snapshot_request(stage, "a1");
  ask_for_snapshot(stage, {.id = "b2"});
  answer_snapshot(stage, "a1", Value::Map{});
  REQUIRE(snapshot_request(stage));
  CHECK(snapshot_request(stage)->id == "b2");
  withdraw_snapshot_request(stage, "b2");
  CHECK(fs::is_empty(stage));
}

namespace {

// While the first request is written, another process asks too.
class AsksMeanwhile final : public FileCalls {
 public:
  int rename(const fs::path& from, const fs::path& to) override {
    if (to.filename() == "snapshot.request" && !std::exchange(asked_, true)) {
      try {
        ask_for_snapshot(to.parent_path(), {.id = "b2"});
      } catch (const Error& error) {
        refusal_ = error.headline();
      }
    }
    return FileCalls::rename(from, to);
  }
  const std::string& refusal() const { return refusal_; }

 private:
  bool asked_ = false;
  std::string refusal_;
};

void make_old(const fs::path& path, int seconds) {
  fs::last_write_time(path, fs::last_write_time(path) - std::chrono::seconds(seconds));
}

// A process of this machine that is there no more.
std::string gone_process() {
  const std::string own = this_process();
  return own.substr(0, own.rfind(':') + 1) + "2147483647";  // above all numbers of processes
}

void write_request(const fs::path& stage, const std::string& asker) {
  write_atomic(snapshot_request_path(stage),
               to_json(Value::Map{{"id", "a1"}, {"seconds", 5.0}, {"trace", false}, {"asker", asker}}));
}

}  // namespace

TEST_CASE("of two processes that ask at once the second is refused") {
  const TemporaryFolder temporary;
  const fs::path& stage = temporary.path();
  AsksMeanwhile calls;
  {
    const ScopedFileCalls scoped(calls);
    ask_for_snapshot(stage, {.id = "a1"});
  }
  CHECK(calls.refusal() == "--attach: another process measures this run at present");
  REQUIRE(snapshot_request(stage));
  CHECK(snapshot_request(stage)->id == "a1");
  withdraw_snapshot_request(stage, "a1");
  CHECK(fs::is_empty(stage));
}

TEST_CASE("a process that was killed while it asked or waited blocks no other for ever") {
  const TemporaryFolder temporary;
  const fs::path& stage = temporary.path();
  ask_for_snapshot(stage, {.id = "a1", .seconds = 5});
  make_old(snapshot_request_path(stage), 100);  // of 110 s for which it may wait
  CHECK_THROWS_WITH(ask_for_snapshot(stage, {.id = "b2"}), Catch::Contains("another process measures this run"));
  make_old(snapshot_request_path(stage), 20);
  ask_for_snapshot(stage, {.id = "b2"});
  CHECK(snapshot_request(stage)->id == "b2");
  withdraw_snapshot_request(stage, "b2");

  const fs::path asking = stage / "snapshot.asking";
  fs::create_directory(asking);
  CHECK_THROWS_WITH(ask_for_snapshot(stage, {.id = "c3"}), Catch::Contains("another process measures this run"));
  make_old(asking, 20);
  ask_for_snapshot(stage, {.id = "c3"});
  withdraw_snapshot_request(stage, "c3");
  CHECK(fs::is_empty(stage));
}

TEST_CASE("the request of a process that this machine knows to be gone is none, and is replaced at once") {
  const TemporaryFolder temporary;
  const fs::path& stage = temporary.path();
  for (const std::string& asker : {this_process(), std::string("elsewhere/1:2147483647")}) {
    INFO(asker);
    write_request(stage, asker);
    CHECK(snapshot_request(stage));
    CHECK_THROWS_WITH(ask_for_snapshot(stage, {.id = "b2"}), Catch::Contains("another process measures this run"));
  }
  write_request(stage, gone_process());
  CHECK_FALSE(snapshot_request(stage));
  ask_for_snapshot(stage, {.id = "b2"});
  REQUIRE(snapshot_request(stage));
  CHECK(snapshot_request(stage)->id == "b2");
  withdraw_snapshot_request(stage, "b2");

  write_request(stage, gone_process());
  withdraw_snapshot_request(stage, "a1");  // by the process that trains, which finds nobody waiting
  CHECK(fs::is_empty(stage));
}

namespace {

// When the request is removed, another process asks.
class AsksAtRemoval final : public FileCalls {
 public:
  int remove(const fs::path& path) override {
    if (path.filename() == "snapshot.request") {
      try {
        ask_for_snapshot(path.parent_path(), {.id = "b2"});
        got_through_ = true;
      } catch (const Error& error) {
        refusal_ = error.headline();
      }
    }
    return FileCalls::remove(path);
  }
  bool got_through() const { return got_through_; }
  const std::string& refusal() const { return refusal_; }

 private:
  bool got_through_ = false;
  std::string refusal_;
};

}  // namespace

TEST_CASE("the request of a process that asks while another's is removed is never removed with it") {
  const TemporaryFolder temporary;
  const fs::path& stage = temporary.path();
  write_request(stage, gone_process());
  AsksAtRemoval calls;
  {
    const ScopedFileCalls scoped(calls);
    withdraw_snapshot_request(stage, "a1");
  }
  CHECK_FALSE(calls.got_through());
  CHECK(calls.refusal() == "--attach: another process measures this run at present");
  CHECK(fs::is_empty(stage));

  // A process that was killed while it asked holds nobody up.
  write_request(stage, gone_process());
  fs::create_directory(stage / "snapshot.asking");
  make_old(stage / "snapshot.asking", 20);
  withdraw_snapshot_request(stage, "a1");
  CHECK(fs::is_empty(stage));
}

TEST_CASE("an answer to a process that is there no more is removed at once, and by the next request") {
  const TemporaryFolder temporary;
  const fs::path& stage = temporary.path();
  for (const bool is_killed : {true, false}) {  // or has taken its request back
    INFO(is_killed);
    if (is_killed) write_request(stage, gone_process());
    write_atomic(snapshot_trace_path(stage, "a1"), "{}");
    answer_snapshot(stage, "a1", Value::Map{});
    CHECK(fs::is_empty(stage));
  }

  ask_for_snapshot(stage, {.id = "a1", .has_trace = true});
  CHECK(take_snapshot_request(stage, "a1"));
  write_atomic(snapshot_trace_path(stage, "a1"), "{}");
  answer_snapshot(stage, "a1", Value::Map{});  // to a process that is killed before it has fetched the answer
  ask_for_snapshot(stage, {.id = "b2"});
  withdraw_snapshot_request(stage, "b2");
  CHECK(fs::exists(snapshot_answer_path(stage, "a1")));  // which may be fetched in the next moment
  make_old(snapshot_answer_path(stage, "a1"), 100);
  make_old(snapshot_trace_path(stage, "a1"), 100);
  ask_for_snapshot(stage, {.id = "c3"});
  withdraw_snapshot_request(stage, "c3");
  CHECK(fs::is_empty(stage));
}

TEST_CASE("of the processes of a stage one takes a request, and another where the first gives it back") {
  const TemporaryFolder temporary;
  const fs::path& stage = temporary.path();
  ask_for_snapshot(stage, {.id = "a1"});
  CHECK(take_snapshot_request(stage, "a1"));
  CHECK_FALSE(take_snapshot_request(stage, "a1"));
  CHECK(take_snapshot_request(stage, "b2"));
  give_back_snapshot_request(stage, "a1");
  CHECK(take_snapshot_request(stage, "a1"));
  answer_snapshot(stage, "a1", Value::Map{});
  withdraw_snapshot_request(stage, "a1");
  give_back_snapshot_request(stage, "b2");
  CHECK(fs::is_empty(stage));
  CHECK_THROWS_WITH(take_snapshot_request(stage / "gone", "a1"), Catch::Contains("cannot make "));
}

namespace {

// When the request is removed, tries to take it, as another process of the stage might.
class TakesAtRemoval final : public FileCalls {
 public:
  int remove(const fs::path& path) override {
    if (path.filename() == "snapshot.request") taken_ = take_snapshot_request(path.parent_path(), "a1");
    return FileCalls::remove(path);
  }
  std::optional<bool> taken() const { return taken_; }

 private:
  std::optional<bool> taken_;
};

}  // namespace

TEST_CASE("a request is taken by nobody while it is being answered or withdrawn") {
  for (const bool answers : {true, false}) {
    INFO(answers);
    const TemporaryFolder temporary;
    const fs::path& stage = temporary.path();
    ask_for_snapshot(stage, {.id = "a1"});
    REQUIRE(take_snapshot_request(stage, "a1"));
    TakesAtRemoval calls;
    const ScopedFileCalls scoped(calls);
    if (answers) answer_snapshot(stage, "a1", Value::Map{});
    withdraw_snapshot_request(stage, "a1");
    CHECK(calls.taken() == std::optional(false));
    CHECK(fs::is_empty(stage));
  }
}

TEST_CASE("what is no request is none") {
  const TemporaryFolder temporary;
  const fs::path& stage = temporary.path();
  for (const char* text :
       {"", "x", "[]", R"({"id": "../x", "seconds": 1})", R"({"id": "a"})", R"({"id": 1, "seconds": 1})"}) {
    write_atomic(snapshot_request_path(stage), text);
    INFO(text);
    CHECK_FALSE(snapshot_request(stage));
  }
  write_atomic(snapshot_request_path(stage), R"({"id": "a", "seconds": -5})");
  REQUIRE(snapshot_request(stage));
  CHECK(snapshot_request(stage)->seconds > 0);
  CHECK_FALSE(snapshot_request(stage)->has_trace);
}

}  // namespace trainlab::snapshot_test

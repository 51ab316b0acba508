// Studies that were written before trials had the columns parent and until.
#include <sqlite3.h>

#include <catch2/catch.hpp>
#include <filesystem>

#include "core/files.h"
#include "study/place.h"
#include "study/shared_study.h"
#include "study_support.h"

namespace trainlab::schema_1_test {

namespace {

// Trial 3 ran until its process was killed; trial 5 was given and has not begun.
const char* const study = R"(
  PRAGMA journal_mode = WAL;
  CREATE TABLE study (id INTEGER PRIMARY KEY, description TEXT NOT NULL, change INTEGER NOT NULL,
    deadline DOUBLE PRECISION);
  CREATE TABLE trials (number INTEGER PRIMARY KEY, state TEXT NOT NULL, attempt INTEGER NOT NULL,
    lost INTEGER NOT NULL DEFAULT 0, point TEXT NOT NULL, values_ TEXT NOT NULL, owner TEXT NOT NULL,
    supervisor TEXT NOT NULL, expires DOUBLE PRECISION NOT NULL, change INTEGER NOT NULL, info TEXT);
  CREATE INDEX trials_by_change ON trials (change);
  CREATE INDEX trials_running ON trials (expires) WHERE state = 'running';
  CREATE TABLE reports (id INTEGER PRIMARY KEY, trial INTEGER NOT NULL, attempt INTEGER NOT NULL,
    repeat INTEGER NOT NULL, resource INTEGER NOT NULL, value TEXT NOT NULL);
  INSERT INTO study VALUES (1, '"x"', 9, NULL);
  INSERT INTO trials VALUES (0, 'complete', 1, 0, '0.25', '3', 'h:1', 's', 5, 2, '{"parent": null, "seconds": 1}');
  INSERT INTO trials VALUES (1, 'complete', 2, 1, '0.5', '1', 'h:1', 's', 5, 4, '{"parent": null, "seconds": 2}');
  INSERT INTO trials VALUES (2, 'failed', 1, 0, '0.75', '', 'h:1', 's', 5, 6, '{"parent": null, "reason": "no"}');
  INSERT INTO trials VALUES (3, 'running', 1, 0, '0.5', '', 'h:1', 's', 5, 7, NULL);
  INSERT INTO trials VALUES (4, 'complete', 1, 0, '0.125', '2', 'h:1', 's', 5, 8, '{"parent": null, "seconds": 4}');
  INSERT INTO trials VALUES (5, 'waiting', 0, 0, '0.375', '', '', '', 0, 9, NULL);
  INSERT INTO reports VALUES (1, 1, 2, 1, 1, '1');
  INSERT INTO reports VALUES (2, 3, 1, 1, 2, '0.5');
  PRAGMA user_version = 1;)";

std::filesystem::path written() {
  const std::filesystem::path file = std::filesystem::current_path() / "schema-1.db";
  for (const char* part : {"", "-wal", "-shm"}) std::filesystem::remove(file.string() + part);
  sqlite3* sql = nullptr;
  REQUIRE(sqlite3_open(file.c_str(), &sql) == SQLITE_OK);
  const int code = sqlite3_exec(sql, study, nullptr, nullptr, nullptr);
  INFO(sqlite3_errmsg(sql));
  CHECK(code == SQLITE_OK);
  CHECK(sqlite3_close(sql) == SQLITE_OK);
  return file;
}

SharedStudy shared(const StudyPlace& place) {
  const Space space = parse_space(R"({"x": {"@": "space.uniform", "low": 0, "high": 1}})");
  auto storage = place.open();
  CHECK(storage->open("another") == Value("x"));
  return {std::move(storage),
          Study(space, parse_sampler(R"({"@": "sampler.tpe"})", space), {}),
          {.name = "h:2", .supervisor = "s", .expires = 0}};
}

}  // namespace

TEST_CASE("a study of schema 1 is read as it is") {
  const std::filesystem::path file = written();
  const std::string bytes = read_file(file);
  StudyPlace(file).read([](StudyReader& reader) {
    CHECK(reader.description() == Value("x"));
    const auto trials = reader.trials(true);
    REQUIRE(trials.size() == 6);
    CHECK(trials[1].values == std::vector{1.0});
    CHECK(trials[2].info["reason"] == Value("no"));
    CHECK(reader.seconds() == 7.0);
    CHECK(reader.reports(std::vector<std::int64_t>{1, 3}).size() == 2);
  });
  CHECK(read_file(file) == bytes);
}

TEST_CASE("a study of schema 1 that is refused stays as it is") {
  const std::filesystem::path file = written();
  const auto refuse = [](const Value& stored) {
    CHECK(stored == Value("x"));
    throw usage_error("another study");
  };
  CHECK_THROWS_WITH(StudyPlace(file).open()->open("another", {}, refuse), "another study");
  sqlite3* sql = nullptr;
  REQUIRE(sqlite3_open(file.c_str(), &sql) == SQLITE_OK);
  int schema = 0;
  const auto read = [](void* to, int, char** columns, char**) {
    *static_cast<int*>(to) = std::atoi(columns[0]);
    return 0;
  };
  CHECK(sqlite3_exec(sql, "PRAGMA user_version", read, &schema, nullptr) == SQLITE_OK);
  CHECK(schema == 1);
  CHECK(sqlite3_exec(sql, "SELECT parent FROM trials", nullptr, nullptr, nullptr) != SQLITE_OK);
  CHECK(sqlite3_close(sql) == SQLITE_OK);
}

TEST_CASE("a study of schema 1 goes on where it was, and nothing is lost") {
  const StudyPlace place(written());
  {
    SharedStudy first = shared(place);
    const Trials& trials = first.study().trials();
    REQUIRE(trials.size() == 6);
    CHECK(trials.value(1) == 1);
    CHECK(first.stored(1).lost == 1);
    CHECK(trials.state(2) == TrialState::failed);
    CHECK(trials.last_resource(3) == 2);
    // The lease of the killed process has ended.
    const Lease lease = first.ask(10, 100, 20).lease.value();
    first.follow();
    CHECK(lease.trial == 3);
    CHECK(lease.attempt == 2);
    first.end({{lease, TrialState::complete, {0.5}, Value::Map{}}});
  }
  SharedStudy second = shared(place);  // by now of this version's schema
  const Lease lease = second.ask(11, 100, 20).lease.value();
  CHECK(lease.trial == 5);
  second.follow();
  CHECK_FALSE(second.stored(5).segment);
  CHECK(second.study().best() == 3);
  place.read([](StudyReader& reader) { CHECK(reader.trials(false).size() == 6); });
}

TEST_CASE("a scheduler takes no study whose trials have no segments") {
  const StudyPlace place(written());
  const Space space = parse_space(R"({"x": {"@": "space.uniform", "low": 0, "high": 1}})");
  auto storage = place.open();
  storage->open("x");
  const auto halving =
      make_scheduler(parse_entry(R"({"@": "scheduler.halving", "configurations": 3, "min": 2})"), space, 1, 1);
  const auto join = [&] {
    SharedStudy study(std::move(storage),
                      Study(space, parse_sampler(R"({"@": "sampler.tpe"})", space), {.scheduler = halving}),
                      {.name = "h:2", .supervisor = "s", .expires = 0});
  };
  CHECK_THROWS_WITH(join(), Catch::StartsWith("the study's file holds trial 0, but it has begun without a segment"));
}

}  // namespace trainlab::schema_1_test

// Studies in PostgreSQL: the URL, and a server that goes away and comes back.
#include "study/database.h"

#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <functional>

#include "core/error.h"
#include "study/place.h"
#include "support/postgresql_server.h"

namespace trainlab::database_test {

namespace {

std::string words_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

std::string refusal_of(const std::string& url) {
  return words_of([&] { Database database(url); });
}

// The server, or nothing in a test that is skipped.
std::optional<Database> server() {
  const std::optional<std::string> url = test::postgresql_server();
  if (!url) WARN("skipped: PostgreSQL is not installed");
  return url ? std::optional(Database(*url)) : std::nullopt;
}

const Storage::Owner owner{.name = "a", .supervisor = "s1", .expires = 1e9};

std::optional<Lease> begin(Storage& storage, std::int64_t trial) {
  return storage.begin(owner, 0, [&](const StudyChanges&) { return Storage::Begin{trial, {0.5}}; });
}

}  // namespace

TEST_CASE("the text of a URL is the URL without its password") {
  for (const auto& [url, text] : std::vector<std::pair<std::string, std::string>>{
           {"postgresql://", "postgresql://"},
           {"postgres://db/lab", "postgres://db/lab"},
           {"postgresql://me@db.example:5433/lab?sslmode=verify-full",
            "postgresql://me@db.example:5433/lab?sslmode=verify-full"},
           {"postgresql://me:secret@db/lab", "postgresql://me@db/lab"},
           {"postgresql://me:a%40b@[::1]:5432,other/lab", "postgresql://me@[::1]:5432,other/lab"},
           {"postgresql:///lab?host=/run/x&password=secret&user=me", "postgresql:///lab?host=/run/x&user=me"},
           {"postgresql://db?password=secret", "postgresql://db"}}) {
    const Database database(url);
    CHECK(database.url() == url);
    CHECK(database.text() == text);
    CHECK(database.has_password() == (url != text));
  }
  const Database database("postgresql://me:a%40b@db/lab");
  CHECK(database.without_password("for a%40b: no a@b") == "for ***: no ***");
}

TEST_CASE("what is no URL of a database is refused, and no password is shown") {
  CHECK_THAT(refusal_of("mysql://db/lab"), Catch::Contains("expected a URL postgresql://USER@HOST/DATABASE, found "
                                                           "\"mysql://db/lab\"") &&
                                               Catch::Contains("PostgreSQL"));
  CHECK_THAT(refusal_of("search.db"), Catch::Contains("found \"search.db\""));
  CHECK_THAT(refusal_of("postgresql://db:abc/lab"), Catch::Contains("its port"));
  CHECK_THAT(refusal_of("postgresql://db/a b"), Catch::Contains("a space"));
  CHECK_THAT(refusal_of("postgresql://db/%zz"), Catch::Contains("hexadecimal"));
  CHECK_THAT(refusal_of("postgresql://db/lab?sslmode"), Catch::Contains("OPTION=VALUE"));
  for (const std::string url :
       {"mysql://me:secret@db/lab", "postgresql://me:sec/ret@db/lab", "postgresql://me:secret@db:x/lab",
        "postgresql://me:secret@host@db/lab", "host=db password=secret", "me:secret@db"}) {
    INFO(url);
    CHECK_THAT(refusal_of(url), Catch::Contains("expected a URL") && !Catch::Contains("sec"));
  }
}

TEST_CASE("studies of one prefix are numbered, and are there once they have been opened") {
  const std::optional<Database> database = server();
  if (!database) return;
  CHECK(database->studies("sweep").empty());
  CHECK(database->make_next("sweep") == "sweep/001");
  CHECK(database->make_next("sweep") == "sweep/002");
  CHECK(database->make_next("sweep_") == "sweep_/001");
  const std::string longest(100, 'x');
  CHECK(database->make_next(longest) == std::string(55, 'x') + "/001");
  CHECK(database->make_next(longest) == std::string(55, 'x') + "/002");
  CHECK(database->studies("sweep").empty());
  for (const char* name : {"sweep/002", "sweep/001", "sweep_/001"}) StudyPlace(*database, name).open()->open("x");
  CHECK(database->studies("sweep") == std::vector<std::string>{"sweep/002", "sweep/001"});
}

TEST_CASE("32 processes that make studies together get a number each") {
  const std::optional<Database> database = server();
  if (!database) return;
  std::vector<pid_t> processes;
  for (int i = 0; i < 32; ++i) {
    const pid_t pid = ::fork();
    REQUIRE(pid >= 0);
    if (pid == 0) ::_exit(words_of([&] { database->make_next("many"); }) == "no error" ? 0 : 1);
    processes.push_back(pid);
  }
  for (const pid_t pid : processes) {
    int status = -1;
    CHECK(::waitpid(pid, &status, 0) == pid);
    CHECK(status == 0);
  }
  CHECK(database->make_next("many") == "many/033");
}

TEST_CASE("what cannot be opened is told") {
  const std::optional<Database> database = server();
  if (!database) return;
  CHECK_THAT(words_of([&] { StudyPlace(*database, "nowhere").open(); }),
             Catch::Contains("study nowhere: the study is gone, its schema was dropped"));
  CHECK_THAT(words_of([&] { StudyPlace(*database, "pg_catalog").open(); }), Catch::Contains("something else"));
  Database other("postgresql:///nowhere?user=postgres&" + database->url().substr(database->url().find("host=")));
  CHECK_THAT(words_of([&] { other.make_next("x"); }), Catch::Contains("database \"nowhere\" does not exist"));
}

TEST_CASE("a server that starts again is waited for, and nothing is done twice") {
  const std::optional<Database> database = server();
  if (!database) return;
  database->make("restarts");
  std::vector<std::string> said;
  const Waiting waiting{.say = [&](const std::string& line) { said.push_back(line); }};
  const auto storage = StudyPlace(*database, "restarts").open(waiting);
  storage->open("x", std::vector<std::vector<double>>{{0.25}});
  test::tell_postgresql_server("restart");
  const std::optional<Lease> lease = begin(*storage, 0);
  REQUIRE(lease);
  REQUIRE(said.size() == 2);
  CHECK_THAT(said[0], Catch::Contains("study restarts: ") && Catch::Contains("trying again for 120 s"));
  CHECK_THAT(said[1], Catch::Contains("the database is there again"));
  test::tell_postgresql_server("restart");
  storage->report(*lease, std::vector<TrialReport>{{1, 1, {0.5}}});
  test::tell_postgresql_server("restart");
  storage->end({{*lease, TrialState::complete, {0.25}}});
  test::tell_postgresql_server("restart");
  CHECK(storage->enqueue(std::vector{0.75}) == 1);
  test::tell_postgresql_server("restart");
  const StudyChanges all = storage->changes();
  REQUIRE(all.trials.size() == 2);
  CHECK(all.trials[0].state == TrialState::complete);
  CHECK(all.trials[0].attempt == 1);
  CHECK(all.reports.size() == 1);
}

TEST_CASE("a server that stays away ends the work as interrupted, and the work goes on when it is back") {
  const std::optional<Database> database = server();
  if (!database) return;
  database->make("away");
  bool gives_up = false;
  const auto impatient = StudyPlace(*database, "away").open({.patience = 0});
  const auto stopped = StudyPlace(*database, "away").open({.gives_up = [&] { return gives_up; }});
  impatient->open("x");
  const std::optional<Lease> lease = begin(*impatient, 0);
  REQUIRE(lease);
  test::tell_postgresql_server("stop");
  CHECK_THROWS_MATCHES(impatient->end({{*lease, TrialState::complete, {1.0}}}), Error,
                       Catch::Predicate<Error>([](const Error& e) { return e.kind() == ErrorKind::interrupted; }));
  gives_up = true;
  CHECK_THROWS_MATCHES(stopped->changes(), Error,
                       Catch::Predicate<Error>([](const Error& e) { return e.kind() == ErrorKind::interrupted; }));
  CHECK_THAT(words_of([&] { StudyPlace(*database, "away").open(); }),
             Catch::Contains("study away: ") && Catch::Contains("hint: "));
  test::tell_postgresql_server("start");
  impatient->end({{*lease, TrialState::complete, {1.0}}});
  CHECK(stopped->changes().trials.at(0).state == TrialState::complete);
}

}  // namespace trainlab::database_test

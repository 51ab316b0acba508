// What every storage must keep: numbers without gaps, leases, order, exact numbers, and nothing lost.
#include "study/place.h"

#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <limits>
#include <map>
#include <vector>

#include "core/error.h"
#include "core/files.h"
#include "core/host.h"
#include "core/random/stream.h"
#include "storage/sql/clock_jumps.h"
#include "storage/sql/sql_storage.h"
#include "study/ranking.h"
#include "study/shared_study.h"
#include "study_support.h"
#include "support/postgresql_server.h"

namespace trainlab::storage_test {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

Storage::Owner owner(const std::string& name, double expires = 100) {
  return {.name = name, .supervisor = "s1", .expires = expires};
}

// Every kind of storage that there is, where it is there: a place for a study, which is empty at first, by a folder or
// a name. A new kind is tested by standing here.
using Kind = StudyPlace (*)(const std::filesystem::path& folder, const std::string& name);
StudyPlace in_file(const std::filesystem::path& folder, const std::string&) { return StudyPlace(folder / "study.db"); }
StudyPlace in_postgresql(const std::filesystem::path&, const std::string& name) {
  const Database database(*test::postgresql_server());
  database.make(name);
  return {database, name};
}
std::vector<Kind> kinds() {
  if (test::postgresql_server()) return {in_file, in_postgresql};
  WARN("skipped: PostgreSQL is not installed");
  return {in_file};
}

// A place for a study of each kind, empty, in the scratch folder in which tests run.
struct Folder {
  explicit Folder(Kind its_kind = in_file) : kind(its_kind), place(std::filesystem::current_path() / "study") {
    static int count = 0;
    name = "study-" + std::to_string(++count);
    std::filesystem::remove_all(place);
    std::filesystem::create_directories(place);
  }
  ~Folder() { std::filesystem::remove_all(place); }
  Folder(const Folder&) = delete;
  const std::filesystem::path& path() const { return place; }
  std::unique_ptr<Storage> open() const { return kind(place, name).open(); }
  Kind kind;
  std::filesystem::path place;
  std::string name;
};
// In each test once: it runs for every kind.
Kind any_kind() { return GENERATE(from_range(kinds())); }

// One who works on the study: knows its trials, and begins the first that waits or a new one.
struct Worker {
  explicit Worker(const Folder& folder) : Worker(folder.open()) {}
  explicit Worker(std::unique_ptr<Storage> its_storage) : storage(std::move(its_storage)) { storage->open("x"); }
  std::optional<Lease> take(const Storage::Owner& who, double now = 0) {
    return storage->begin(who, now, [&](const StudyChanges& changes) -> std::optional<Storage::Begin> {
      for (const StoredTrial& trial : changes.trials) known[trial.number] = trial;
      for (const auto& [number, trial] : known) {
        if (trial.state == TrialState::waiting) return Storage::Begin{number, trial.point};
      }
      return Storage::Begin{static_cast<std::int64_t>(known.size()), {0.5}};
    });
  }
  Storage* operator->() const { return storage.get(); }
  std::unique_ptr<Storage> storage;
  std::map<std::int64_t, StoredTrial> known;
};

std::string message(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

const char* const line = R"({"x": {"@": "space.uniform", "low": 0, "high": 1}})";

SharedStudy shared(const Folder& folder, const std::string& name, const std::string& sampler,
                   bool deterministic = false) {
  const Space space = parse_space(line);
  auto storage = folder.open();
  storage->open(space.to_value());
  return SharedStudy(std::move(storage), Study(space, parse_sampler(sampler, space), {.deterministic = deterministic}),
                     owner(name));
}

}  // namespace

TEST_CASE("the first description holds, numbers come back exactly") {
  const Folder folder(any_kind());
  const auto a = folder.open(), b = folder.open();
  CHECK(a->open("one") == Value("one"));
  CHECK(b->open("two") == Value("one"));
  const std::vector<double> point = {0.1, std::nan(""), -infinity, 1e-320, 123456789.123456789};
  CHECK(a->enqueue(point) == 0);
  const auto lease = b->begin(owner("b"), 0, [&](const StudyChanges&) { return Storage::Begin{0, point}; });
  REQUIRE(lease);
  b->report(*lease, std::vector<TrialReport>{{1, 1, {std::nan("")}}, {1, 2, {infinity, -0.1}}, {2, 1, {0.3}}});
  b->end({{*lease, TrialState::complete, {infinity}, Value::Map{{"how", "alone"}}}});
  const StudyChanges all = a->changes();
  REQUIRE(all.trials.size() == 1);
  CHECK(all.trials[0].state == TrialState::complete);
  CHECK(all.trials[0].values == std::vector<double>{infinity});
  CHECK(all.trials[0].info["how"] == Value("alone"));
  REQUIRE(all.trials[0].point.size() == point.size());
  for (std::size_t i = 0; i < point.size(); ++i) {
    CHECK((all.trials[0].point[i] == point[i] || (std::isnan(point[i]) && std::isnan(all.trials[0].point[i]))));
  }
  REQUIRE(all.reports.size() == 3);
  CHECK(std::isnan(all.reports[0].report.values.front()));
  CHECK(all.reports[1].report.values == std::vector{infinity, -0.1});
  CHECK(all.reports[2].report.repeat == 2);
  CHECK(a->changes().trials.empty());
  CHECK(a->changes().reports.empty());
}

TEST_CASE("the segment with which a trial was begun is kept, whoever takes the trial next") {
  const Folder folder(any_kind());
  const auto a = folder.open();
  a->open("x");
  const auto begin = [&](std::int64_t trial, std::optional<Segment> segment) {
    return a->begin(owner("a"), 0, [&](const StudyChanges&) { return Storage::Begin{trial, {0.5}, segment}; });
  };
  begin(0, Segment{.parent = {}, .until = 2});
  a->give_back(*begin(1, Segment{.parent = 0, .until = 6}));
  a->enqueue(std::vector{0.5});
  begin(3, std::nullopt);
  a->enqueue(std::vector{0.5});
  begin(4, Segment{.parent = 1, .until = 0});
  std::map<std::int64_t, StoredTrial> trials;
  for (const StoredTrial& trial : folder.open()->changes().trials) trials[trial.number] = trial;
  REQUIRE(trials.size() == 5);
  REQUIRE(trials[0].segment);
  CHECK_FALSE(trials[0].segment->parent);
  CHECK(trials[0].segment->until == 2);
  CHECK(trials[1].state == TrialState::waiting);
  REQUIRE(trials[1].segment);
  CHECK(trials[1].segment->parent == 0);
  CHECK(trials[1].segment->until == 6);
  CHECK_FALSE(trials[2].segment);
  CHECK_FALSE(trials[3].segment);
  REQUIRE(trials[4].segment);
  CHECK(trials[4].segment->parent == 1);
  CHECK(trials[4].segment->until == 0);
}

TEST_CASE("a trial that was cut short is as long as it has trained") {
  const Folder folder(any_kind());
  const auto a = folder.open();
  a->open("x");
  const auto begin = [&](std::int64_t trial, const Segment& segment) {
    return *a->begin(owner("a"), 0, [&](const StudyChanges&) { return Storage::Begin{trial, {0.5}, segment}; });
  };
  a->end({{begin(0, Segment{.parent = {}, .until = 3}), TrialState::complete, {0.5}}});
  const Lease cut = begin(1, Segment{.parent = 0, .until = 9});
  SharedStudy study = shared(folder, "b", R"({"@": "sampler.random"})");
  SECTION("behind its parent, if its value is worse") {
    a->end({{cut, TrialState::complete, {0.6}, {}, 3}});
    study.follow();
    CHECK(study.study().segment(1).until == 3);
    CHECK(study.study().best() == 0);
    CHECK(leaderboard(study.stored(), false) == std::vector<std::size_t>{0, 1});
  }
  SECTION("before its parent, if it has trained on") {
    a->end({{cut, TrialState::complete, {0.6}, {}, 4}});
    study.follow();
    CHECK(study.study().segment(1).until == 4);
    CHECK(study.study().segment(1).parent == 0);
    CHECK(study.study().best() == 1);
    CHECK(leaderboard(study.stored(), false) == std::vector<std::size_t>{1, 0});
  }
}

TEST_CASE("a process may leave the trial that comes next to others") {
  const Folder folder(any_kind());
  SharedStudy study = shared(folder, "b", R"({"@": "sampler.random"})");
  std::vector<std::int64_t> asked;
  const auto refuses = [&](std::int64_t trial, const Segment&) {
    asked.push_back(trial);
    return false;
  };
  const SharedStudy::Asked refused = study.ask(0, 1e12, 9, refuses);
  CHECK_FALSE(refused.lease);
  CHECK_FALSE(refused.wait);
  CHECK(asked == std::vector<std::int64_t>{0});
  CHECK(study.ask(0, 1e12, 9).lease->trial == 0);
  CHECK(study.ask(0, 1e12, 9, refuses).wait);  // until the trial that runs has ended
}

TEST_CASE("a stored trial that continues a later one is told") {
  const Folder folder(any_kind());
  const auto a = folder.open();
  a->open("x");
  a->begin(owner("a"), 0, [](const StudyChanges&) {
    return Storage::Begin{0, {0.5}, Segment{.parent = 3, .until = 2}};
  });
  CHECK_THAT(message([&] { shared(folder, "b", R"({"@": "sampler.random"})"); }),
             Catch::Contains("holds trial 0, but it continues trial 3"));
}

TEST_CASE("a lease that has ended is refused, whoever has the trial now") {
  const Folder folder(any_kind());
  Worker a(folder), b(folder);
  const Lease first = *a.take(owner("a", 10));
  CHECK(first.trial == 0);
  CHECK(b.take(owner("b", 10), 9)->trial == 1);  // not over yet
  a->renew(first, 20);
  const Lease other = *b.take(owner("b", 30), 15);
  CHECK(other.trial == 1);  // its own, whose time is over
  CHECK(other.attempt == 2);
  const Lease again = *b.take(owner("b", 40), 25);
  CHECK(again.trial == 0);
  CHECK(again.attempt == 2);
  for (const auto& late :
       std::vector<std::function<void()>>{[&] {
                                            a->end({{first, TrialState::complete, {1.0}}});
                                          },
                                          [&] { a->renew(first, 99); },
                                          [&] {
                                            a->report(first, std::vector<TrialReport>{{1, 1, {0.5}}});
                                          },
                                          [&] { a->give_back(first); }}) {
    CHECK_THAT(message(late), Catch::Contains("trial 0 is no longer leased to a (attempt 1)") &&
                                  Catch::Contains("begun again by b (attempt 2)"));
  }
  b->end({{again, TrialState::complete, {2.0}}});
  CHECK_THAT(message([&] { b->end({{again, TrialState::failed, {}}}); }), Catch::Contains("it is complete now"));
  StudyChanges all = folder.open()->changes();
  CHECK(all.trials.size() == 2);
  CHECK(all.reports.empty());
}

TEST_CASE("trials that are told together end together or not at all") {
  const Folder folder(any_kind());
  Worker a(folder), b(folder);
  std::vector<Lease> leases;
  for (int i = 0; i < 3; ++i) leases.push_back(*a.take(owner("a", 10)));
  std::vector<EndedTrial> ends;
  for (std::size_t i = 0; i < leases.size(); ++i)
    ends.push_back({leases[i], TrialState::complete, {static_cast<double>(i)}});
  a->renew(leases[2], 100);
  const Lease taken = *b.take(owner("b", 100), 11);
  CHECK(taken.trial == 0);
  std::swap(ends[0], ends[1]);  // the lost lease is neither the first nor the last to be looked at
  ends[0].lease = *b.take(owner("b", 100), 11);
  CHECK_THAT(message([&] { a->end(ends); }), Catch::Contains("trial 0 is no longer leased to a (attempt 1)"));
  for (const StoredTrial& trial : folder.open()->changes().trials) CHECK(trial.state == TrialState::running);
  ends[1].lease = taken;
  b->end(ends);
  const StudyChanges all = folder.open()->changes();
  REQUIRE(all.trials.size() == 3);
  for (const StoredTrial& trial : all.trials) {
    CHECK(trial.state == TrialState::complete);
    CHECK(trial.values == std::vector{static_cast<double>(trial.number)});
  }
}

TEST_CASE("leases of another supervisor end at once, a trial that is given back waits") {
  const Folder folder(any_kind());
  Worker a(folder);
  const Lease old = *a.take(owner("a"));
  a->revoke_all_but("s2");
  CHECK_THAT(message([&] { a->renew(old, 1000); }), Catch::Contains("it is waiting now"));
  const Lease anew = *a.take({.name = "c", .supervisor = "s2", .expires = 100});
  CHECK(anew.trial == 0);
  a->give_back(anew);
  CHECK(a.take({.name = "c", .supervisor = "s2", .expires = 100})->attempt == 3);
}

TEST_CASE("points to try first are there once, whoever opens the study") {
  const Folder folder(any_kind());
  const auto a = folder.open(), b = folder.open();
  a->open("x", std::vector<std::vector<double>>{{0.25}, {std::nan("")}});
  b->open("x", std::vector<std::vector<double>>{{0.75}});
  const StudyChanges all = b->changes();
  REQUIRE(all.trials.size() == 2);
  CHECK(all.trials[0].state == TrialState::waiting);
  CHECK(all.trials[0].point[0] == 0.25);
  CHECK(std::isnan(all.trials[1].point[0]));
}

TEST_CASE("a trial that was lost waits again and is counted, one that has ended is not lost") {
  const Folder folder(any_kind());
  Worker a(folder);
  const Lease first = *a.take(owner("a"));
  a->lose(first);
  const Lease again = *a.take(owner("b", 10));
  CHECK(again.trial == 0);
  a->lose(first);  // another one's by now
  a->renew(again, 20);
  CHECK(a.take(owner("c"), 21)->trial == 0);  // its time is over
  CHECK(folder.open()->changes().trials.at(0).lost == 2);
}

TEST_CASE("nothing is begun after the deadline") {
  const Folder folder(any_kind());
  Worker a(folder), b(folder);
  a->set_deadline(50);
  CHECK(b.take(owner("b"), 49));
  CHECK_FALSE(b.take(owner("b"), 51));
  a->set_deadline(infinity);
  CHECK(b.take(owner("b"), 51));
}

TEST_CASE("a wall clock that is set ahead ends neither the study nor the lease of a process that lives") {
  const Folder folder;
  double now = 1e9;
  const auto open = [&] { return sql_storage(sqlite_dialect(folder.path() / "study.db"), {}, [&now] { return now; }); };
  Worker a(open()), b(open());
  a->set_deadline(now + 60);
  const Lease lease = *a.take(owner("a", now + 60), now);
  now += 7200;
  const auto next = b.take(owner("b", now + 60), now);
  REQUIRE(next);
  CHECK(next->trial == 1);
  a->renew(lease, now + 60);
  b->set_deadline(now - 1);
  CHECK_FALSE(b.take(owner("b", now + 60), now));
}

TEST_CASE("after a jump of the clock there is time to renew leases") {
  ClockJumps jumps(1e9, 500);
  CHECK(jumps.recent(1e9 + 100, 600) == 0);
  CHECK(jumps.recent(1e9 + 7300.5, 700.5) == 7100);
  CHECK(jumps.recent(1e9 + 7310.5, 710.5) == 7100);
  CHECK(jumps.recent(1e9 + 7322, 719) == Approx(7103));  // once more, a little
  CHECK(jumps.recent(1e9 + 7360, 760) == 0);
  CHECK(jumps.recent(1e9, 770) == 0);  // a clock that was set back ends no lease
}

TEST_CASE("a choice that raises changes nothing, and what it was told comes again") {
  const Folder folder(any_kind());
  Worker a(folder), b(folder);
  const Lease lease = *a.take(owner("a"));
  a->end({{lease, TrialState::complete, {1.0}}});
  const auto raising = [](const StudyChanges&) -> std::optional<Storage::Begin> { throw recipe_error("not now"); };
  CHECK_THAT(message([&] { b->begin(owner("b"), 0, raising); }), Catch::Contains("not now"));
  CHECK(b.take(owner("b"))->trial == 1);
  CHECK(b.known.at(0).state == TrialState::complete);
}

TEST_CASE("the trial of a process of this host that has died is given to who asks next") {
  const Folder folder(any_kind());
  std::fflush(nullptr);
  const pid_t pid = ::fork();
  REQUIRE(pid >= 0);
  if (pid == 0) {
    const bool asked = shared(folder, this_process(), R"({"@": "sampler.random"})").ask(0, 1e12, 9).lease.has_value();
    ::_exit(asked ? 0 : 1);
  }
  int status = -1;
  CHECK(::waitpid(pid, &status, 0) == pid);
  CHECK(status == 0);
  SharedStudy study = shared(folder, this_process(), R"({"@": "sampler.random"})");
  const auto lease = study.ask(1, 1e12, 9).lease;
  REQUIRE(lease);
  CHECK(lease->trial == 0);
  CHECK(lease->attempt == 2);
  CHECK(study.ask(1, 1e12, 9).lease->trial == 1);  // its own live on
}

TEST_CASE("32 processes that start together: no failure, no gap, no number twice") {
  const Folder folder(any_kind());
  std::vector<pid_t> processes;
  std::fflush(nullptr);
  for (int w = 0; w < 32; ++w) {
    const pid_t pid = ::fork();
    REQUIRE(pid >= 0);
    if (pid != 0) {
      processes.push_back(pid);
      continue;
    }
    try {
      SharedStudy study = shared(folder, "w" + std::to_string(w), R"({"@": "sampler.random"})");
      while (const auto lease = study.ask(0, 100, 200).lease) {
        study.report(*lease, std::vector<TrialReport>{{1, 1, {static_cast<double>(w)}}});
        study.end({{*lease, TrialState::complete, {0.5}}});
      }
    } catch (const std::exception& error) {
      std::fprintf(stderr, "%s\n", error.what());
      ::_exit(1);
    }
    ::_exit(0);
  }
  for (const pid_t pid : processes) {
    int status = -1;
    CHECK(::waitpid(pid, &status, 0) == pid);
    CHECK(status == 0);
  }
  const StudyChanges all = folder.open()->changes();
  std::map<std::int64_t, const StoredTrial*> by_number;
  for (const StoredTrial& trial : all.trials) by_number[trial.number] = &trial;
  CHECK(all.trials.size() == 200);
  REQUIRE(by_number.size() == 200);
  CHECK(by_number.rbegin()->first == 199);
  for (const auto& [number, trial] : by_number) {
    CHECK(trial->state == TrialState::complete);
    CHECK(trial->attempt == 1);
  }
  // Each reported once, by who had it.
  REQUIRE(all.reports.size() == 200);
  for (const StoredReport& report : all.reports) {
    const auto worker = std::to_string(static_cast<int>(report.report.values.front()));
    CHECK(by_number.at(report.trial)->owner == "w" + worker);
  }
}

TEST_CASE("a shared study chooses the same trials with 1, 2 and 8 workers") {
  const Kind kind = any_kind();
  for (const auto& [sampler, deterministic] :
       {std::pair{R"({"@": "sampler.sobol"})", false}, {R"({"@": "sampler.tpe"})", true}}) {
    std::vector<std::vector<double>> chosen;
    for (const std::size_t workers : {1U, 2U, 8U}) {
      const Folder folder(kind);
      std::vector<SharedStudy> studies;
      for (std::size_t w = 0; w < workers; ++w)
        studies.push_back(shared(folder, std::to_string(w), sampler, deterministic));
      std::vector<std::optional<Lease>> busy(workers);
      Stream random{Key(workers)};
      const auto is_busy = [](const auto& one) { return one.has_value(); };
      for (bool begun_all = false; !begun_all || std::any_of(busy.begin(), busy.end(), is_busy);) {
        const std::size_t w = random.below(workers);
        if (!busy[w]) {
          const SharedStudy::Asked asked = studies[w].ask(0, 100, 40);
          busy[w] = asked.lease;
          begun_all = begun_all || studies[w].study().trials().size() == 40;
          continue;
        }
        studies[w].follow();
        const double x = studies[w].study().trials().point(busy[w]->trial)[0];
        studies[w].end({{*busy[w], TrialState::complete, {(x - 0.3) * (x - 0.3)}}});
        busy[w].reset();
      }
      studies[0].follow();
      std::vector<double>& points = chosen.emplace_back();
      for (std::int64_t t = 0; t < studies[0].study().trials().size(); ++t)
        points.push_back(studies[0].study().trials().point(t)[0]);
    }
    CHECK(chosen[0].size() == 40);
    CHECK(chosen[1] == chosen[0]);
    CHECK(chosen[2] == chosen[0]);
  }
}

TEST_CASE("a copy has what the study has told, however often it was told") {
  const Folder folder(any_kind());
  Worker a(folder);
  const std::filesystem::path file = folder.path() / "copy.db";
  const auto copy = StudyPlace(file).open();
  copy->open("x");
  const auto all_of = [](Storage& storage) { return storage.changes(); };
  const Lease first = *a.take(owner("a"));
  a->report(first, std::vector<TrialReport>{{1, 1, {0.5}}, {1, 2, {infinity}}});
  copy->copy(all_of(*folder.open()));
  a->end({{first, TrialState::complete, {0.1 + 0.2}, Value::Map{{"how", "alone"}}}});
  a->enqueue(std::vector{std::nan("")});
  const Lease second = *a->begin(owner("b"), 0, [](const StudyChanges&) {
    return Storage::Begin{2, {0.25}, Segment{.parent = 0, .until = 3}};
  });
  a->lose(second);
  const StudyChanges all = all_of(*folder.open());
  copy->copy(all);
  copy->copy(all);
  StudyPlace(file).read([&](StudyReader& reader) {
    const std::vector<StoredTrial> trials = reader.trials(/*with_info=*/true);
    REQUIRE(trials.size() == 3);
    CHECK(trials[0].state == TrialState::complete);
    CHECK(trials[0].values == std::vector<double>{0.1 + 0.2});
    CHECK(trials[0].info["how"] == Value("alone"));
    CHECK(trials[0].owner == "a");
    CHECK(std::isnan(trials[1].point.at(0)));
    CHECK(trials[2].state == TrialState::waiting);
    CHECK(trials[2].attempt == 1);
    REQUIRE(trials[2].segment);
    CHECK(trials[2].segment->parent == 0);
    CHECK(trials[2].segment->until == 3);
    const std::vector<std::int64_t> numbers = {0};
    const std::vector<StoredReport> reports = reader.reports(numbers);
    REQUIRE(reports.size() == 2);
    CHECK(reports[0].report.values == std::vector<double>{0.5});
    CHECK(reports[1].report.resource == 2);
  });
  CHECK(copy->changes().trials.size() == 3);
}

TEST_CASE("files of a newer version and damaged ones are told") {
  const Folder folder;
  write_atomic(folder.path() / "damaged.db", std::string(8192, 'x'));
  CHECK_THAT(message([&] { StudyPlace(folder.path() / "damaged.db").open()->open("x"); }),
             Catch::Contains("damaged.db") && Catch::Contains("the file is damaged"));
  {
    const auto storage = StudyPlace(folder.path() / "newer.db").open();
    storage->open("x");
  }
  // user_version lies at byte 60 of the header, big-endian.
  std::string bytes = read_file(folder.path() / "newer.db");
  bytes[63] = 9;
  write_atomic(folder.path() / "newer.db", bytes);
  CHECK_THAT(message([&] { StudyPlace(folder.path() / "newer.db").open()->open("x"); }),
             Catch::Contains("newer trainlab (schema 9, this one knows 2)"));
}

TEST_CASE("a study that is deleted or replaced under its processes is written again, with all that it was told") {
  const Folder folder;
  const std::filesystem::path file = folder.path() / "study.db", kept = folder.path() / "study.db.kept";
  const std::vector<double> value = {0.1 + 0.2};
  const auto begun = [](Worker& worker) { return *worker.take(owner("a")); };
  const auto known = [&](const std::filesystem::path& at) {
    std::vector<StoredTrial> trials;
    StudyPlace(at).read([&](StudyReader& reader) { trials = reader.trials(false); });
    return trials;
  };
  for (const bool with_log : {false, true}) {
    INFO(with_log);
    Worker one(folder), other(folder);
    const Lease lease = begun(one), late = begun(other);
    one.storage->end({{lease, TrialState::complete, value}});
    const std::size_t count = known(file).size();
    for (const char* end : {"", "-wal", "-shm"}) {
      if (*end == 0 || with_log) std::filesystem::remove(file.string() + end);
    }
    // Whoever writes next puts it back, and all say the same and stop.
    const char* const text =
        "was deleted while this process worked on it; all that it held has been written there again";
    CHECK_THROWS_WITH(other.storage->end({{late, TrialState::complete, value}}), Catch::Contains(text));
    CHECK(std::filesystem::exists(file));
    CHECK_THROWS_WITH(one.storage->enqueue(value), Catch::Contains(text));
    CHECK_THROWS_WITH(one.take(owner("a")), Catch::Contains(text));
    const std::vector<StoredTrial> trials = known(file);
    REQUIRE(trials.size() == count);
    CHECK(trials[static_cast<std::size_t>(lease.trial)].values == value);
    CHECK(trials[static_cast<std::size_t>(late.trial)].state == TrialState::running);
  }
  {
    Worker one(folder), other(folder);
    const Lease lease = begun(one);
    one.storage->end({{lease, TrialState::complete, value}});
    const std::size_t count = known(file).size();
    write_atomic(file, "another study");
    const char* const text = "another file has taken its place";
    CHECK_THROWS_WITH(other.storage->enqueue(value), Catch::Contains(text) && Catch::Contains("study.db.kept"));
    CHECK_THROWS_WITH(one.storage->enqueue(value), Catch::Contains(text));
    CHECK(read_file(file) == "another study");
    REQUIRE(known(kept).size() == count);
    CHECK(known(kept)[static_cast<std::size_t>(lease.trial)].values == value);
  }
  std::filesystem::rename(kept, file);
  Worker again(folder);
  CHECK(again.storage->enqueue(value) > 0);
}

}  // namespace trainlab::storage_test

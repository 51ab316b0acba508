// A reader sees what was committed, and leaves no trace.
#include "study/place.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <filesystem>
#include <limits>
#include <set>

#include "core/error.h"
#include "core/files.h"

namespace trainlab::reader_test {

using Catch::Contains;
namespace fs = std::filesystem;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

fs::path empty_folder() {
  const fs::path folder = fs::current_path() / "a #%? folder";
  fs::remove_all(folder);
  fs::create_directories(folder);
  return folder;
}

std::set<std::string> files_in(const fs::path& folder) {
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.insert(entry.path().filename().string());
  return names;
}

void run_trial(Storage& storage, std::int64_t number, double value) {
  const Storage::Owner owner{.name = "host:1", .supervisor = "s", .expires = 100};
  const auto lease = storage.begin(owner, 0, [&](const StudyChanges&) {
    return Storage::Begin{number, {0.1 * static_cast<double>(number), std::nan("")}};
  });
  const TrialReport reports[] = {{1, 1, {value}}, {1, 2, {infinity, 2}}};
  storage.report(*lease, reports);
  storage.end({{*lease, TrialState::complete, {value}, Value::Map{{"seconds", 1.5}, {"ran", "alone"}}}});
}

std::size_t trials_in(const fs::path& file) {
  std::size_t count = 0;
  StudyPlace(file).read([&](StudyReader& reader) { count = reader.trials(false).size(); });
  return count;
}

std::string refusal(const fs::path& file, ErrorKind kind) {
  try {
    StudyPlace(file).read([](StudyReader& reader) {
      reader.description();
      reader.trials(true);
    });
  } catch (const Error& error) {
    CHECK(error.kind() == kind);
    return error.what();
  }
  return "accepted";
}

}  // namespace

TEST_CASE("a reader gives what was written") {
  const fs::path folder = empty_folder(), file = folder / "study.db";
  {
    const auto storage = StudyPlace(file).open();
    storage->open(Value::Map{{"name", "s"}});
    run_trial(*storage, 0, 3);
    run_trial(*storage, 1, -infinity);
    storage->enqueue(std::vector<double>{0.25, std::nan("")});
  }
  StudyPlace(file).read([&](StudyReader& reader) {
    CHECK(reader.description() == Value(Value::Map{{"name", "s"}}));
    const auto trials = reader.trials(false);
    REQUIRE(trials.size() == 3);
    CHECK(trials[1].number == 1);
    CHECK(trials[1].state == TrialState::complete);
    CHECK(trials[1].values == std::vector<double>{-infinity});
    CHECK(trials[1].point[0] == 0.1);
    CHECK(std::isnan(trials[1].point[1]));
    CHECK(trials[1].attempt == 1);
    CHECK(trials[1].owner == "host:1");
    CHECK(trials[1].info.is_nil());
    CHECK(trials[2].state == TrialState::waiting);
    CHECK(reader.trials(true)[1].info["ran"] == Value("alone"));
    CHECK(reader.info(0)["seconds"] == Value(1.5));
    CHECK(reader.info(2).is_nil());
    CHECK(reader.seconds() == 3.0);
    const auto reports = reader.reports(std::vector<std::int64_t>{1, 2});
    REQUIRE(reports.size() == 2);
    CHECK(reports[1].trial == 1);
    CHECK(reports[1].report.resource == 2);
    CHECK(reports[1].report.values == std::vector{infinity, 2.0});
    CHECK(reader.reports({}).empty());
  });
}

TEST_CASE("reading makes no file and changes none") {
  const fs::path folder = empty_folder(), file = folder / "study.db";
  {
    const auto storage = StudyPlace(file).open();
    storage->open("x");
    run_trial(*storage, 0, 1);
  }
  const std::string bytes = read_file(file);
  CHECK(trials_in(file) == 1);
  CHECK(files_in(folder) == std::set<std::string>{"study.db"});
  CHECK(read_file(file) == bytes);
  fs::permissions(file, fs::perms::owner_read);
  fs::permissions(folder, fs::perms::owner_read | fs::perms::owner_exec);
  CHECK(trials_in(file) == 1);
  fs::permissions(folder, fs::perms::owner_all);
}

TEST_CASE("a reader sees a study under way, and its writers go on meanwhile") {
  const fs::path file = empty_folder() / "study.db";
  const auto storage = StudyPlace(file).open();
  storage->open("x");
  run_trial(*storage, 0, 1);
  StudyPlace(file).read([&](StudyReader& reader) {
    CHECK(reader.trials(false).size() == 1);
    run_trial(*storage, 1, 2);                // does not wait: it would for two minutes
    CHECK(reader.trials(false).size() == 1);  // one moment for all that is read
    CHECK(reader.reports(std::vector<std::int64_t>{1}).empty());
  });
  CHECK(trials_in(file) == 2);
}

TEST_CASE("a study that is opened while it is read is read again") {
  const fs::path file = empty_folder() / "study.db";
  StudyPlace(file).open()->open("x");
  std::unique_ptr<Storage> storage;
  int times = 0;
  std::size_t count = 9;
  StudyPlace(file).read([&](StudyReader& reader) {
    ++times;
    count = reader.trials(false).size();
    if (storage) return;
    storage = StudyPlace(file).open();
    storage->open("x");
    run_trial(*storage, 0, 1);
  });
  CHECK(times == 2);
  CHECK(count == 1);
}

TEST_CASE("files that are no study are refused") {
  const fs::path file = empty_folder() / "study.db";
  CHECK_THAT(refusal(file, ErrorKind::run), Contains("study.db: unable to open"));
  write_atomic(file, "");
  StudyPlace(file).read([](StudyReader& reader) {  // one that is only being made
    CHECK(reader.description().is_nil());
    CHECK(reader.trials(true).empty());
    CHECK_FALSE(reader.seconds());
  });
  write_atomic(file, std::string(8192, 'x'));
  CHECK_THAT(refusal(file, ErrorKind::run), Contains("not a database") && Contains("the file is damaged"));
  fs::remove(file);
  {
    const auto storage = StudyPlace(file).open();
    storage->open("x");
    for (int i = 0; i < 200; ++i) run_trial(*storage, i, 1);
  }
  std::string bytes = read_file(file);
  for (std::size_t i = 4096; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i * 31);
  write_atomic(file, bytes);
  CHECK_THAT(refusal(file, ErrorKind::run), Contains("malformed") && Contains("the file is damaged"));
  bytes.replace(60, 4, std::string("\0\0\0\x63", 4));  // the schema's version: 99
  write_atomic(file, bytes);
  CHECK_THAT(refusal(file, ErrorKind::usage), Contains("newer trainlab (schema 99"));
}

}  // namespace trainlab::reader_test

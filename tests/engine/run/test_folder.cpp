#include <unistd.h>

#include <catch2/catch.hpp>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <functional>
#include <mutex>
#include <optional>
#include <set>
#include <thread>
#include <vector>

#include "core/error.h"
#include "core/files.h"
#include "core/temporaries.h"
#include "run/folder.h"
#include "run/latest.h"
#include "run/manifest.h"

namespace trainlab::folder_test {

namespace fs = std::filesystem;

namespace {

fs::path empty_folder(const std::string& name) {
  const fs::path folder = fs::current_path() / name;
  fs::remove_all(folder);
  fs::create_directories(folder);
  return folder;
}

class ReadOnlyFileSystem : public FileCalls {
 public:
  int open(const fs::path&, int, int) override { return fail(); }
  int make_directory(const fs::path&) override { return fail(); }

 private:
  static int fail() {
    errno = EROFS;
    return -1;
  }
};

ErrorKind kind_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.kind();
  }
  FAIL("no error");
  return ErrorKind::run;
}

}  // namespace

TEST_CASE("runs are numbered from 001, after the highest") {
  const fs::path base = empty_folder("numbers");
  {
    RunFolder first = RunFolder::allocate(base, "digits");
    CHECK(first.path() == base / "runs/digits/001");
    CHECK_FALSE(first.existed());
    write_manifest(first.path(), {});
  }
  fs::create_directories(base / "runs/digits/notes");
  fs::create_directories(base / "runs/digits/041");
  CHECK(RunFolder::allocate(base, "digits").path().filename() == "042");
  // The run that is served is gone: no other run takes its place by its number.
  fs::create_directory_symlink("077", base / "runs/digits/current");
  CHECK(RunFolder::allocate(base, "digits").path().filename() == "078");
  // A run that was moved and is linked keeps its number; where it lies now does not matter.
  fs::create_directory_symlink("/elsewhere/900/", base / "runs/digits/079");
  CHECK(RunFolder::allocate(base, "digits").path().filename() == "080");
  fs::create_directories(base / "runs/digits/999");
  CHECK(RunFolder::allocate(base, "digits").path().filename() == "1000");
}

TEST_CASE("runs that begin at the same time get folders of their own") {
  const fs::path base = empty_folder("race");
  std::mutex mutex;
  std::vector<RunFolder> held;
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 10; ++i) {
        RunFolder folder = RunFolder::allocate(base, "digits");
        const std::lock_guard lock(mutex);
        held.push_back(std::move(folder));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::set<fs::path> paths;
  for (const RunFolder& folder : held) paths.insert(folder.path());
  CHECK(paths.size() == 80);
  for (const RunFolder& folder : held) CHECK(holder(folder.path()));
  held.clear();
  CHECK((!fs::exists(base / "runs/digits") || fs::is_empty(base / "runs/digits")));
}

TEST_CASE("a folder that became no run leaves nothing behind") {
  const fs::path base = empty_folder("nothing");
  { RunFolder::allocate(base, "digits"); }
  CHECK(fs::is_empty(base));
  { RunFolder::open(base / "a/b/c"); }
  CHECK(fs::is_empty(base));

  fs::create_directories(base / "mine");
  { RunFolder::open(base / "mine"); }
  CHECK(fs::is_empty(base / "mine"));  // the user's folder itself stays
}

TEST_CASE("one holder at a time, named to the second") {
  const fs::path run = empty_folder("held") / "run";
  std::optional<RunFolder> first(RunFolder::open(run));
  write_manifest(run, {});
  const std::string me = std::to_string(::getpid());
  REQUIRE(holder(run));
  CHECK(holder(run)->ends_with(" " + me));
  CHECK_THROWS_WITH(RunFolder::open(run), Catch::Contains("in use by process " + me + " on "));
  CHECK(kind_of([&] { RunFolder::open(run); }) == ErrorKind::usage);

  RunFolder moved = std::move(*first);
  first.reset();
  CHECK(holder(run));
  { const RunFolder gone = std::move(moved); }
  CHECK_FALSE(holder(run));
  CHECK(RunFolder::open(run).existed());
}

TEST_CASE("no run begins within another one") {
  const fs::path base = empty_folder("within");
  const fs::path run = base / "runs/digits/001";
  fs::create_directories(run / "checkpoints");
  fs::create_directories(run / "recipe");
  write_manifest(run, {});
  write_atomic(run / "summary.json", R"({"status": "done"})");
  fs::create_directory_symlink(run / "checkpoints", base / "link");
  const auto refuses = [&](const fs::path& folder, const std::string& text) {
    CHECK_THROWS_WITH(RunFolder::open(folder), Catch::Contains(text));
    CHECK(kind_of([&] { RunFolder::open(folder); }) == ErrorKind::usage);
  };
  const std::string within = ", which lies in the run " + run.string();
  refuses(run / "sub", "no run can begin in " + (run / "sub").string() + within);
  refuses(run / "checkpoints", within);
  refuses(run / "a/../b/c", within);
  refuses(base / "link", within);
  refuses(base / "link/sub", within);
  refuses(base / "runs/digits/latest", ", which stands for " + run.string());
  refuses(base / "runs/digits/latest/sub", ", which stands for " + (run / "sub").string());
  // The folder in which a command is started.
  CHECK_THROWS_WITH(RunFolder::allocate(run, "digits"), Catch::Contains(within));
  CHECK_FALSE(fs::exists(run / "runs"));
  CHECK_FALSE(fs::exists(run / "sub"));

  CHECK(RunFolder::open(run).existed());
  CHECK(RunFolder::open(base / "runs/other/latest").path() == base / "runs/other/latest");
  CHECK(RunFolder::allocate(base, "digits").path() == base / "runs/digits/002");

  // A file of this name may be another program's.
  write_atomic(base / "manifest.toml", "[package]\n");
  CHECK(RunFolder::allocate(base, "digits").path() == base / "runs/digits/002");
}

TEST_CASE("folders that are refused") {
  const fs::path base = empty_folder("refused");
  write_atomic(base / "thesis.tex", "x");
  CHECK_THROWS_WITH(RunFolder::open(base), Catch::Contains("thesis.tex"));
  CHECK_FALSE(fs::exists(base / "lock"));
  CHECK(kind_of([&] { RunFolder::open(base / "thesis.tex/run"); }) == ErrorKind::usage);
  CHECK(kind_of([&] { RunFolder::open(base / "thesis.tex"); }) == ErrorKind::usage);

  ReadOnlyFileSystem calls;
  const ScopedFileCalls guard(calls);
  CHECK(kind_of([&] { RunFolder::allocate(base, "digits"); }) == ErrorKind::usage);
  CHECK(kind_of([&] { RunFolder::open(base / "x"); }) == ErrorKind::usage);
  CHECK(kind_of([&] { RunFolder::open(empty_folder("refused2")); }) == ErrorKind::usage);
}

TEST_CASE("what an earlier attempt left before it was a run is no obstacle") {
  const fs::path run = empty_folder("left");
  write_atomic(run / "lock", "");
  write_atomic(run / ".manifest.toml.1-2.tmp", "x");
  fs::create_directories(run / "recipe");
  CHECK_FALSE(RunFolder::open(run).existed());
}

TEST_CASE("temporaries of processes that have died are removed, those of other machines stay") {
  const fs::path run = empty_folder("temporaries") / "run";
  fs::create_directories(run / "checkpoints");
  write_manifest(run, {});
  const fs::path own = next_temporary(run / "summary.json");
  const std::string pid = "." + std::to_string(::getpid()) + "-";
  const auto renamed = [&](const std::string& text) {
    std::string name = own.filename().string();
    return run / name.replace(name.find(pid), pid.size(), text);
  };
  std::string foreign = renamed(".99999999-").filename().string();
  char& mark = foreign[std::string(".summary.json.").size()];
  mark = mark == '0' ? '1' : '0';
  const std::vector<fs::path> stay = {own, run / foreign};
  const std::vector<fs::path> go = {renamed(".99999999-"), run / "checkpoints/.last.json.99999999-3.tmp"};
  for (const auto& files : {stay, go}) {
    for (const fs::path& file : files) std::ofstream(file) << "half";
  }
  { RunFolder::open(run); }
  for (const fs::path& file : stay) CHECK(fs::exists(file));
  for (const fs::path& file : go) CHECK_FALSE(fs::exists(file));
}

TEST_CASE("a run is found by its folder and by that of a stage") {
  const fs::path base = empty_folder("find");
  fs::create_directories(base / "run/stages/search");
  write_manifest(base / "run", {});
  CHECK(find_run(base / "run") == base / "run");
  CHECK(find_run(base / "run/") == base / "run");
  CHECK(find_run("find/run/../run") == base / "run");
  CHECK(find_run(base / "run/stages/search/") == base / "run");
  CHECK_THROWS_WITH(find_run(base), Catch::Contains("not a run folder"));
  CHECK_THROWS_WITH(find_run(base / "none"), Catch::Contains("no folder"));
  // A hint on permissions helps where permissions are missing, and nowhere else.
  fs::create_symlink("loop", base / "loop");
  for (const std::string& name : {std::string(300, 'A'), std::string("loop")}) {
    INFO(name);
    const auto find = [&] { find_run(base / name); };
    CHECK_THROWS_WITH(find(), Catch::StartsWith("cannot look into the run folder ") && !Catch::Contains("hint"));
  }
}

TEST_CASE("the hint of a damaged file names the run in which the file lies") {
  const fs::path base = empty_folder("damaged");
  fs::create_directories(base / "my run/stages/search");
  fs::create_directories(base / "my run/recipe");
  write_manifest(base / "my run", {});
  const std::string go_on =
      "put the file back from a copy, then go on: trainlab resume '" + (base / "my run").string() + "'";
  CHECK(damaged_file(base / "my run/stages/search/summary.json", "it is empty").hint() == go_on);
  CHECK(lost_file(base / "my run/manifest.toml").hint() == go_on);
  CHECK(lost_file(base / "comparison.json").hint() == "put the file back from a copy");
}

TEST_CASE("summaries and the order of stages") {
  const fs::path run = empty_folder("stages");
  CHECK(read_summary(run).is_nil());
  CHECK(read_stages(run).empty());
  CHECK_FALSE(is_finished(Value()));
  write_atomic(run / "summary.json", R"({"status":"stopped"})");
  CHECK(is_finished(read_summary(run)));
  write_atomic(run / "summary.json", R"({"status":"interrupted"})");
  CHECK_FALSE(is_finished(read_summary(run)));
  for (const char* text : {"{", "[]", "{}", R"({"status":1})"}) {
    write_atomic(run / "summary.json", text);
    CHECK_THROWS_WITH(read_summary(run), Catch::Contains("summary.json"));
  }
  const std::vector<StageRecord> stages = {{"search", "sweep", "stages/search"}, {"final", "fit", ".", true}};
  write_stages(run, stages);
  CHECK(read_stages(run) == stages);
  for (const char* text : {"{", "{}", "[1]", R"([{"name":"a"}])"}) {
    write_atomic(run / "stages.json", text);
    CHECK_THROWS_WITH(read_stages(run), Catch::Contains("stages.json"));
  }
  // A record that is gone is told by what stages have left, and by nothing else.
  for (const char* left : {"summary.json", "stages/search/model.json"}) {
    fs::remove_all(run);
    fs::create_directories(run / "stages/search");
    CHECK(read_stages(run).empty());
    write_atomic(run / left, "{}");
    CHECK_THROWS_WITH(read_stages(run), Catch::Contains("stages.json is missing"));
  }
}

TEST_CASE("the latest run is the one with the highest number that has ended") {
  const fs::path runs = empty_folder("latest") / "runs/daily";
  CHECK(latest_run(runs).empty());
  const auto make = [&](const std::string& name, const std::string& status) {
    fs::create_directories(runs / name);
    write_manifest(runs / name, Manifest());
    if (!status.empty()) write_atomic(runs / name / "summary.json", R"({"status": ")" + status + "\"}");
  };
  make("002", "done");
  CHECK(latest_run(runs) == runs / "002");
  make("010", "stopped");
  make("011", "failed");
  make("012", "interrupted");
  make("013", "");
  make("999-copy", "done");
  fs::create_directories(runs / "014");  // no run
  CHECK(latest_run(runs) == runs / "010");
  CHECK(latest_beside(runs / "010") == runs / "002");
  CHECK(latest_beside(runs / "002") == runs / "010");

  CHECK(with_latest(runs / "latest") == runs / "010");
  CHECK(with_latest(runs / "latest/stages/final") == runs / "010/stages/final");
  CHECK(find_run(runs / "latest/") == runs / "010");
  CHECK(with_latest(runs / "latest", [](const fs::path&) { return fs::path("/x"); }) == "/x");
  CHECK(kind_of([&] { with_latest(runs.parent_path() / "none/latest"); }) == ErrorKind::usage);
  make("latest", "done");  // a folder of this name is what is meant
  CHECK(with_latest(runs / "latest") == runs / "latest");
  write_atomic(runs / "010/summary.json", "{");
  CHECK_THROWS_AS(latest_run(runs), Error);
}

}  // namespace trainlab::folder_test

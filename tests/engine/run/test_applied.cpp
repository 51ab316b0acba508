// Changes that were tried with one recipe are refused for another one.
#include <catch2/catch.hpp>

#include <map>
#include <optional>
#include <string>

#include "core/error.h"
#include "core/files.h"
#include "run/applied.h"
#include "support/temporary_folder.h"

namespace trainlab::applied_test {

using namespace test;

namespace {

Request request_in(const TemporaryFolder& folder, const std::string& width, Value::List set = {}) {
  Request request;
  request.recipe = folder.path() / "r.lua";
  request.parameters = {{"width", "4", "p.toml:1"}, {"width", width, "--width"}};
  if (!set.empty()) request.options.set("set", std::move(set));
  return request;
}

// Why the changes of a file are refused; empty: they are not.
std::string refusal(const std::filesystem::path& file, Request request) {
  try {
    apply_changes(file, request);
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::usage);
    return error.headline();
  }
  return "";
}

}  // namespace

TEST_CASE("changes are made in the recipe with which they were tried, and in no other") {
  const TemporaryFolder folder;
  const std::filesystem::path file = folder.path() / "c.toml";
  std::filesystem::create_directory(folder.path() / "lib");
  write_atomic(folder.path() / "r.lua", "recipe");
  write_atomic(folder.path() / "lib" / "net.lua", "module");
  const Request tried = request_in(folder, "8", {"optim.lr=1"});
  const std::map<std::string, std::string> sources{{"r.lua", hash_bytes("recipe")},
                                                   {"lib/net.lua", hash_bytes("module")}};
  write_changes(file, {.with = tried_with(tried, sources), .stage = "f", .set = {"batch=8"}, .threads = 1});
  const auto refused = [&](const Request& request) { return refusal(file, request); };
  const std::string with = "--apply " + file.string() + ": the changes were tried with ";

  Request same = request_in(folder, "8", {"optim.lr=1", "epochs=2"});  // further changes win
  CHECK_FALSE(apply_changes(file, same));
  CHECK(same.texts("set") == std::vector<std::string>{"f:batch=8", "optim.lr=1", "epochs=2"});
  CHECK(same.options["threads"] == Value(1));

  CHECK(refused(request_in(folder, "16", {"optim.lr=1"})) == with + "--width 8, and this run has --width 16");
  Request none = request_in(folder, "8", {"optim.lr=1"});
  none.parameters.clear();
  CHECK(refused(none) == with + "--width 8, and this run has no --width");
  none = request_in(folder, "8", {"optim.lr=1"});
  none.parameters.push_back({"depth", "2", "--depth"});
  CHECK(refused(none) == with + "no --depth, and this run has --depth 2");
  CHECK(refused(request_in(folder, "8")) == with + "--set optim.lr=1, and this run is without");
  Request elsewhere = request_in(folder, "8", {"optim.lr=1"});
  elsewhere.options.set("device", "cuda");
  const std::optional<std::string> warning = apply_changes(file, elsewhere);
  REQUIRE(warning);
  CHECK(warning->ends_with("on another device (auto), and on this one (cuda) they may gain less, or nothing"));

  Request other_threads = request_in(folder, "8", {"optim.lr=1"});  // than the change of the file
  other_threads.options.set("threads", 3);
  const std::optional<std::string> of_threads = apply_changes(file, other_threads);
  REQUIRE(of_threads);
  CHECK(of_threads->find("tried with --threads 1, and in this run, which has --threads 3, they") != std::string::npos);
  CHECK(other_threads.options["threads"] == Value(3));

  write_atomic(folder.path() / "lib" / "net.lua", "another module");
  CHECK(refused(request_in(folder, "8", {"optim.lr=1"})) ==
        with + "another text of lib/net.lua, which the recipe loads");
  std::filesystem::remove(folder.path() / "lib" / "net.lua");
  CHECK(refused(request_in(folder, "8", {"optim.lr=1"})) ==
        with + "another text of lib/net.lua, which the recipe loads");
}

TEST_CASE("a file of changes whose members have other kinds or values is refused with what was expected") {
  const TemporaryFolder folder;
  const std::filesystem::path file = folder.path() / "c.toml";
  write_atomic(folder.path() / "r.lua", "recipe");
  const Request tried = request_in(folder, "8");
  const auto refused = [&](const std::string& member) {
    write_atomic(file, "recipe = \"" + hash_file(tried.recipe) + "\"\nstage = \"f\"\nset = []\n" + member + "\n");
    return refusal(file, tried);
  };
  const std::string expected = "--apply " + file.string() + ": expected ";
  for (const std::string threads : {"-3", "0", "100000", "99999999999", "1.5", "true"})
    CHECK(refused("threads = " + threads) ==
          expected + "a whole number from 1 to 4096 under threads, found " + threads);
  CHECK(refused("with = [ 3 ]") == expected + "texts under with, found 3");
  CHECK(refused("[sources]\n\"..\" = \"0\"") ==
        "--apply " + file.string() + ": the changes were tried with another text of .., which the recipe loads");
}

TEST_CASE("changes that were tried with other threads than the run has are made, with a warning") {
  const TemporaryFolder folder;
  const std::filesystem::path file = folder.path() / "c.toml";
  write_atomic(folder.path() / "r.lua", "recipe");
  const auto request_with = [&](std::optional<int> threads) {
    Request request;
    request.recipe = folder.path() / "r.lua";
    if (threads) request.options.set("threads", *threads);
    return request;
  };
  const auto warning_of = [&](std::optional<int> tried, std::optional<int> now) {
    write_changes(file, {.with = tried_with(request_with(tried), {}), .stage = "f", .set = {"batch=8"}, .threads = {}});
    Request request = request_with(now);
    const std::optional<std::string> warning = apply_changes(file, request);
    CHECK(request.texts("set") == std::vector<std::string>{"f:batch=8"});
    return warning.value_or("");
  };
  const std::string tried = "--apply " + file.string() + ": the changes were tried with ";
  CHECK(warning_of(1, {}) ==
        tried + "--threads 1, and in this run, which has no --threads, they may gain less, or nothing");
  CHECK(warning_of({}, 2) ==
        tried + "no --threads, and in this run, which has --threads 2, they may gain less, or nothing");
  CHECK(warning_of(2, 2).empty());
  CHECK(warning_of({}, {}).empty());
}

}  // namespace trainlab::applied_test

// The folders of commands that train several runs.
#include <catch2/catch.hpp>

#include "support/temporary_folder.h"
#include "trainings/seeded_runs.h"

namespace trainlab::seeded_runs_test {

using namespace cli;
using namespace test;

namespace {

// The question of a command that trains with these options. `data`: a text that tells its data from others.
Value asked(const std::string& topic, const Value& options = Value::Map{}, const Value& data = "d") {
  return Value::Map{{"topic", topic},
                    {"training", Value::Map{{"recipe", "r.lua"}, {"options", options}}},
                    {"data", data.is_nil() ? Value() : Value::Map{{"train", data}}}};
}

Arguments quiet() {
  Arguments given;
  given.flags.set("quiet", true);
  return given;
}

}  // namespace

TEST_CASE("a command goes on in the newest folder in which the same was asked, whatever was asked since") {
  const TemporaryFolder folder;
  const std::filesystem::path parent = folder.path() / "r";
  const auto number = [&](const std::string& topic) {
    return folder_for(quiet(), parent, asked(topic)).filename().string();
  };
  CHECK(number("one") == "001");
  CHECK(number("another") == "002");
  CHECK(number("one") == "001");
  mark_ended(parent / "001");
  CHECK(number("one") == "003");
  CHECK(number("one") == "003");
  mark_ended(parent / "003");
  mark_ended(parent / "002");
  CHECK(number("another") == "004");
}

TEST_CASE("a command goes on with other options of the output, and not with others or with other data") {
  const TemporaryFolder folder;
  const std::filesystem::path parent = folder.path() / "r";
  const auto number = [&](const Value& options, const Value& data) {
    return folder_for(quiet(), parent, asked("one", options, data)).filename().string();
  };
  const auto threads = [](int count) { return Value::Map{{"threads", count}}; };
  CHECK(number(threads(1), "d") == "001");
  CHECK(number(Value::Map{{"threads", 1}, {"json", true}, {"silence", 60}}, "d") == "001");
  CHECK(number(threads(2), "d") == "002");
  CHECK(number(threads(1), "e") == "003");
  CHECK(number(threads(1), "d") == "001");
  // A record of an earlier version knows no data, and gets those of the command that goes on.
  CHECK(number(threads(4), Value()) == "004");
  CHECK(number(threads(4), "d") == "004");
  CHECK(number(threads(4), "e") == "005");
}

}  // namespace trainlab::seeded_runs_test

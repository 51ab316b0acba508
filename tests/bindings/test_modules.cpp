#include "support.h"

namespace trainlab::modules_test {

using trainlab::testing::Sandbox;

TEST_CASE("modules lie beside the recipe and are loaded once") {
  Sandbox sandbox;
  sandbox.folder.write("models/cnn.lua", "print('loaded')\nreturn { width = 12, name = ... }");
  sandbox.folder.write("util.lua", "local cnn = require 'models.cnn'\nreturn { twice = 2 * cnn.width }");
  CHECK(sandbox.value("local cnn, util = require 'models.cnn', require 'util'\nreturn lab.stage { value = { cnn.width, "
                      "util.twice, require('models.cnn') == cnn } }") == Value(Value::List{12, 24, true}));
  CHECK(sandbox.printed == std::vector<std::string>{"loaded"});
  CHECK(sandbox.sources == std::vector<std::string>{"x.lua", "models/cnn.lua", "util.lua"});
}

TEST_CASE("a module that is not there names the places searched") {
  Sandbox sandbox;
  const Error error = sandbox.fails("local a\nrequire 'models.cnn'");
  CHECK_THAT(error.what(),
             Catch::StartsWith("x.lua:2: require: module \"models.cnn\" is not there\n  hint: searched: " +
                               (sandbox.folder.path() / "models/cnn.lua").string()));
}

TEST_CASE("errors in modules have the module's line and the way there") {
  Sandbox sandbox;
  sandbox.folder.write("sub/broken.lua", "local a\nlocal b = a.x");
  const Error run = sandbox.fails("local m =\n require 'sub.broken'");
  CHECK(run.what() == std::string("sub/broken.lua:2: attempt to index local 'a' (a nil value)\ntraceback:\n"
                                  "  sub/broken.lua:2: in the file itself\n  x.lua:2: in the file itself"));
  sandbox.folder.write("sub/broken.lua", "local = 3");
  CHECK_THAT(sandbox.fails("require 'sub.broken'").what(),
             Catch::StartsWith("sub/broken.lua:1: '<name>' expected near '='"));
  sandbox.folder.write("sub/broken.lua", "\x1BLJ");
  CHECK_THAT(sandbox.fails("require 'sub.broken'").what(),
             Catch::StartsWith("sub/broken.lua:1: this is compiled Lua, not text"));
  sandbox.folder.write("sub/broken.lua", "local a = 1");
  CHECK_THAT(sandbox.fails("require 'sub.broken'").what(),
             Catch::StartsWith("x.lua:1: require: module \"sub.broken\" returned nothing"));
}

TEST_CASE("modules that require each other are told so") {
  Sandbox sandbox;
  sandbox.folder.write("a.lua", "return { require 'b' }");
  sandbox.folder.write("b.lua", "return { require 'a' }");
  CHECK_THAT(sandbox.fails("require 'a'").what(),
             Catch::StartsWith("b.lua:1: require: module \"a\" is being loaded already"));
}

TEST_CASE("links that lead out of the folder are refused") {
  Sandbox sandbox;
  trainlab::testing::Folder elsewhere;
  elsewhere.write("secret.lua", "return 1");
  std::filesystem::create_symlink(elsewhere.path() / "secret.lua", sandbox.folder.path() / "secret.lua");
  std::filesystem::create_symlink(elsewhere.path(), sandbox.folder.path() / "sub");
  CHECK_THAT(sandbox.fails("require 'secret'").what(), Catch::Contains("leads out of the recipe's folder"));
  CHECK_THAT(sandbox.fails("require 'sub.secret'").what(), Catch::Contains("leads out of the recipe's folder"));
}

TEST_CASE("a module shares no globals with the recipe by accident") {
  Sandbox sandbox;
  sandbox.folder.write("m.lua", "shared = 1\nreturn {}");
  CHECK_THAT(sandbox.fails("require 'm'").what(),
             Catch::StartsWith("m.lua:1: assignment to 'shared', which is not a local variable"));
}

}  // namespace trainlab::modules_test

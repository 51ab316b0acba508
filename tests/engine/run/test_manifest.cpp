#include <catch2/catch.hpp>
#include <filesystem>

#include "core/error.h"
#include "core/files.h"
#include "core/registry.h"
#include "run/manifest.h"

namespace trainlab::manifest_test {

namespace fs = std::filesystem;

namespace {

// One kind of stage, with the options that say how it prepares batches.
const Registry& stages() {
  static const Registry registry = [] {
    Registry with_fit;
    with_fit.add(Entry("fit", "stage", "A stage.")
                     .with(Option("loader", "how batches are prepared")
                               .fields({Option("threads", "how many").integer().of_speed_alone(),
                                        Option("prefetch", "how many").integer().of_speed_alone(),
                                        Option("drop_last", "whether").boolean()})));
    return with_fit;
  }();
  return registry;
}

Manifest sample() {
  Manifest manifest;
  manifest.trainlab = "0.1.0";
  manifest.libtorch = "2.11.0";
  manifest.started = "2026-03-01T12:00:00Z";
  manifest.recipe = "digits.lua";
  manifest.recipe_folder = "/home/a \"b\"/recipes";
  manifest.working_folder = "/home";
  manifest.sources = {{"digits.lua", "aa"}, {"lib/nets.lua", "bb"}};
  manifest.parameters = {{"lr", 0.1 + 0.2},
                         {"width", 64},
                         {"whole", 2.0},
                         {"fast", true},
                         {"tiny", 1e-300},
                         {"text", "a\nb"},
                         {"big", std::int64_t{1} << 60}};
  manifest.settings["set"] = Value::List{"optim.lr=0.01", "x:y=\"z\""};
  manifest.settings["seed"] = 7;
  manifest.settings["device"] = "cpu";
  manifest.settings["threads"] = 2;
  manifest.settings["read"] = Value::List{"/data"};
  manifest.settings["memory"] = std::int64_t{4'000'000'000};
  manifest.chosen = {{"digits", Value::Map{{"batch", 512}}}};
  manifest.cores = 8;
  manifest.extension = Manifest::Extension{"digits", {{3600, "time"}, {60, "steps"}}};
  return manifest;
}

fs::path empty_folder(const std::string& name) {
  const fs::path folder = fs::current_path() / name;
  fs::remove_all(folder);
  fs::create_directories(folder);
  return folder;
}

}  // namespace

TEST_CASE("a manifest is read back as it was written") {
  const fs::path run = empty_folder("manifest");
  const Manifest manifest = sample();
  write_manifest(run, manifest);
  const Manifest back = read_manifest(run);
  CHECK(back.recipe_folder == manifest.recipe_folder);
  CHECK(back.sources == manifest.sources);
  CHECK(Value(back.parameters) == Value(manifest.parameters));
  CHECK(Value(back.settings) == Value(manifest.settings));
  CHECK(Value(back.chosen) == Value(manifest.chosen));
  CHECK(back.extension->totals == std::vector<NewTotal>{{60, "steps"}, {3600, "time"}});
  Manifest shorter = manifest;
  shorter.extension->totals = {{0.2, "time"}};
  write_manifest(run, shorter);
  CHECK(read_manifest(run).extension->totals == shorter.extension->totals);
  CHECK(shorter.extension->totals.front().text() == "0.2 s");
  write_manifest(run, manifest);
  CHECK(differences(manifest, back, stages()).empty());
  CHECK(inexactness(manifest, back, stages()).empty());

  // Byte for byte the same: whoever writes it again changes nothing.
  const std::string text = read_file(manifest_path(run));
  write_manifest(run, back);
  CHECK(read_file(manifest_path(run)) == text);
}

TEST_CASE("a manifest that cannot be used says why") {
  const fs::path run = empty_folder("damaged");
  CHECK_THROWS_WITH(read_manifest(run), Catch::Contains("not a run folder"));
  write_manifest(run, sample());
  const std::string text = read_file(manifest_path(run));

  write_atomic(manifest_path(run), text.substr(0, text.size() / 2));
  CHECK_THROWS_AS(read_manifest(run), Error);
  write_atomic(manifest_path(run), "format = 2\n");
  CHECK_THROWS_WITH(read_manifest(run), Catch::Contains("format 2"));
  write_atomic(manifest_path(run), "format = 1\nseed = \"x\"\n");
  CHECK_THROWS_WITH(read_manifest(run), Catch::Contains("damaged"));
  write_manifest(run, sample());
  std::string other = read_file(manifest_path(run));
  other.replace(other.find("seed = 7"), 8, "seed = [7]");
  write_atomic(manifest_path(run), other);
  CHECK_THROWS_WITH(read_manifest(run), Catch::Contains("is damaged: seed is a list of 1"));
  write_atomic(manifest_path(run), "a = [\n");
  CHECK_THROWS_WITH(read_manifest(run), Catch::Contains("is not valid TOML"));
  write_atomic(manifest_path(run), "");
  CHECK_THROWS_WITH(read_manifest(run), Catch::Contains("manifest.toml is damaged: it is empty"));
  write_atomic(manifest_path(run), "format = 1\n");
  CHECK_THROWS_WITH(read_manifest(run), Catch::Contains("manifest.toml is damaged: trainlab is missing"));
}

TEST_CASE("a manifest that has lost a setting is damaged") {
  const fs::path run = empty_folder("lost");
  write_manifest(run, sample());
  const std::string whole = read_file(manifest_path(run));
  for (const std::string name : {"seed", "set", "device", "threads"}) {
    INFO(name);
    const std::size_t line = whole.find("\n" + name + " = ") + 1;
    REQUIRE(line != 0);
    std::string text = whole;
    write_atomic(manifest_path(run), text.erase(line, text.find('\n', line) + 1 - line));
    CHECK_THROWS_WITH(read_manifest(run), Catch::Contains("manifest.toml is damaged: " + name + " is missing\n"));
  }
}

TEST_CASE("differences name what changed, with both values") {
  const Manifest recorded = sample();
  Manifest present = sample();
  present.sources["digits.lua"] = "cc";
  present.sources["new.lua"] = "dd";
  present.parameters["lr"] = 0.5;
  present.parameters.erase("width");
  present.parameters["whole"] = 2;  // as 2.0
  present.settings["set"] = Value::List{};
  present.settings["seed"] = 8;
  CHECK(differences(recorded, present, stages()) == std::vector<std::string>{
                                                        "source digits.lua has changed",
                                                        "source new.lua is new",
                                                        "--lr: recorded 0.30000000000000004, now 0.5",
                                                        "--width: recorded 64, now not declared",
                                                        "--set: recorded optim.lr=0.01 x:y=\"z\", now none",
                                                        "--seed: recorded 7, now 8",
                                                    });

  present = sample();
  present.recipe = "other.lua";
  present.sources.erase("lib/nets.lua");  // may be loaded later
  CHECK(differences(recorded, present, stages()) ==
        std::vector<std::string>{"recipe: recorded digits.lua, now other.lua"});
}

TEST_CASE("how batches are prepared may differ") {
  Manifest recorded = sample();
  Manifest present = sample();
  recorded.settings["set"] = Value::List{"optim.lr=0.01", "loader.threads=1"};
  present.settings["set"] = Value::List{"a:loader.threads=4", "optim.lr=0.01", "loader.prefetch=8"};
  CHECK(differences(recorded, present, stages()).empty());
  present.settings["set"].list().emplace_back("loader.drop_last=true");
  CHECK(differences(recorded, present, stages()) ==
        std::vector<std::string>{"--set: recorded optim.lr=0.01, now optim.lr=0.01 loader.drop_last=true"});
}

TEST_CASE("what is not byte-exact") {
  const Manifest recorded = sample();
  Manifest present = sample();
  present.settings["threads"] = 0;
  present.cores = 2;  // all cores: as many as before
  CHECK(inexactness(recorded, present, stages()).empty());
  present.cores = 4;
  present.settings["device"] = "cuda:0";
  present.libtorch = "2.11.1";
  CHECK(inexactness(recorded, present, stages()) == std::vector<std::string>{"threads: recorded 2, now 4",
                                                                             "device: recorded cpu, now cuda:0",
                                                                             "LibTorch: recorded 2.11.0, now 2.11.1"});
}

TEST_CASE("a flag that earlier versions do not know stands in a manifest only where it was given") {
  const fs::path run = empty_folder("only-given");
  Manifest manifest = sample();
  manifest.settings["read"] = Value::List{};
  write_manifest(run, manifest);
  CHECK_THAT(read_file(manifest_path(run)), !Catch::Contains("read ="));
  CHECK(read_manifest(run).setting("read") == Value(Value::List{}));
  CHECK(differences(manifest, sample(), stages()) == std::vector<std::string>{"--read: recorded none, now /data"});
}

TEST_CASE("parameters from a TOML file") {
  const fs::path file = empty_folder("parameters") / "p.toml";
  write_atomic(file, "# grid\nwidth = 64\nlr = 1e-3\nfast = true\n\nname = 'x y'\n");
  const std::string at = file.string() + ":";
  CHECK(read_parameters(file) == std::vector<GivenParameter>{{"width", "64", at + "2"},
                                                             {"lr", "0.001", at + "3"},
                                                             {"fast", "true", at + "4"},
                                                             {"name", "x y", at + "6", true}});
  write_atomic(file, "a = 1\n[table]\nb = 2\n");
  CHECK_THROWS_WITH(read_parameters(file), Catch::Contains("p.toml:2") && Catch::Contains("table"));
  write_atomic(file, "a = \n");
  CHECK_THROWS_WITH(read_parameters(file), Catch::Contains("p.toml:1"));
  CHECK_THROWS_WITH(read_parameters(file.parent_path() / "none.toml"), Catch::Contains("no file"));
}

}  // namespace trainlab::manifest_test

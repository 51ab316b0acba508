#include <fcntl.h>

#include <catch2/catch.hpp>
#include <cerrno>
#include <cmath>
#include <filesystem>
#include <functional>
#include <new>
#include <stdexcept>

#include "core/error.h"
#include "core/files.h"
#include "run/run.h"
#include "support/fake_stage.h"

namespace trainlab::stage_test {

using trainlab::testing::add_stage_kind;
using trainlab::testing::stage_options;
using trainlab::testing::StageBody;
namespace fs = std::filesystem;

namespace {

fs::path empty_folder(const std::string& name) {
  const fs::path folder = fs::current_path() / name;
  fs::remove_all(folder);
  return folder;
}

// Processes that execute one recipe in one run folder, each an object Run on a channel whose other end is answered
// beforehand.
struct World {
  explicit World(const std::string& name) : folder(empty_folder(name)) {
    for (const std::string kind : {"fit", "sweep"}) {
      add_stage_kind(
          registry, kind,
          [this](const Options& stage, const StageContext& context) {
            ++executions;
            log.push_back(context.name + (context.resumed ? " again" : ""));
            return body(stage, context);
          },
          [this](const RunSettings& settings) { prepared = settings; }, kind == "sweep" ? 2.0 / 3 : 0.5);
    }
    request.recipe_folder = "/recipes";
    request.options.set("quiet", true);
  }

  // One process: the recipe, then finish() or fail(). Gives the exit code; `last` is what the supervisor hears.
  int process(const std::function<void(Run&)>& recipe) {
    auto [supervisor, engine] = Channel::pair();
    const bool existed = fs::exists(manifest_path(folder));
    fs::create_directories(folder);
    supervisor->send(Value::Map{{"type", "opened"}, {"folder", folder.string()}, {"existed", existed}});
    const auto own_device = [](const std::string& device) { return device; };
    Run run(registry, request,
            {"2.11.0",
             "cpu",
             started,
             [this](int count) { threads.push_back(count); },
             own_device,
             {},
             [this] { return now; }},
            *engine);
    last = Value();
    error.reset();
    int code = 0;
    try {
      run.source("digits.lua", source);
      run.parameter("lr", lr);
      recipe(run);
      code = run.finish();
    } catch (const Error& raised) {
      error = raised;
      code = run.fail(raised);
    }
    supervisor->fill();
    while (std::optional<Value> message = supervisor->next()) last = *message;
    return code;
  }

  Options fit(const std::string& name, int size = 0) const { return stage_options(registry, "fit", name, size); }
  Options sweep(const std::string& name) const { return stage_options(registry, "sweep", name); }

  fs::path folder;
  Registry registry;
  Request request;
  std::string source = "return lab.fit {}";
  Value lr = 0.1;
  double started = 1'700'000'000.9;
  double now = 500;  // by the clock that budgets are counted by
  StageBody body = [](const Options&, const StageContext&) { return Value(Value::Map{{"steps", 7}}); };
  int executions = 0;
  RunSettings prepared;  // with which the stage that ran last was prepared
  std::vector<std::string> log;
  std::vector<int> threads;  // what arithmetic was told to use, in order
  Value last;
  std::optional<Error> error;
};

}  // namespace

TEST_CASE("a recipe without stages leaves nothing") {
  World world("none");
  CHECK(world.process([](Run&) {}) == 0);
  CHECK(world.last["kind"] == Value("none"));
  CHECK(fs::is_empty(world.folder));
}

TEST_CASE("a finished stage gives its stored summary and is not run again") {
  World world("finished");
  world.body = [](const Options&, const StageContext& context) {
    CHECK(fs::is_directory(context.folder));
    return Value(
        Value::Map{{"metrics", Value::Map{{"val.loss", std::nan("")}, {"val.accuracy", 0.1 + 0.2}}}, {"steps", 3.0}});
  };
  Value first;
  CHECK(world.process([&](Run& run) { first = run.stage(world.fit("a"), true); }) == 0);
  Value second;
  CHECK(world.process([&](Run& run) { second = run.stage(world.fit("a"), true); }) == 0);
  CHECK(world.executions == 1);
  CHECK(first == second);  // also where a NaN stands
  CHECK(first["metrics"]["val.loss"].is_nil());
  CHECK(first["metrics"]["val.accuracy"] == Value(0.1 + 0.2));
  CHECK(first["status"] == Value("done"));
  CHECK(first["name"] == Value("a"));
  CHECK(first["kind"] == Value("fit"));
  CHECK(first["out"] == Value(world.folder.string()));
  CHECK(first["seconds"].is_number());
  CHECK(first["resumed"] == Value(Value::List{}));
  CHECK(world.last["folder"] == Value(world.folder.string()));
  CHECK(read_file(world.folder / "recipe/digits.lua") == world.source);
}

TEST_CASE("where stages live") {
  World world("layout");
  const auto summary = [&](const char* path) { return read_summary(world.folder / path); };

  SECTION("a returned stage that has not run yet owns the top") {
    world.process([&](Run& run) {
      run.stage(world.sweep("search"), false);
      run.stage(world.fit("final"), true);
    });
    CHECK(summary("stages/search")["kind"] == Value("sweep"));
    CHECK(summary(".")["name"] == Value("final"));
    CHECK_FALSE(fs::exists(world.folder / "stages/final"));
  }
  SECTION("one that lab.run started stays where it is, and the top has its summary") {
    world.process([&](Run& run) {
      run.stage(world.fit("a"), false);
      run.stage(world.sweep("b"), false);
      run.stage(world.fit("a"), true);
    });
    CHECK(world.executions == 2);
    CHECK(read_file(world.folder / "summary.json") == read_file(world.folder / "stages/a/summary.json"));
  }
  SECTION("after `return nil` the top has the summary of the last stage run") {
    world.process([&](Run& run) {
      run.stage(world.fit("a"), false);
      run.stage(world.fit("b"), false);
    });
    CHECK(summary(".")["name"] == Value("b"));
  }
}

TEST_CASE("names") {
  World world("names");
  CHECK(world.process([&](Run& run) {
    run.stage(world.fit("a", 1), false);
    run.stage(world.fit("a", 1), false);
    run.stage(world.fit("a", 2), true);
  }) == 1);
  CHECK(world.executions == 1);
  CHECK(world.error->message().find("\"a\" for a second stage") != std::string::npos);
  CHECK(world.error->file() == "recipe.lua");
  for (const char* name : {"", "a/b", "..", ".hidden", "-x", "a b"}) {
    CHECK(world.process([&](Run& run) { run.stage(world.fit(name), true); }) == 1);
  }
  CHECK(world.executions == 1);
}

TEST_CASE("another order than the recorded one is refused, naming both") {
  World world("order");
  world.process([&](Run& run) {
    run.stage(world.fit("a"), false);
    run.stage(world.fit("b"), false);
  });
  CHECK(world.process([&](Run& run) { run.stage(world.sweep("b"), false); }) == 1);
  CHECK_THAT(world.error->message(), Catch::Contains("stage 1 of this run was fit \"a\", now it is sweep \"b\""));
  CHECK(world.process([&](Run& run) { run.stage(world.fit("a"), false); }) == 1);  // and stops short of b
  CHECK_THAT(world.last["error"]["message"].string(), Catch::Contains("ended before fit \"b\""));
  CHECK(world.executions == 2);
}

TEST_CASE("an interrupted stage goes on, within and between stages") {
  World world("interrupted");
  int left = 2;
  world.body = [&](const Options&, const StageContext& context) {
    if (context.name == "b" && left-- > 0) {
      return Value(Value::Map{{"status", "interrupted"}, {"seconds", 5.0}, {"resumed", Value::List{1}}});
    }
    return Value(Value::Map{});
  };
  const auto recipe = [&](Run& run) {
    run.stage(world.fit("a"), false);
    run.stage(world.fit("b"), false);
    run.stage(world.fit("c"), true);
  };
  CHECK(world.process(recipe) == 130);
  CHECK(world.last["type"] == Value("result"));  // the summary tells it
  CHECK(read_summary(world.folder)["name"] == Value("b"));
  CHECK(read_summary(world.folder)["status"] == Value("interrupted"));
  CHECK(world.process(recipe) == 130);
  CHECK(world.process(recipe) == 0);
  CHECK(world.log == std::vector<std::string>{"a", "b", "b again", "b again", "c"});
  CHECK(read_summary(world.folder)["name"] == Value("c"));
  CHECK(read_summary(world.folder / "stages/b")["seconds"].number() >= 5.0);  // what the earlier attempts took
}

TEST_CASE("a recipe cannot go on after a stage that did not end well") {
  World world("caught");
  world.body = [](const Options&, const StageContext& context) -> Value {
    if (context.name == "a") return Value::Map{{"status", "failed"}, {"reason", "loss is nan at step 12"}};
    throw recipe_error("x").at("digits.lua", 3);
  };
  CHECK(world.process([&](Run& run) {
    CHECK_THROWS_AS(run.stage(world.fit("a"), false), Error);
    run.stage(world.fit("b"), true);
  }) == 3);
  CHECK(world.executions == 1);
  CHECK(world.last["type"] == Value("result"));
  CHECK(read_summary(world.folder)["reason"] == Value("loss is nan at step 12"));
}

TEST_CASE("what was decided on a stage's promotion stays in its summary until the stage has gone on to its end") {
  World world("promotion");
  world.body = [](const Options&, const StageContext&) {
    return Value(Value::Map{{"status", "interrupted"}, {promotion_key, Value::Map{{"replaces", "004"}}}});
  };
  const auto recipe = [&](Run& run) { run.stage(world.fit("a"), true); };
  CHECK(world.process(recipe) == 130);
  world.body = [](const Options&, const StageContext&) -> Value { throw run_error("the disk is full"); };
  CHECK(world.process(recipe) == 3);
  CHECK(read_summary(world.folder)["status"] == Value("failed"));
  CHECK(read_summary(world.folder)[promotion_key]["replaces"] == Value("004"));
  world.body = [](const Options&, const StageContext&) { return Value(Value::Map{}); };
  CHECK(world.process(recipe) == 0);
  CHECK(read_summary(world.folder)[promotion_key].is_nil());
}

TEST_CASE("an error in a stage is kept in its summary and told") {
  World world("error");
  world.body = [](const Options&, const StageContext&) -> Value {
    throw recipe_error("expected a number, found nil").at("digits.lua", 12).in("loss");
  };
  CHECK(world.process([&](Run& run) { run.stage(world.fit("a"), true); }) == 1);
  CHECK(read_summary(world.folder)["status"] == Value("failed"));
  CHECK(read_summary(world.folder)["reason"] == Value("digits.lua:12: loss: expected a number, found nil"));
  CHECK(world.last["type"] == Value("error"));
  CHECK(world.last["error"]["line"] == Value(12));
  CHECK_THAT(read_file(world.folder / "log.txt"), Catch::Contains("digits.lua:12"));

  // What is no Error becomes one, and a recipe that holds it back cannot go on either.
  std::exception_ptr raised;
  std::string reason;
  SECTION("an error of the engine") {
    raised = std::make_exception_ptr(std::logic_error("a bug"));
    reason = "internal error: a bug";
  }
  SECTION("no memory") {
    raised = std::make_exception_ptr(std::bad_alloc());
    reason = "out of memory";
  }
  CAPTURE(reason);
  world.executions = 0;
  world.body = [&](const Options&, const StageContext&) -> Value { std::rethrow_exception(raised); };
  const int code = world.process([&](Run& run) {
    for (int i = 0; i < 3; ++i) CHECK_THROWS_AS(run.stage(world.fit("a"), false), Error);
    CHECK_THROWS_WITH(run.stage(world.fit("b"), false), reason);
  });
  CHECK(code == 3);
  CHECK(world.executions == 1);
  CHECK(read_summary(world.folder)["status"] == Value("failed"));
  CHECK(read_summary(world.folder)["reason"] == Value(reason));
  CHECK(world.last["error"]["message"] == Value(reason));
}

TEST_CASE("a run that is continued must be the one that was begun") {
  World world("changed");
  const auto recipe = [&](Run& run) { run.stage(world.fit("a"), true); };
  world.process(recipe);
  std::string expected;
  SECTION("source") {
    world.source += " ";
    expected = "source digits.lua has changed";
  }
  SECTION("parameter") {
    world.lr = 0.2;
    expected = "--lr: recorded 0.1, now 0.2";
  }
  SECTION("--set") {
    world.request.options.set("set", Value::List{"optim.lr=1"});
    expected = "--set: recorded none, now optim.lr=1";
  }
  SECTION("--seed") {
    world.request.options.set("seed", 2);
    expected = "--seed: recorded 1, now 2";
  }
  CHECK(world.process(recipe) == 2);
  CHECK_THAT(world.error->message(), Catch::Contains(expected));
  CHECK(world.executions == 1);
  CHECK(read_summary(world.folder)["status"] == Value("done"));
}

TEST_CASE("a module that is loaded after the first stage is kept and compared too") {
  World world("late");
  const auto recipe = [&](Run& run, const char* text) {
    run.stage(world.fit("a"), false);
    run.source("lib/late.lua", text);
  };
  CHECK(world.process([&](Run& run) { recipe(run, "return 1"); }) == 0);
  CHECK(read_file(world.folder / "recipe/lib/late.lua") == "return 1");
  CHECK(world.process([&](Run& run) { recipe(run, "return 1"); }) == 0);
  CHECK(world.process([&](Run& run) { recipe(run, "return 2"); }) == 2);

  World outside("outside");
  CHECK(outside.process([&](Run& run) {
    run.source("../x.lua", "");
    run.stage(outside.fit("a"), false);
  }) == 3);
  CHECK_FALSE(fs::exists(outside.folder.parent_path() / "x.lua"));
}

TEST_CASE("the manifest records the start that the recipe was told, for good") {
  World world("started");
  world.body = [](const Options&, const StageContext&) { return Value(Value::Map{{"status", "interrupted"}}); };
  const auto recipe = [&](Run& run) { run.stage(world.fit("a"), true); };
  world.process(recipe);
  CHECK(read_manifest(world.folder).started == "2023-11-14T22:13:20Z");
  world.started += 60;
  world.request.options.set("threads", 1000);  // so that the manifest is written again
  world.process(recipe);
  const Manifest manifest = read_manifest(world.folder);
  CHECK(manifest.started == "2023-11-14T22:13:20Z");
  REQUIRE(manifest.continued.size() == 1);
  CHECK_THAT(manifest.continued[0], !Catch::StartsWith("2023"));  // when it was continued
}

TEST_CASE("other threads are accepted, recorded, and said to be inexact") {
  World world("threads");
  RunSettings seen;
  bool interrupted = true;
  world.body = [&](const Options&, const StageContext& context) {
    seen = *context.settings;
    CHECK(world.threads.back() == seen.threads);
    return Value(Value::Map{{"status", interrupted ? "interrupted" : "done"}});
  };
  const auto recipe = [&](Run& run) { run.stage(world.fit("a"), true); };
  world.request.options.set("threads", 3);
  world.process(recipe);
  CHECK(seen.threads == 3);
  world.request.options.map().erase("threads");  // the recorded ones
  world.process(recipe);
  CHECK(seen.threads == 3);
  CHECK(read_manifest(world.folder).exact);
  world.request.options.set("threads", 2);
  interrupted = false;
  world.process(recipe);
  CHECK(seen.threads == 2);
  const Manifest manifest = read_manifest(world.folder);
  CHECK_FALSE(manifest.exact);
  CHECK(manifest.setting("threads") == Value(2));
  REQUIRE(manifest.continued.size() == 1);
  CHECK_THAT(manifest.continued[0], Catch::Contains("threads: recorded 3, now 2"));
  CHECK_THAT(read_file(world.folder / "log.txt"), Catch::Contains("not byte-exact: threads"));
}

TEST_CASE("the manifest records the versions that began the run, for good") {
  World world("versions");
  world.body = [](const Options&, const StageContext&) { return Value(Value::Map{{"status", "interrupted"}}); };
  const auto recipe = [&](Run& run) { run.stage(world.fit("a"), true); };
  world.process(recipe);
  Manifest manifest = read_manifest(world.folder);
  manifest.trainlab = "0.0.9";
  manifest.libtorch = "2.10.0";
  write_manifest(world.folder, manifest);
  world.process(recipe);
  manifest = read_manifest(world.folder);
  CHECK(manifest.trainlab == "0.0.9");
  CHECK(manifest.libtorch == "2.10.0");
  CHECK_FALSE(manifest.exact);
  REQUIRE(manifest.continued.size() == 2);
  CHECK_THAT(manifest.continued[0], Catch::Contains("trainlab: recorded 0.0.9, now "));
  CHECK_THAT(manifest.continued[1], Catch::Contains("LibTorch: recorded 2.10.0, now 2.11.0"));
}

TEST_CASE("trainings of a shared stage have a thread each unless more are asked for") {
  World world("shared threads");
  int seen = 0;
  world.registry.add(Entry("search", "stage", "A stage of many trainings.")
                         .with(Option("name", "the stage's name").string())
                         .with(Option("threads", "of each training").integer()),
                     StageKind{.is_shared = true,
                               .prepare =
                                   [&](const Options&, const RunSettings&) {
                                     return [&](const StageContext& context) {
                                       seen = context.settings->threads;
                                       return Value(Value::Map{{"status", "done"}});
                                     };
                                   },
                               .check = nullptr});
  const auto threads_of = [&](const std::string& name, const Value& asked) {
    world.threads.clear();
    const auto spec = std::make_shared<Spec>();
    spec->value = Value::Map{{"@", "search"}, {"name", name}, {"@at", "recipe.lua:3"}};
    if (!asked.is_nil()) spec->value.set("threads", asked);
    world.folder = empty_folder("shared threads " + name);
    REQUIRE(world.process([&](Run& run) { run.stage(Options(world.registry, spec, "search"), true); }) == 0);
    CHECK(world.threads.back() == seen);
    return seen;
  };
  CHECK(threads_of("plain", Value()) == 1);
  CHECK(world.threads.front() == usable_cores());  // data is opened with all
  CHECK(threads_of("asks", 2) == 2);
  world.request.options.set("threads", 3);
  CHECK(threads_of("beaten", 2) == 3);
}

TEST_CASE("a finished run is extended") {
  World world("extend");
  const auto epochs = [](const StageContext& context) {
    const std::vector<NewTotal>& extended = context.settings->extended;
    return extended.empty() ? std::int64_t{20} : static_cast<std::int64_t>(extended.front().count);
  };
  world.body = [&](const Options&, const StageContext& context) {
    if (epochs(context) < 20) throw usage_error("20 epochs are behind it already");
    CHECK(context.settings->extends_now == world.request.extend.has_value());
    return Value(Value::Map{{"epochs", epochs(context)}});
  };
  const auto recipe = [&](Run& run) {
    run.stage(world.sweep("search"), false);
    run.stage(world.fit("final"), true);
  };
  world.process(recipe);
  const std::string before = read_file(world.folder / "summary.json");

  world.request.extend = NewTotal{10, "epochs"};
  CHECK(world.process(recipe) == 2);
  CHECK(read_file(world.folder / "summary.json") == before);
  CHECK_FALSE(read_manifest(world.folder).extension);

  world.request.extend = NewTotal{40, "epochs"};
  CHECK(world.process(recipe) == 0);
  CHECK(read_summary(world.folder)["epochs"] == Value(40));
  CHECK(world.log == std::vector<std::string>{"search", "final", "final again", "final again"});

  CHECK(world.process(recipe) == 2);  // no more than it has now
  CHECK(read_summary(world.folder)["epochs"] == Value(40));
  CHECK(world.log.size() == 4);

  // Interrupted while extending: a resume goes on to the same length without being told.
  world.request.extend = NewTotal{60, "epochs"};
  world.body = [&](const Options&, const StageContext&) -> Value { throw Error(ErrorKind::interrupted, "now"); };
  CHECK(world.process(recipe) == 130);
  CHECK(read_summary(world.folder)["status"] == Value("interrupted"));
  world.request.extend.reset();
  world.body = [&](const Options&, const StageContext& context) {
    CHECK_FALSE(context.settings->extends_now);
    return Value(Value::Map{{"epochs", epochs(context)}});
  };
  CHECK(world.process(recipe) == 0);
  CHECK(read_summary(world.folder)["epochs"] == Value(60));

  // A length and a time go together, and a total takes the place of the total of its kind.
  for (const NewTotal& total : {NewTotal{3600, "time"}, NewTotal{500, "steps"}}) {
    world.request.extend = total;
    world.body = [&](const Options&, const StageContext& context) {
      CHECK(context.settings->extended.size() == 2);
      CHECK(context.settings->extended.back() == total);
      return Value(Value::Map{});
    };
    CHECK(world.process(recipe) == 0);
  }
  const std::vector<NewTotal> totals = read_manifest(world.folder).extension->totals;
  CHECK(totals == std::vector<NewTotal>{{500, "steps"}, {3600, "time"}});
}

namespace {

// Every writing call from the Nth on fails: the disk is full.
class FullDisk : public FileCalls {
 public:
  explicit FullDisk(int calls) : left_(calls) {}
  int open(const fs::path& path, int flags, int mode) override {
    return (flags & O_CREAT) != 0 && full() ? -1 : FileCalls::open(path, flags, mode);
  }
  std::int64_t write(int fd, std::string_view bytes) override { return full() ? -1 : FileCalls::write(fd, bytes); }
  int sync(int fd) override { return full() ? -1 : FileCalls::sync(fd); }
  int rename(const fs::path& from, const fs::path& to) override { return full() ? -1 : FileCalls::rename(from, to); }
  int make_directory(const fs::path& path) override { return full() ? -1 : FileCalls::make_directory(path); }

  bool reached() const { return left_ < 0; }

 private:
  bool full() {
    errno = ENOSPC;
    return --left_ < 0;
  }
  int left_;
};

}  // namespace

TEST_CASE("a disk that fills up at any call leaves a run that can be read and gone on with") {
  bool reached = true;
  int calls = 0;
  for (; reached; ++calls) {
    INFO("calls before the disk is full: " << calls);
    World world("full");
    fs::create_directories(world.folder);
    const auto recipe = [&](Run& run) {
      run.stage(world.fit("a"), false);
      run.stage(world.fit("b"), true);
    };
    FullDisk disk(calls);
    int code = 0;
    {
      const ScopedFileCalls guard(disk);
      code = world.process(recipe);
    }
    reached = disk.reached();
    CHECK((code == 0 || code == 3));
    if (code == 3) CHECK_THAT(world.last["error"]["message"].string(), Catch::Contains("disk full"));
    if (fs::exists(manifest_path(world.folder))) {
      CHECK(read_manifest(world.folder).recipe == "digits.lua");
      read_stages(world.folder);
      read_summary(world.folder);
    }
    const int before = world.executions;
    CHECK(world.process(recipe) == 0);
    CHECK(world.executions >= 2);
    CHECK(world.executions <= before + 2);
    CHECK(read_summary(world.folder)["name"] == Value("b"));
    if (code == 0) CHECK(world.executions == 2);
  }
  CHECK(calls > 30);  // it did fail in many places
}

TEST_CASE("a run that ended before its first stage began goes on with the settings of its begin") {
  int found = 0;
  bool reached = true;
  for (int calls = 0; reached; ++calls) {
    World world("before-first-stage");
    const auto recipe = [&](Run& run) { run.stage(world.fit("a"), true); };
    fs::create_directories(world.folder);
    world.request.options.set("threads", 3);
    world.request.options.set("device", "cpu");
    FullDisk disk(calls);
    {
      const ScopedFileCalls guard(disk);
      world.process(recipe);
    }
    reached = disk.reached();
    if (!fs::exists(manifest_path(world.folder)) || !read_stages(world.folder).empty()) continue;
    ++found;
    world.request.options.map().erase("threads");
    RunSettings performed;
    world.body = [&](const Options&, const StageContext& context) {
      performed = *context.settings;
      return Value(Value::Map{});
    };
    CHECK(world.process(recipe) == 0);
    CHECK(performed.threads == 3);
    CHECK(world.prepared.threads == 3);
    CHECK(world.threads.back() == 3);
    CHECK(read_manifest(world.folder).exact);
  }
  CHECK(found > 1);
}

TEST_CASE("a stage before which a stop was requested is not recorded, so that a mended recipe may have another one") {
  World world("stop-between");
  const StageBody well = world.body;
  world.body = [&](const Options& stage, const StageContext& context) {
    request_stop();
    return well(stage, context);
  };
  const auto recipe = [&](const char* second) {
    return [&world, second](Run& run) {
      run.stage(world.fit("a"), false);
      run.stage(world.fit(second), true);
    };
  };
  const int code = world.process(recipe("b"));
  clear_stop_request();
  CHECK(code == static_cast<int>(ErrorKind::interrupted));
  REQUIRE(read_stages(world.folder).size() == 1);
  const Value summary = read_summary(world.folder);
  CHECK(summary["name"] == Value("b"));
  CHECK(summary["status"] == Value("interrupted"));
  CHECK(summary["reason"] == Value("stopped before stage b began"));
  CHECK(world.last["folder"] == Value(world.folder.string()));

  world.body = well;
  CHECK(world.process(recipe("c")) == 0);
  CHECK(world.log == std::vector<std::string>{"a", "c"});
}

TEST_CASE("the sources that a mended recipe replaces are kept, wherever the disk fills up") {
  bool reached = true;
  int calls = 0;
  for (; reached; ++calls) {
    INFO("calls before the disk is full: " << calls);
    World world("mended-full");
    const auto recipe = [&](Run& run) { run.stage(world.fit("a"), true); };
    const auto mended = [&](Run& run) {
      run.replace_recipe();
      recipe(run);
    };
    const StageBody well = world.body;
    world.body = [](const Options&, const StageContext&) -> Value { throw recipe_error("a mistake"); };
    const std::string before = world.source;
    CHECK(world.process(recipe) == 1);

    world.request.options.set("recipe", "/mended.lua");
    world.source = "return lab.fit { on = {} }";
    world.body = well;
    FullDisk disk(calls);
    {
      const ScopedFileCalls guard(disk);
      world.process(mended);
    }
    reached = disk.reached();
    CHECK(world.process(mended) == 0);
    CHECK(read_file(world.folder / "recipe-before-1" / "digits.lua") == before);
    CHECK(read_file(world.folder / "recipe" / "digits.lua") == world.source);
    CHECK(read_manifest(world.folder).sources.at("digits.lua") == hash_bytes(world.source));
  }
  CHECK(calls > 10);
}

TEST_CASE("usable cores") { CHECK(usable_cores() >= 1); }

TEST_CASE("the stages of a run share its budget of time") {
  World world("budget");
  world.request.begun = 499;
  std::vector<double> left;
  world.body = [&](const Options& stage, const StageContext& context) {
    left.push_back(context.seconds_left());
    world.now += static_cast<double>(stage.integer("size"));
    left.push_back(context.seconds_left());
    return Value(Value::Map{{"steps", 1}});
  };
  const Value options = Value::Map{{"time", "100 s"}, {"reserve", "9 s"}};
  Value last;
  CHECK(world.process([&](Run& run) {
    run.budget(options, std::nullopt);
    run.stage(stage_options(world.registry, "sweep", "search", 30), false);
    run.stage(world.fit("again", 20), false);
    last = run.stage(world.fit("final", 39), true);
  }) == 0);
  const std::vector<double> expected{60, 30, 30, 10, 40, 1};
  REQUIRE(left.size() == expected.size());
  for (std::size_t i = 0; i < left.size(); ++i) CHECK(left[i] == Approx(expected[i]));
  CHECK(last["budget"] == Value(Value::Map{{"seconds", 100.0}, {"used", 90.0}, {"reserve", 9.0}}));
  CHECK(read_summary(world.folder)["budget"] == last["budget"]);
}

TEST_CASE("a budget of time goes on in the next process of the run") {
  World world("budget-resumed");
  world.request.options.set("within", 100.0);
  const auto recipe = [&](Run& run) {
    run.stage(world.fit("first"), false);
    run.stage(world.fit("last"), true);
  };
  double left = 0;
  world.body = [&](const Options&, const StageContext& context) -> Value {
    if (context.name == "last") {
      left = context.seconds_left();
      return Value(Value::Map{});
    }
    world.now += 20;
    context.seconds_left();
    return Value(Value::Map{{"status", "interrupted"}, {"reason", "a signal"}});
  };
  world.request.begun = world.now;
  CHECK(world.process(recipe) == 130);
  CHECK(read_summary(world.folder)["budget"]["used"] == Value(20.0));

  world.now += 5000;
  world.request.begun = world.now;
  world.request.options = Value::Map{{"quiet", true}};  // the manifest has the budget
  world.body = [&](const Options&, const StageContext& context) -> Value {
    left = context.seconds_left();
    world.now += 10;
    return Value(Value::Map{});
  };
  Value last;
  CHECK(world.process([&](Run& run) {
    run.stage(world.fit("first"), false);
    last = run.stage(world.fit("last"), true);
  }) == 0);
  CHECK(left == Approx(97 - 30));
  CHECK(last["budget"]["used"].number() == Approx(40));
}

TEST_CASE("a budget in which nothing fits is refused before there is a folder, or before its stage") {
  World world("budget-too-small");
  world.request.begun = 498;
  const Value options = Value::Map{{"time", "10 s"}, {"reserve", "8 s"}};
  CHECK(world.process([&](Run& run) {
    run.budget(options, std::nullopt);
    run.stage(world.fit("f"), true);
  }) == 2);
  CHECK(world.executions == 0);
  CHECK(fs::is_empty(world.folder));
  REQUIRE(world.error);
  CHECK_THAT(world.error->what(), Catch::Contains("the run has used 2 s of its budget of 10 s, of which 8 s are "
                                                  "reserve: nothing is left for the first stage"));

  SECTION("a stage that overruns leaves its result, and the next is refused") {
    world.request.begun = 500;
    world.body = [&](const Options&, const StageContext&) {
      world.now += 9;
      return Value(Value::Map{{"steps", 7}});
    };
    CHECK(world.process([&](Run& run) {
      run.budget(options, std::nullopt);
      run.stage(world.fit("slow"), false);
      run.stage(world.fit("next"), true);
    }) == 2);
    CHECK(world.executions == 1);
    CHECK(read_summary(world.folder / "stages/slow")["steps"] == Value(7));
    CHECK_THAT(world.error->what(), Catch::Contains("nothing is left for stage next") &&
                                        Catch::Contains("trainlab resume " + world.folder.string() + " --within TIME"));
  }
  SECTION("two budgets") {
    CHECK(world.process([&](Run& run) {
      run.budget(options, std::nullopt);
      run.budget(options, std::nullopt);
    }) == 1);
  }
}

}  // namespace trainlab::stage_test

// lab.task, its function written in C++.
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include <catch2/catch.hpp>

#include <cmath>
#include <filesystem>
#include <map>
#include <stdexcept>

#include "core/files.h"
#include "core/trace.h"
#include "data/dataset.h"
#include "journal/checkpoint.h"
#include "support/fit_support.h"
#include "support/stand_in_device.h"
#include "task/task.h"
#include "tensor/random.h"
#include "tensor/types.h"

namespace trainlab::task_test {

using namespace test;
namespace fs = std::filesystem;

namespace {

const Registry& task_registry() {
  static const Registry registry = [] {
    Registry all;
    register_task(all);
    return all;
  }();
  return registry;
}

using Body = std::function<void(TaskContext&)>;

// Runs a task of this function, as its stage does, or with company.
Value run_task(const std::string& device, const fs::path& folder, const Body& body, bool resumed = false,
               const std::optional<TaskCompany>& company = {}, const std::function<double()>& seconds_left = {}) {
  auto spec = std::make_shared<Spec>();
  spec->value = task_registry().check(
      parse_json(R"({"@": "task", "name": "test", "run": {"@": "function", "index": 0}})", "test"), "task");
  spec->functions.push_back(native([&](std::span<const Argument> arguments) {
    body(dynamic_cast<TaskContext&>(*std::get<std::shared_ptr<Object>>(arguments.front())));
    return std::vector<Argument>{};
  }));
  const Options task(task_registry(), spec, "task");
  RunSettings settings = test_settings();
  settings.device = device;
  make_directories(folder);
  StageContext context = quiet_context(folder, settings, resumed);
  context.seconds_left = seconds_left;
  if (company) return trainlab::run_task(task, context, *company);
  return task_registry().implementation<StageKind>(task.entry()).prepare(task, settings)(context);
}

Part digits() { return open_data(parse_options(R"({"@": "data.digits"})"), {.seed = 1}).train; }

// A weight on the device that follows the batches of two epochs, and its mean after each step.
void follow(TaskContext& task, const Part& part, const at::Device& device) {
  TaskLoopOptions options;
  options.part = part;
  options.loader.batch = 256;
  options.epochs = 2;
  options.checkpoint = parse_duration("3 steps");
  const at::Tensor weight = at::zeros({64}, at::TensorOptions(at::kFloat).device(device));
  options.save = {weight};
  task.state = {Value(Value::Map{}), {{"there", at::zeros({2}, weight.options())}, {"here", at::zeros({2})}}};
  const auto loop = task.loop(options);
  while (loop->next()) {
    CHECK(task.state.tensors.at("there").device() == device);
    CHECK(task.state.tensors.at("here").device() == at::kCPU);
    const at::Tensor noise = at::empty({64}, weight.options());
    fill_normal(noise, loop->key(), 0, 0.1);
    weight.mul_(0.9).add_(loop->batch()->columns.at("x").flatten(1).mean(0)).add_(noise);
    task.log("mean", weight.mean());
  }
  task.save("weight", {{"weight", weight}});
}

}  // namespace

TEST_CASE("task: batches come on the device of the run") {
  register_stand_in();
  const TemporaryFolder temporary;
  const Part part = digits();
  for (const std::string device : {"cpu", "stand_in"}) {
    std::size_t columns = 0;
    run_task(device, temporary.path() / device, [&](TaskContext& task) {
      TaskLoopOptions options;
      options.part = part;
      options.loader.batch = 32;
      const auto loop = task.loop(options);
      REQUIRE(loop->next());
      for (const auto& [name, column] : loop->batch()->columns) {
        INFO(name);
        CHECK(column.device() == parse_device(device));
        ++columns;
      }
    });
    CHECK(columns == 2);
  }
}

TEST_CASE("task: a device that is not there is refused before the task begins") {
  register_stand_in();
  const TemporaryFolder temporary;
  const auto refused = [&](const char* device) {
    return error_of([&] { run_task(device, temporary.path(), [](TaskContext&) { FAIL("the task has begun"); }); });
  };
  CHECK_THAT(refused("cuda:7"), Catch::Contains("device cuda:7 is not there"));
  CHECK_THAT(refused("stand_in:7"), Catch::Contains("device stand_in:7 is not there: found 2, the last is stand_in:1"));
  CHECK_THAT(refused("stand_out"), Catch::Contains("expected a device, found \"stand_out\""));
}

TEST_CASE("task: whenever its device goes away, it ends with one message, and goes on to the same bytes") {
  register_stand_in();
  const at::Device device = parse_device("stand_in");
  const Part part = digits();
  const TemporaryFolder temporary;
  const auto run = [&](const fs::path& folder, bool resumed) {
    return run_task(
        "stand_in", folder, [&](TaskContext& task) { follow(task, part, device); }, resumed);
  };
  const fs::path whole = temporary.path() / "whole";
  CHECK(run(whole, false)["steps"] == Value(16));
  int failures = 0;
  for (std::int64_t calls = 0;; calls += calls / 2 + 1) {
    INFO("after " << calls << " calls");
    const fs::path folder = temporary.path() / std::to_string(calls);
    {
      const LostDevice lost(calls);
      const std::string error = error_of([&] { run(folder, false); });
      if (!lost.is_gone()) break;
      ++failures;
      CHECK_THAT(error, Catch::StartsWith("the device has failed: stand-in error: the device is not there any more"));
    }
    CHECK(run(folder, true)["status"] == Value("done"));
    CHECK(hash_file(folder / "checkpoints" / "weight.safetensors") ==
          hash_file(whole / "checkpoints" / "weight.safetensors"));
    CHECK(rows_without_seconds(folder) == rows_without_seconds(whole));
  }
  CHECK(failures > 8);
}

namespace {

// The phases that begin on this thread, in order, a line each.
class Phases final : public TraceListener {
 public:
  void began(Phase phase, std::string_view) override { text += std::string(phase_name(phase)) + "\n"; }
  void ended(Phase, std::string_view) noexcept override {}
  std::string text;
};

// Counts the rows that it is told of, keeps the number in the checkpoints, and may raise.
class Counts final : public Observer {
 public:
  void started(const FitView&) override { at("started"); }
  void validated(const ValidationView&) override {
    ++count;
    if (count == 2) at("validated");
  }
  void finished(const Value&) override { at("finished"); }
  TaskCompany company(const std::shared_ptr<Counts>& self) {
    return {.observers = {self},
            .parts = {{.name = "count",
                       .state = [self] { return Value(self->count); },
                       .restore = [self](const Value& state, const NamedTensors&) { self->count = state.integer(); }}}};
  }
  std::int64_t count = 0;
  std::string raises_at;
  std::function<void()> raise;

 private:
  void at(const char* event) const {
    if (raises_at == event) raise();
  }
};

}  // namespace

TEST_CASE("task: a listener hears when batches are fetched and moved, and checkpoints are written") {
  register_stand_in();
  const TemporaryFolder temporary;
  const Part part = digits();
  for (const std::string device : {"cpu", "stand_in"}) {
    Phases phases;
    {
      const Listening listening(phases);
      run_task(device, temporary.path() / device, [&](TaskContext& task) {
        TaskLoopOptions options;
        options.part = part;
        options.loader.batch = part.size() / 3 + 1;
        options.save = {at::zeros({2})};
        options.checkpoint = parse_duration("2 steps");
        const auto loop = task.loop(options);
        while (loop->next()) phases.text += "step\n";
      });
    }
    const std::string batch = device == "cpu" ? "fetch\nstep\n" : "fetch\nmove\nstep\n";
    CHECK(phases.text == batch + batch + "commit\n" + batch + "commit\n");
  }
}

TEST_CASE("task: observers from outside are told, what they keep survives, and their errors lose nothing") {
  const TemporaryFolder temporary;
  const Part part = digits();
  const auto run = [&](const fs::path& folder, const std::shared_ptr<Counts>& counts, bool resumed) {
    return run_task(
        "cpu", folder, [&](TaskContext& task) { follow(task, part, at::kCPU); }, resumed, counts->company(counts));
  };
  const fs::path whole = temporary.path() / "whole";
  const auto all = std::make_shared<Counts>();
  run(whole, all, false);
  CHECK(all->count == 2);
  const std::vector<std::function<void()>> errors{[] { throw run_error("the watcher has seen enough"); },
                                                  [] { throw recipe_error("the watcher has seen enough"); },
                                                  [] { throw std::runtime_error("the watcher has seen enough"); }};
  for (const char* event : {"started", "validated", "finished"}) {
    for (std::size_t e = 0; e < errors.size(); ++e) {
      INFO(event << " " << e);
      const fs::path folder = temporary.path() / (event + std::to_string(e));
      const auto raising = std::make_shared<Counts>();
      raising->raises_at = event;
      raising->raise = errors[e];
      CHECK_THROWS_WITH(run(folder, raising, false), Catch::Contains("the watcher has seen enough"));
      const auto again = std::make_shared<Counts>();
      CHECK(run(folder, again, true)["status"] == Value("done"));
      CHECK(again->count == 2);
      CHECK(hash_file(folder / "checkpoints" / "weight.safetensors") ==
            hash_file(whole / "checkpoints" / "weight.safetensors"));
      CHECK(rows_without_seconds(folder) == rows_without_seconds(whole));
    }
  }
}

namespace {

// Writes down what it is told: each row's text by its step, the steps, and the end.
class Witness final : public Observer {
 public:
  bool wants_step(std::int64_t step) override { return step % 3 == 0; }
  void stepped(const StepView& view) override {
    CHECK(std::isnan(view.rate));
    steps[view.step] = std::to_string(view.epoch) + " " + std::to_string(view.samples);
  }
  void validated(const ValidationView& view) override {
    std::string& text = rows[view.step];
    text = std::to_string(view.epoch) + " " + std::to_string(view.samples);
    for (const auto& [name, value] : view.metrics) text += " " + name + " " + std::to_string(value);
  }
  void finished(const Value& summary) override { ends.push_back(summary); }
  std::map<std::int64_t, std::string> rows, steps;
  std::vector<Value> ends;
};

// 4 steps, 2 epochs of 8 batches of which the first of each logs a value, and a value at the end. Calls `at` with the
// number of the step that begins.
void log_early(TaskContext& task, const Part& part, const std::function<void(std::int64_t)>& at) {
  TaskLoopOptions options;
  options.save = {at::zeros({2})};
  options.checkpoint = parse_duration("3 steps");
  options.steps = 4;
  const auto steps = task.loop(options);
  while (steps->next()) {
    at(task.step());
    task.log("warm", static_cast<double>(task.step()));
  }
  options.part = part;
  options.loader.batch = 256;
  options.epochs = 2;
  const auto batches = task.loop(options);
  while (batches->next()) {
    at(task.step());
    if (batches->step() % 8 == 0) task.log("early", static_cast<double>(task.step()));
  }
  task.log("late", 1.0);
}

}  // namespace

TEST_CASE("task: observers of a task that fails at any step and is resumed are told what the whole task tells") {
  const TemporaryFolder temporary;
  const Part part = digits();
  const auto witness = std::make_shared<Witness>();
  const fs::path whole = temporary.path() / "whole";
  run_task(
      "cpu", whole, [&](TaskContext& task) { log_early(task, part, [](auto) {}); }, false, TaskCompany{{witness}});
  // At the end of the steps, of both epochs, and of the task, in whose row the numbers are those of the last batch.
  CHECK(witness->rows ==
        std::map<std::int64_t, std::string>{{4, "0 0 warm 3.000000"},
                                            {12, "0 256 early 4.000000 warm 3.000000"},
                                            {20, "1 2053 early 12.000000 late 1.000000 warm 3.000000"}});
  CHECK(witness->steps == std::map<std::int64_t, std::string>{
                              {3, "0 0"}, {6, "0 512"}, {9, "0 1280"}, {12, "0 1797"}, {15, "1 2565"}, {18, "1 3333"}});
  for (std::int64_t step = 0; step < 20; ++step) {
    INFO("failed at step " << step);
    const fs::path folder = temporary.path() / std::to_string(step);
    const auto both = std::make_shared<Witness>();
    const auto run = [&](bool resumed) {
      const auto fail = [&](std::int64_t now) {
        if (now == step && !resumed) throw run_error("the power is out");
      };
      run_task(
          "cpu", folder, [&](TaskContext& task) { log_early(task, part, fail); }, resumed, TaskCompany{{both}});
    };
    CHECK_THROWS_WITH(run(false), Catch::Contains("the power is out"));
    CHECK(both->ends.empty());
    run(true);
    CHECK(both->ends.size() == 1);
    CHECK(both->rows == witness->rows);
    CHECK(both->steps == witness->steps);
    CHECK(rows_without_seconds(folder) == rows_without_seconds(whole));
  }
}

TEST_CASE("task: an epoch that leaves out its last, smaller batch counts the samples of the others") {
  const TemporaryFolder temporary;
  const auto witness = std::make_shared<Witness>();
  const auto body = [part = digits()](TaskContext& task) {
    TaskLoopOptions options;
    options.part = part;  // 1797 samples: 7 whole batches
    options.loader.batch = 256;
    options.loader.drop_last = true;
    options.save = {at::zeros({2})};
    options.epochs = 2;
    const auto batches = task.loop(options);
    while (batches->next()) task.log("step", static_cast<double>(batches->step()));
  };
  run_task("cpu", temporary.path(), body, false, TaskCompany{{witness}});
  CHECK(witness->steps ==
        std::map<std::int64_t, std::string>{{3, "0 768"}, {6, "0 1536"}, {9, "1 2304"}, {12, "1 3072"}});
}

TEST_CASE("task: observers are told the end at a request to stop, and at the end") {
  const TemporaryFolder temporary;
  const auto witness = std::make_shared<Witness>();
  const auto run = [&](bool resumed) {
    const auto body = [](TaskContext& task) {
      TaskLoopOptions options;
      options.steps = 9;
      options.save = {at::zeros({2})};
      const auto loop = task.loop(options);
      while (loop->next()) {
        task.log("a", 2.0);
        if (task.step() == 3) request_stop();
        if (task.step() == 5) break;
      }
    };
    return run_task("cpu", temporary.path(), body, resumed, TaskCompany{{witness}});
  };
  CHECK(run(false)["reason"] == Value("asked to stop at step 4"));
  clear_stop_request();
  REQUIRE(witness->ends.size() == 1);
  CHECK(witness->ends[0]["status"] == Value("interrupted"));
  CHECK(witness->ends[0]["reason"] == Value("asked to stop at step 4"));
  CHECK(witness->ends[0]["steps"] == Value(4));
  CHECK(witness->ends[0]["metrics"] == Value(Value::Map{{"a", 2.0}}));
  run(true);
  REQUIRE(witness->ends.size() == 2);
  CHECK(witness->ends[1]["status"] == Value("done"));
  CHECK(witness->ends[1]["steps"] == Value(6));
  // The step in which a loop is left counts.
  CHECK(witness->steps == std::map<std::int64_t, std::string>{{3, "0 0"}, {6, "0 0"}});
}

TEST_CASE("task: a checkpoint that this engine cannot restore is told, and stays") {
  const TemporaryFolder temporary;
  const Part part = digits();
  const auto run = [&](bool resumed) {
    return run_task(
        "cpu", temporary.path(), [&](TaskContext& task) { follow(task, part, at::kCPU); }, resumed);
  };
  CHECK(run(false)["status"] == Value("done"));
  CheckpointFolder checkpoints(temporary.path() / "checkpoints", [](const std::string&) {});
  Checkpoint other = checkpoints.newest().value();
  const std::int64_t steps = other.step;
  other.info.set("last", Value::Map{{"mean", "small"}});
  checkpoints.commit(other);
  CHECK_THAT(error_of([&] { run(true); }),
             Catch::StartsWith("the checkpoint of step " + std::to_string(steps) +
                               " has another kind of last than this engine writes\n  hint: continue with the engine "
                               "that wrote the checkpoint"));
  CHECK(checkpoints.newest().value().step == steps);
}

TEST_CASE("the loops of a task end when the time of its run is over, and its function goes on") {
  const TemporaryFolder temporary;
  double left = 1000;
  std::int64_t after = 0;
  const Value summary = run_task(
      "cpu", temporary.path(),
      [&](TaskContext& task) {
        const at::Tensor weight = at::zeros({2});
        for (int loops = 0; loops < 2; ++loops) {
          TaskLoopOptions options;
          options.steps = 50;
          options.save = {weight};
          const auto loop = task.loop(options);
          while (loop->next()) {
            task.log("x", static_cast<double>(loop->step()));
            if (loop->step() == 9) left = 0;
          }
        }
        TaskLoopOptions inner;  // what measures the result is not cut short
        inner.steps = 3;
        const auto measured = task.loop(inner);
        while (measured->next()) ++after;
        task.save("weight", {{"weight", weight}});
      },
      false, {}, [&] { return left; });
  CHECK(summary["status"] == Value("stopped"));
  CHECK(summary["reason"] == Value("the time budget is used"));
  CHECK(summary["steps"] == Value(10));
  CHECK(summary["metrics"]["x"] == Value(9.0));
  CHECK(after == 3);
  CHECK(fs::exists(temporary.path() / "checkpoints/weight.safetensors"));
}

}  // namespace trainlab::task_test

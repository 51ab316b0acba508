// lab.task, its function written in C++.
#include <catch2/catch.hpp>

#include "data/dataset.h"
#include "support/fit_support.h"
#include "support/stand_in_device.h"
#include "task/task.h"
#include "tensor/types.h"

using namespace trainlab;
using namespace trainlab::test;

namespace {

const Registry& task_registry() {
  static const Registry registry = [] {
    Registry all;
    register_task(all);
    return all;
  }();
  return registry;
}

// Runs a task of this function in a folder of its own.
void run_task(const std::string& device, const std::function<void(TaskContext&)>& body) {
  auto spec = std::make_shared<Spec>();
  spec->value = task_registry().check(
      parse_json(R"({"@": "task", "name": "test", "run": {"@": "function", "index": 0}})", "test"), "task");
  spec->functions.push_back(native([&](std::span<const Argument> arguments) {
    body(dynamic_cast<TaskContext&>(*std::get<std::shared_ptr<Object>>(arguments.front())));
    return std::vector<Argument>{};
  }));
  const Options task(task_registry(), spec, "task");
  const TemporaryFolder folder;
  RunSettings settings;
  settings.device = device;
  settings.quiet = true;
  const StageContext context = quiet_context(folder.path(), settings);
  task_registry().implementation<StageKind>(task.entry()).prepare(task, settings)(context);
}

}  // namespace

TEST_CASE("task: batches come on the device of the run") {
  register_stand_in();
  const Part part = open_data(parse_options(R"({"@": "data.digits"})"), {.seed = 1}).train;
  for (const std::string device : {"cpu", "stand_in"}) {
    std::size_t columns = 0;
    run_task(device, [&](TaskContext& task) {
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
  CHECK_THROWS_WITH(run_task("cuda:7", [](TaskContext&) { FAIL("the task has begun"); }),
                    Catch::Contains("device cuda:7 is not there"));
}

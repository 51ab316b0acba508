// The timeline: which events there are and how they nest, what a recording keeps, and the file. Times come from a clock
// of the test's own where they matter.
#include "profile/timeline.h"

#include <ATen/ops/mm.h>
#include <ATen/ops/ones.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <set>
#include <span>
#include <string>

#include "core/clock.h"
#include "core/files.h"
#include "core/phase.h"
#include "core/value.h"
#include "support/fit_support.h"
#include "support/task_support.h"
#include "tensor/types.h"
#include "timeline/timeline_recorder.h"

namespace trainlab::timeline_test {

using namespace test;

namespace {

using Kind = TimelineEvent::Kind;

// Each look at the clock finds it a second later.
struct Ticks {
  double now = 0;
  double operator()() { return now++; }
};

std::string name_of(const Timeline& timeline, const TimelineEvent& event) { return timeline.names.at(event.name); }

void record_step(TimelineRecorder& recorder) {
  recorder.began(Phase::step, "");
  recorder.began(Phase::layer, "model[1].Linear");
  recorder.operation_began("aten::addmm");
  recorder.operation_ended();
  recorder.ended(Phase::layer, "model[1].Linear");
  recorder.ended(Phase::step, "");
}

}  // namespace

TEST_CASE("an event lasts from its beginning to its end, around those inside") {
  TimelineRecorder recorder(100'000, 8, Ticks());  // begins at 0
  record_step(recorder);
  const Timeline timeline = recorder.take();
  std::map<std::string, TimelineEvent> events;
  for (const TimelineEvent& event : timeline.events) events[name_of(timeline, event)] = event;
  CHECK(events.at("step").begin == 1);
  CHECK(events.at("model[1].Linear").begin == 2);
  CHECK(events.at("aten::addmm").begin == 3);
  CHECK(events.at("aten::addmm").value == 1);
  CHECK(events.at("aten::addmm").kind == Kind::operation);
  const auto end = [&](const char* name) { return events.at(name).begin + events.at(name).value; };
  CHECK(end("aten::addmm") < end("model[1].Linear"));
  CHECK(end("model[1].Linear") < end("step"));
  CHECK(timeline.steps == 1);
  CHECK(timeline.threads == std::vector<std::string>{"training"});
}

TEST_CASE("samples per second are those of a step and the time since the step before") {
  TimelineRecorder recorder(100'000, 8, Ticks());
  record_step(recorder);
  record_step(recorder);
  const Timeline timeline = recorder.take();
  std::vector<double> rates, ends;
  for (const TimelineEvent& event : timeline.events) {
    if (name_of(timeline, event) == "samples per second") rates.push_back(event.value);
    if (name_of(timeline, event) == "step") ends.push_back(event.begin + event.value);
  }
  REQUIRE(ends.size() == 2);
  REQUIRE(rates.size() == 1);
  CHECK(rates[0] == Approx(8 / (ends[1] - ends[0])).epsilon(0.3));  // a look at the clock lies between
}

TEST_CASE("the last events are kept, and a trace of 10,000 steps stays below 50 MB") {
  const TimelineLimits limits;
  TimelineRecorder recorder(limits.bytes, 8, steady_seconds);
  CHECK(!recorder.is_full());
  for (int step = 0; step < 10'000; ++step) {
    recorder.began(Phase::step, "");
    for (int i = 0; i < 50; ++i) {
      recorder.operation_began("autograd::engine::evaluate_function: AddmmBackward0");
      recorder.operation_ended();
    }
    recorder.ended(Phase::step, "");
  }
  CHECK(recorder.is_full());
  const Timeline timeline = recorder.take();
  CHECK(timeline.steps == 10'000);
  CHECK(timeline.events.size() > 200'000);
  CHECK(name_of(timeline, timeline.events.back()) == "samples per second");
  const TemporaryFolder folder;
  const std::filesystem::path path = folder.path() / "long.json";
  timeline.write(path);
  CHECK(std::filesystem::file_size(path) < 50'000'000);
  CHECK(parse_json(read_file(path), "trace")["traceEvents"].list().size() == timeline.events.size() + 2);
}

TEST_CASE("a trace holds no more bytes than it may, however long the names and the numbers in it are") {
  constexpr std::size_t most = 1'000'000, without_events = 1000;
  double now = 1e9;  // after 30 years
  TimelineRecorder recorder(most, 1e-300, [&now] { return now += 12'345.678901234; });
  for (int i = 0; i < 20'000; ++i) {
    recorder.began(Phase::step, "");
    recorder.began(Phase::layer, i % 2 == 0 ? "a" : std::string(2'000, '\n'));
    recorder.ended(Phase::layer, "");
    recorder.ended(Phase::step, "");
  }
  const Timeline timeline = recorder.take();
  CHECK(timeline.steps == 20'000);
  const TemporaryFolder folder;
  const std::filesystem::path path = folder.path() / "bounded.json";
  timeline.write(path);
  CHECK(std::filesystem::file_size(path) <= most + without_events);
  CHECK(std::filesystem::file_size(path) > most / 2);
  CHECK_NOTHROW(parse_json(read_file(path), "trace"));
}

TEST_CASE("a timeline begins with the work that came before its recording") {
  double now = 1000;
  TimelineRecorder recorder(100'000, 8, [&now] { return now; });
  recorder.add_past({{.begin = 990, .fetched = 991, .end = 993, .samples = 8},
                     {.begin = 993, .fetched = 993, .end = 995, .samples = 8},
                     {.phase = Phase::validate, .begin = 995, .fetched = 995, .end = 999}});
  recorder.began(Phase::step, "");
  now = 1002;
  recorder.ended(Phase::step, "");
  const Timeline timeline = recorder.take();
  struct Row {
    std::string name;
    double begin, value;
    bool operator==(const Row&) const = default;
  };
  std::vector<Row> rows;
  for (const TimelineEvent& event : timeline.events) {
    CHECK(event.thread == 0);
    if (name_of(timeline, event) != "tensor memory")
      rows.push_back({name_of(timeline, event), event.begin, event.value});
  }
  REQUIRE(rows.size() >= 6);
  CHECK(rows[0] == Row{"fetch", 0, 1});
  CHECK(rows[1] == Row{"step", 0, 3});
  CHECK(rows[2] == Row{"step", 3, 2});
  CHECK(rows[3] == Row{"samples per second", 5, 4});
  CHECK(rows[4] == Row{"validate", 5, 4});
  CHECK(rows[5] == Row{"step", 10, 2});
  CHECK(timeline.steps == 1);  // that were recorded
}

TEST_CASE("a timeline of a fit has its phases, layers and operators, the loader's threads, and its memory") {
  prepare_arithmetic(1);
  const Options options = parse_options(
      R"({"@": "fit", "name": "test", "data": {"@": "data.digits"}, "model": {"@": "nn.Sequential", "layers": [
          {"@": "nn.Flatten"}, {"@": "nn.Linear", "out_features": 8}, {"@": "nn.ReLU"},
          {"@": "nn.Linear", "out_features": 10}]}, "loss": "cross_entropy",
          "optim": {"@": "optim.SGD", "lr": 0.01}, "batch": 32, "steps": 30, "loader": {"threads": 1}})");
  FitPlan plan = plan_fit(options, {});
  InputListener* const before = plan.loader.listener;
  const Timeline timeline = record_timeline(plan, {.steps = 5});
  CHECK(plan.loader.listener == before);
  CHECK(timeline.steps == 5);
  std::set<std::string> layers, operators, phases, inputs, counters;
  for (const TimelineEvent& event : timeline.events) {
    const std::string name = name_of(timeline, event);
    switch (event.kind) {
      case Kind::layer: layers.insert(name); break;
      case Kind::operation: operators.insert(name); break;
      case Kind::phase: phases.insert(name); break;
      case Kind::input: inputs.insert(name); break;
      case Kind::counter: counters.insert(name); break;
      case Kind::recipe: break;
    }
    if (event.kind != Kind::input) CHECK(event.thread == 0);
    CHECK(event.value >= 0);
  }
  CHECK(layers.contains("fit.model[2].Linear"));
  CHECK(operators.contains("aten::addmm"));
  CHECK(operators.contains("AddmmBackward0"));
  CHECK(phases.contains("backward"));
  CHECK(inputs.contains("gather"));
  CHECK(counters == std::set<std::string>{"batches ready", "samples per second", "tensor memory"});
}

TEST_CASE("samples per second of a fit count the mean samples of a step") {
  prepare_arithmetic(1);
  // Each epoch has a step of 1,700 samples and one of 97.
  const Options options = parse_options(
      R"({"@": "fit", "name": "test", "data": {"@": "data.digits"}, "model": {"@": "nn.Sequential", "layers": [
          {"@": "nn.Flatten"}, {"@": "nn.Linear", "out_features": 10}]}, "loss": "cross_entropy",
          "optim": {"@": "optim.SGD", "lr": 0.01}, "batch": 1700, "steps": 30})");
  FitPlan plan = plan_fit(options, {});
  const Timeline timeline = record_timeline(plan, {.steps = 20});
  std::vector<double> samples;
  double last = -1;
  for (const TimelineEvent& event : timeline.events) {
    if (name_of(timeline, event) != "samples per second") continue;
    if (last >= 0) samples.push_back(event.value * (event.begin - last));
    last = event.begin;
  }
  REQUIRE(samples.size() == 18);
  std::ranges::nth_element(samples, samples.begin() + 9);
  CHECK(samples[9] == Approx(1797 / 2.0).epsilon(0.05));
}

TEST_CASE("the steps of a task's timeline are the passes through its loop") {
  Registry registry;
  register_task(registry);
  const auto task_of_passes = [&](std::int64_t passes) {
    return task_of(registry, [passes](TaskContext& task) {
      TaskLoopOptions options;
      options.steps = passes;
      const auto loop = task.loop(options);
      while (loop->next()) at::ones({8, 8}).mm(at::ones({8, 8}));
    });
  };
  const Timeline timeline = record_task_timeline(task_of_passes(1000), cpu_settings(), {.steps = 5});
  CHECK(timeline.steps == 5);
  std::int64_t steps = 0, products = 0;
  for (const TimelineEvent& event : timeline.events) {
    steps += name_of(timeline, event) == "step" ? 1 : 0;
    products += name_of(timeline, event) == "aten::mm" ? 1 : 0;
  }
  CHECK(steps == 5);
  CHECK(products == 5);
  CHECK(timeline.flame()["steps"] == Value(3));
  CHECK(record_task_timeline(task_of_passes(1), cpu_settings()).steps == 1);
  CHECK_THROWS_WITH(record_task_timeline(task_of_passes(0), cpu_settings()),
                    Catch::Contains("no pass through a loop of the task has ended"));
}

TEST_CASE("a loop within a step of a durable loop has no steps of its own") {
  Registry registry;
  register_task(registry);
  std::int64_t outer = 0;
  const Options task = task_of(registry, [&](TaskContext& by_hand) {
    const at::Tensor weight = at::ones({8, 8});
    TaskLoopOptions options;
    options.steps = 1000;
    options.save = {weight};
    for (const auto loop = by_hand.loop(options); loop->next(); ++outer) {
      TaskLoopOptions validation;
      validation.steps = 10;
      for (const auto inner = by_hand.loop(validation); inner->next();) weight.mm(weight);
    }
  });
  const Timeline timeline = record_task_timeline(task, cpu_settings(), {.steps = 4});
  CHECK(timeline.steps == 4);
  CHECK(outer == 4);
}

TEST_CASE("a flame chart has the last steps, each span with the number of spans around") {
  TimelineRecorder recorder(1'000'000, 8, Ticks());
  for (int i = 0; i < 5; ++i) record_step(recorder);
  recorder.began(Phase::step, "");
  recorder.operation_began("aten::never_ended");
  const Timeline timeline = recorder.take();
  const Value flame = timeline.flame({.steps = 2});
  CHECK(flame["steps"] == Value(2));
  CHECK(flame["left_out"] == Value(0));
  CHECK(flame["threads"] == Value(Value::List{"training"}));
  const auto name = [&](const Value& span) {
    return flame["names"].list().at(static_cast<std::size_t>(span.list()[3].integer())).string();
  };
  std::vector<std::string> names, kinds;
  std::vector<std::int64_t> depths;
  for (const Value& span : flame["spans"].list()) {
    names.push_back(name(span));
    depths.push_back(span.list()[1].integer());
    kinds.push_back(span.list()[2].string());
  }
  CHECK(names ==
        std::vector<std::string>{"step", "model[1].Linear", "aten::addmm", "step", "model[1].Linear", "aten::addmm"});
  CHECK(depths == std::vector<std::int64_t>{0, 1, 2, 0, 1, 2});
  CHECK(kinds == std::vector<std::string>{"phase", "layer", "operator", "phase", "layer", "operator"});
  // Times count from the first of these steps, to the end of the last.
  const Value::List& spans = flame["spans"].list();
  CHECK(spans[0].list()[4] == Value(0.0));
  CHECK(flame["seconds"].number() == spans[3].list()[4].number() + spans[3].list()[5].number());

  const Value longest = timeline.flame({.steps = 2, .spans = 4});
  CHECK(longest["left_out"] == Value(2));
  for (const Value& span : longest["spans"].list()) CHECK(span.list()[1].integer() < 2);
  CHECK(Timeline().flame().is_nil());
}

TEST_CASE("events nest in the file as they do in the recording") {
  Timeline timeline;
  timeline.threads = {"training"};
  timeline.names = {"inside", "around"};
  // Rounded by itself, the duration of the inner event would be as long as that of the outer one, which begins before.
  timeline.events = {{.name = 0, .begin = 0.6e-9, .value = 1.8e-9}, {.name = 1, .begin = 0, .value = 2.4e-9}};
  const TemporaryFolder folder;
  const std::filesystem::path path = folder.path() / "nested.json";
  timeline.write(path);
  const Value::List events = parse_json(read_file(path), "trace")["traceEvents"].list();
  REQUIRE(events.size() == 4);
  const Value &inside = events[2], &around = events[3];
  CHECK(inside["ts"] == Value(0.001));
  CHECK(inside["dur"] == Value(0.001));
  CHECK(around["ts"].number() == 0);
  CHECK(around["dur"] == Value(0.002));
}

TEST_CASE("names of any text are written as JSON") {
  TimelineRecorder recorder(10'000, 1, steady_seconds);
  recorder.began(Phase::layer, "a \"quoted\"\n\\name");
  recorder.ended(Phase::layer, "");
  const TemporaryFolder folder;
  const std::filesystem::path path = folder.path() / "names.json";
  recorder.take().write(path);
  const Value events = parse_json(read_file(path), "trace")["traceEvents"];
  bool found = false;
  for (const Value& event : events.list()) found = found || event["name"] == Value("a \"quoted\"\n\\name");
  CHECK(found);
}

}  // namespace trainlab::timeline_test

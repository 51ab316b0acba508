// The table of layers: arithmetic against closed forms and against the operators that run, to which layer the operators
// of the backward pass belong, sums. Times are added up, never compared with a limit.
#include <ATen/ops/matmul.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <functional>
#include <map>
#include <string>

#include "core/argument_table.h"
#include "core/clock.h"
#include "data/batch_object.h"
#include "layers/recording.h"
#include "model/module_object.h"
#include "objects/model_object.h"
#include "objects/run_handle.h"
#include "profile/layers.h"
#include "run/run.h"
#include "support/fit_support.h"
#include "support/stand_in_device.h"
#include "tensor/tensor_object.h"
#include "tensor/types.h"

namespace trainlab::layers_test {

using namespace test;

namespace {

LayerTable measured(const std::string& fit, const LayerSteps& steps,
                    std::vector<std::shared_ptr<Callable>> functions = {}, const std::string& device = "cpu") {
  prepare_arithmetic(1);
  const Options options = parse_options(fit, std::move(functions));
  RunSettings settings;
  settings.device = device;
  return measure_layers(plan_fit(options, settings), steps);
}

const LayerCost& row(const LayerTable& table, const std::string& path) {
  const auto found = std::ranges::find(table.rows, path, &LayerCost::path);
  if (found == table.rows.end()) FAIL("there is no row " << path);
  return *found;
}

double calls_of(const LayerCost& row, const std::string& name) {
  const auto found = std::ranges::find(row.operators, name, &OperatorCost::name);
  return found == row.operators.end() ? 0 : found->calls;
}

// The fit of this model on data of this source.
std::string fit_of(const std::string& layers, const std::string& more = "") {
  return R"({"@": "fit", "name": "test", "data": {"@": "data.digits"}, "model": {"@": "nn.Sequential", "layers": [)" +
         layers + R"(]}, "loss": "cross_entropy", "optim": {"@": "optim.SGD", "lr": 0.01}, "batch": 32, "steps": 30)" +
         more + "}";
}

template <class T>
std::shared_ptr<T> object(const Argument& argument) {
  return std::dynamic_pointer_cast<T>(std::get<std::shared_ptr<Object>>(argument));
}

void wait(double seconds) {
  for (const double end = steady_seconds() + seconds; steady_seconds() < end;) continue;
}

void step_of(Recording& recording, double seconds) {
  recording.began(Phase::step, {});
  wait(seconds);
  recording.ended(Phase::step, {});
}

}  // namespace

TEST_CASE("layers have the closed form of their arithmetic, also where the last batch of an epoch is smaller") {
  // 1438 samples make 23 batches, the last of 30. Of the counted steps, 3, 10, 13, … 48, number 45 has such a batch.
  const LayerTable table = measured(digits_fit(R"(, "steps": 60)"), {.first = 3, .count = 12});
  CHECK(table.steps == 12);
  const double samples = (11 * 64 + 30) / 12.0;
  CHECK(row(table, "fit.model[2].Linear").flops == Approx(samples * 2 * 2 * 64 * 24));  // no gradient of the input
  CHECK(row(table, "fit.model[5].Linear").flops == Approx(samples * 3 * 2 * 24 * 10));
  CHECK(row(table, "fit.model[3].ReLU").flops == 0);
  CHECK(row(table, "fit.model").calls == 1);
  CHECK(row(table, "optimizer").calls == 1);
  CHECK(row(table, "fetch").calls == 1);
}

TEST_CASE("a linear layer moves its matrices") {
  const LayerTable table = measured(fit_of(R"({"@": "nn.Flatten"}, {"@": "nn.Linear", "out_features": 48},
      {"@": "nn.Linear", "out_features": 10})"),
                                    {.first = 2, .count = 3});
  const auto& first = row(table, "fit.model[2].Linear");
  const double x = 32 * 64, w = 64 * 48, b = 48, y = 32 * 48;
  const auto found = std::ranges::find(first.operators, "aten::addmm", &OperatorCost::name);
  REQUIRE(found != first.operators.end());
  CHECK(found->bytes == 4 * (x + w + b + y));
  CHECK(found->flops == 2 * x * 48);
  CHECK(calls_of(first, "aten::mm") == 1);  // the gradient of the weight alone
  CHECK(calls_of(row(table, "fit.model[3].Linear"), "aten::mm") == 2);
  CHECK(calls_of(first, "aten::t") > 0);
  const auto view = std::ranges::find(first.operators, "aten::t", &OperatorCost::name);
  CHECK(view->bytes == 0);
  const auto whole = std::ranges::find(first.operators, "aten::linear", &OperatorCost::name);
  REQUIRE(whole != first.operators.end());
  CHECK(whole->bytes == 0);  // the product inside has moved all of it
  CHECK(whole->flops == 0);
  // The gradient of the bias: read [32, 48], written [48]; zeros that an operator inside has written count once.
  const auto sum = std::ranges::find(first.operators, "aten::sum", &OperatorCost::name);
  const auto filled = std::ranges::find(first.operators, "aten::fill_", &OperatorCost::name);
  REQUIRE(sum != first.operators.end());
  CHECK(sum->bytes + (filled == first.operators.end() ? 0 : filled->bytes) == 4 * (y + b));
}

TEST_CASE("each operator of the backward pass belongs to the layer whose forward pass it is of") {
  const std::string relu = R"({"@": "nn.ReLU"}, )", conv = R"({"@": "nn.Conv2d", "out_channels": 4, "kernel_size": 3,
      "padding": 1}, )",
                    flat = R"({"@": "nn.Flatten"}, )", linear = R"({"@": "nn.Linear", "out_features": 10})";
  const std::string heavy = R"({"@": "nn.Conv2d", "out_channels": 64, "kernel_size": 3, "padding": 1}, )";
  const std::vector<std::string> models = {
      flat + R"({"@": "nn.Linear", "out_features": 16}, )" + relu + R"({"@": "nn.Linear", "out_features": 512}, )" +
          relu + linear,
      conv + relu + heavy + relu + conv + flat + linear,
      conv + R"({"@": "nn.Residual", "body": [)" + conv + relu + R"({"@": "nn.Conv2d", "out_channels": 4,
          "kernel_size": 1}], "shortcut": {"@": "nn.Conv2d", "out_channels": 4, "kernel_size": 1}}, )" +
          flat + linear,
      R"({"@": "nn.Reshape", "shape": [8, 8]}, {"@": "nn.TransformerEncoderLayer", "num_heads": 2}, )"
      R"({"@": "nn.MultiheadAttention", "num_heads": 2, "causal": true}, )" +
          flat + linear,
      R"({"@": "nn.Reshape", "shape": [8, 8]}, {"@": "nn.Linear", "out_features": 5}, )"
      R"({"@": "nn.LSTM", "hidden_size": 6}, )" +
          flat + linear,
  };
  const std::string sam = R"({"@": "optim.SAM", "base": {"@": "optim.SGD", "lr": 0.1}})";
  for (const std::string& layers : models) {
    for (const bool evaluates_again : {false, true}) {
      std::string fit = fit_of(layers, R"(, "accumulate": 2, "clip": {"norm": 1})");
      const std::string sgd = R"({"@": "optim.SGD", "lr": 0.01})";
      if (evaluates_again) fit.replace(fit.find(sgd), sgd.size(), sam);
      const LayerTable table = measured(fit, {.first = 1, .count = 2});
      INFO(table.text(LayerView::layers));
      double all = 0;
      for (const LayerCost& one : table.rows) {
        if (!one.is_layer) continue;
        INFO(one.path);
        // From the shapes of the operators that were given to this row; and from the model alone.
        CHECK(one.operator_flops() == Approx(one.flops));
        CHECK(one.calls == (evaluates_again ? 4 : 2));
        all += one.flops;
      }
      CHECK(all > 0);
    }
  }
}

TEST_CASE("the rows add up to the step") {
  const LayerTable table =
      measured(digits_fit(R"(, "steps": 40, "clip": {"norm": 1}, "ema": {"@": "ema"})"), {.first = 2, .count = 8});
  double sum = 0;
  for (const LayerCost& one : table.rows) {
    double operators = 0;
    for (const OperatorCost& each : one.operators) operators += each.seconds;
    CHECK(operators <= one.seconds() * (1 + 1e-9));
    sum += one.seconds();
  }
  CHECK(sum == Approx(table.step_seconds).epsilon(1e-9));
  for (const char* path : {"loss", "backward", "gradients", "optimizer", "average", "fetch", "other"}) {
    CHECK_FALSE(row(table, path).is_layer);
    CHECK(row(table, path).calls == 1);
  }
  CHECK(row(table, "fit.model[2].Linear").backward > 0);
  CHECK(row(table, "fit.model[2].Linear").operators.front().seconds > 0);
  CHECK(row(table, "loss").backward > 0);
  double by_layer = 0, by_operator = 0;
  for (const LayerCost& one : table.rows)
    for (const OperatorCost& each : one.operators) by_layer += each.calls;
  for (const OperatorCost& each : table.operators()) by_operator += each.calls;
  CHECK(by_layer == Approx(by_operator));
}

TEST_CASE("work of each fourth step is counted") {
  std::string fit = fit_of(R"({"@": "nn.Flatten"}, {"@": "nn.Linear", "out_features": 10})");
  const std::string sgd = R"("optim.SGD")";
  fit.replace(fit.find(sgd), sgd.size(), R"("optim.SOAP", "precondition_frequency": 4)");
  const LayerTable table = measured(fit, {.first = 1, .count = 4});
  CHECK(calls_of(row(table, "optimizer"), "aten::linalg_qr") > 0);
}

TEST_CASE("layers and steps of the recipe's own have rows, with the arithmetic of their operators") {
  const auto forward = native([](std::span<const Argument> arguments) -> std::vector<Argument> {
    const auto self = object<ModuleObject>(arguments[0]);
    const at::Tensor x = object<TensorObject>(arguments[1])->tensor;
    return {std::make_shared<TensorObject>(at::matmul(x, self->parameters.at("w")))};
  });
  const LayerTable own_layer = measured(fit_of(R"({"@": "nn.Flatten"}, {"@": "nn.Linear", "out_features": 20},
      {"@": "nn.Module", "params": {"w": [20, 10]}, "forward": {"@": "function", "index": 0}})"),
                                        {.first = 1, .count = 3}, {forward});
  CHECK(row(own_layer, "fit.model[3].Module").flops == 3 * 2 * 32 * 20 * 10);
  CHECK(row(own_layer, "fit.model").flops == 0);

  const auto step = native([](std::span<const Argument> arguments) -> std::vector<Argument> {
    const auto run = object<RunHandle>(arguments[0]);
    const auto batch = object<BatchObject>(arguments[1]);
    const auto model = std::dynamic_pointer_cast<ModelObject>(run->models().at(""));
    const auto optimizer = std::dynamic_pointer_cast<OptimizerObject>(run->optimizers().at(""));
    const at::Tensor out = model->forward({&batch->columns.at("x"), 1}, Key(1));
    out.log_softmax(-1).gather(1, batch->columns.at("y").unsqueeze(1)).neg().mean().backward();
    optimizer->step();
    optimizer->zero_grad();
    return {};
  });
  const LayerTable own_step = measured(R"({"@": "fit", "name": "test", "data": {"@": "data.digits"}, "batch": 32,
      "steps": 20, "step": {"@": "function", "index": 0}, "optim": {"@": "optim.SGD", "lr": 0.1}, "model": {"@":
      "nn.Sequential", "layers": [{"@": "nn.Flatten"}, {"@": "nn.Linear", "out_features": 10}]}})",
                                       {.first = 1, .count = 3}, {step});
  const LayerCost& linear = row(own_step, "fit.model[2].Linear");
  CHECK(linear.flops == 2 * 2 * 32 * 64 * 10);
  CHECK(linear.flops == linear.operator_flops());
  CHECK(linear.calls == 1);
  const LayerCost& function = row(own_step, "own step");
  CHECK(calls_of(function, "aten::_log_softmax") == 1);
  CHECK(calls_of(function, "aten::_log_softmax_backward_data") == 1);
  CHECK(row(own_step, "optimizer").calls == 1);
}

TEST_CASE("a measurement writes nothing, and its table goes into a report") {
  const EmptyFolder folder;
  const LayerTable table = measured(digits_fit(R"(, "steps": 30)"), {.first = 1, .count = 2});
  CHECK(folder.is_empty());
  const Value value = table.to_value();
  CHECK(value["steps"] == Value(2));
  REQUIRE(value["layers"].is_list());
  const Value& first = value["layers"].list().at(2);
  CHECK(first["path"] == Value("fit.model[2].Linear"));
  for (const char* name : {"forward", "backward", "flops", "bytes", "calls", "flops_per_second", "bytes_per_second"})
    CHECK(first[name].is_number());
  CHECK(first["flops_per_second"].number() ==
        Approx(first["flops"].number() / (first["forward"].number() + first["backward"].number())));
  REQUIRE(first["operators"].is_list());
  CHECK(first["operators"].list().at(0)["name"].is_string());
  CHECK_THAT(table.text(LayerView::layers), Catch::Contains("fit.model[2].Linear"));
}

TEST_CASE("operators are shown together, and below each row") {
  LayerTable table;
  table.step_seconds = 0.01;
  table.rows = {
      {.path = "model[1].Linear",
       .forward = 0.002,
       .backward = 0.004,
       .operators = {{.name = "aten::t", .seconds = 0.00005, .calls = 1},
                     {.name = "aten::addmm", .seconds = 0.0059, .calls = 2},
                     {.name = "aten::view", .seconds = 0.00005, .calls = 3}}},
      {.path = "loss", .forward = 0.001, .operators = {{.name = "aten::addmm", .seconds = 0.001, .calls = 1}}}};
  CHECK(table.text(LayerView::operators) ==
        "operator               ms      %    calls   GFLOP/s      GB/s\n"
        "aten::addmm         6.900   69.0        3         -         -\n"
        "aten::t             0.050    0.5        1         -         -\n"
        "aten::view          0.050    0.5        3         -         -\n"
        "\n"
        "model[1].Linear     6.000   60.0\n"
        "  aten::addmm       5.900   59.0        2         -         -\n"
        "  2 others          0.100    1.0        4         -         -\n"
        "loss                1.000   10.0\n"
        "  aten::addmm       1.000   10.0        1         -         -\n");
}

TEST_CASE("a table says what its timing cost where that is known") {
  LayerTable table;
  table.step_seconds = 0.002;
  table.steps = 3;
  table.overhead = 0.25;
  CHECK_THAT(table.text(LayerView::layers),
             Catch::EndsWith(
                 "a step of 2.000 ms in the median, untimed; the timing of 3 others took 25.0 % more time, which is "
                 "left out\n"));
  CHECK(table.to_value()["overhead"] == Value(0.25));
  table.overhead.reset();
  CHECK_THAT(table.text(LayerView::layers), Catch::EndsWith("of 3 others took a time that is not known\n"));
  CHECK(table.to_value()["overhead"].is_nil());
  const auto overhead = [](std::vector<double> seconds, double plain, double reading) {
    const std::uint64_t readings = 20 * seconds.size();
    return TimedSteps{.seconds = std::move(seconds), .readings = readings}.overhead(plain, reading);
  };
  CHECK(overhead({5, 5, 5}, 4, 0.05) == 0.25);
  CHECK(overhead({5, 5}, 4, 0.05) == std::nullopt);     // two steps say nothing of it
  CHECK(overhead({5, 5, 5}, 6, 0.05) == std::nullopt);  // nor do steps on a busy machine
  CHECK(overhead({5, 5, 5}, 4, 0.04) == std::nullopt);  // whose timed steps may be the longer ones as well
}

TEST_CASE("a row keeps its part of the step, whatever has made the timed steps longer") {
  // Rows and operators of two steps each: the cost of the timing is not known.
  const LayerTable table = measured(digits_fit(R"(, "steps": 40)"), {.first = 2, .count = 2});
  CHECK_FALSE(table.overhead.has_value());
  double sum = 0;
  for (const LayerCost& one : table.rows) sum += one.seconds();
  CHECK(sum == Approx(table.step_seconds).epsilon(1e-9));
  for (const char* path : {"fit.model[2].Linear", "fit.model[3].ReLU", "fit.model[5].Linear", "optimizer", "fetch"})
    CHECK(row(table, path).seconds() > 0);
}

TEST_CASE("a short step is told in microseconds") {
  LayerTable table;
  table.step_seconds = 8e-7;
  table.rows = {
      {.path = "own step", .forward = 6e-7, .operators = {{.name = "aten::add", .seconds = 4e-7, .calls = 1}}},
      {.path = "other", .forward = 2e-7, .operators = {}}};
  CHECK_THAT(table.text(LayerView::layers),
             Catch::StartsWith("layer    forward µs backward µs      %    MFLOP   GFLOP/s      GB/s  % roof      kept\n"
                               "own step      0.600       0.000   75.0 "));
  CHECK_THAT(table.text(LayerView::layers), Catch::Contains("a step of 0.800 µs in the median, untimed; "));
  CHECK_THAT(table.text(LayerView::operators), Catch::StartsWith("operator           µs      %    calls"));
  CHECK_THAT(table.text(LayerView::operators), Catch::Contains("aten::add       0.400   50.0"));
  table.step_seconds = 1e-3;
  CHECK_THAT(table.text(LayerView::layers), Catch::StartsWith("layer    forward ms backward ms"));
}

TEST_CASE("a fit that is too short, and a device that the host's clock says nothing of, are refused") {
  const auto text = [](auto measure) { return error_of(measure); };
  CHECK(text([] { measured(digits_fit(R"(, "steps": 1)"), {.first = 5, .count = 2}); }) ==
        "the fit ended before its second step, and a first step is never timed");
  CHECK_THAT(text([] { measured(digits_fit(R"(, "steps": 30)"), {.first = 1, .count = 2, .longest = 0}); }),
             Catch::StartsWith("there was time for 0 steps of the fit beside cold ones, and at least 4 are needed"));
  register_stand_in();
  CHECK_THAT(text([] { measured(digits_fit(R"(, "steps": 9)"), {.first = 1, .count = 2}, {}, "stand_in:0"); }),
             Catch::StartsWith("layers can be measured on the CPU, found the device stand_in:0"));
}

TEST_CASE("a short fit is trained until each use has its steps, with cold steps in each training") {
  int starts = 0;
  const auto start = native([&](std::span<const Argument>) -> std::vector<Argument> {
    ++starts;
    return {};
  });
  const std::string of_three = digits_fit(R"(, "steps": 3, "on": {"start": {"@": "function", "index": 0}})");
  const LayerTable table = measured(of_three, {.first = 1, .count = 3}, {start});
  CHECK(starts == 7);  // with two steps each, of which each training gives to other uses than the one before
  CHECK(table.steps == 4);
  CHECK(table.cut_short.empty());
  CHECK(row(table, "fit.model[5].Linear").flops == Approx(64 * 3 * 2 * 24 * 10));
  CHECK(row(table, "optimizer").calls == 1);

  starts = 0;
  CHECK(measured(of_three, {.first = 5, .count = 1}, {start}).steps == 1);
  CHECK(starts == 1 + 3);  // all steps of the first training were cold
  // A measurement of 50 steps or more leaves some out, but not the only one of a run.
  CHECK(measured(digits_fit(R"(, "steps": 2)"), {.first = 1, .count = 50, .seconds = 0}).steps >= 3);
}

TEST_CASE("what ends a later training takes nothing of the earlier ones away") {
  int starts = 0;
  std::function<void()> at_second;
  const auto start = native([&](std::span<const Argument>) -> std::vector<Argument> {
    if (++starts == 2) at_second();
    return {};
  });
  const auto table = [&](int steps) {
    starts = 0;
    return measured(
        digits_fit(R"(, "on": {"start": {"@": "function", "index": 0}}, "steps": )" + std::to_string(steps)),
        {.first = 1, .count = 5}, {start});
  };
  at_second = [] { throw recipe_error("no second time"); };
  const LayerTable first = table(9);
  CHECK(first.steps == 2);
  CHECK_THAT(first.cut_short, Catch::Contains("no second time"));
  CHECK(row(first, "optimizer").calls == 1);
  CHECK_THAT(error_of([&] { table(4); }), Catch::Contains("no second time"));  // one of the four uses has no step yet

  at_second = request_stop;
  const LayerTable stopped = table(9);
  clear_stop_request();
  CHECK(starts == 2);
  CHECK(stopped.steps == 2);
  CHECK(stopped.cut_short == "asked to stop while layers were measured");
  CHECK(error_of([&] { table(4); }) == "asked to stop while layers were measured");
  clear_stop_request();
}

TEST_CASE("time ends a measurement that has what it needs, and any after longer") {
  const LayerSteps steps{.count = 20, .seconds = 1, .longest = 5};
  CHECK(steps.is_enough(20, 0));
  CHECK_FALSE(steps.is_enough(19, 1));
  CHECK(steps.is_enough(3, 1.1));
  CHECK_FALSE(steps.is_enough(2, 5));
  CHECK(steps.is_enough(0, 5.1));
}

TEST_CASE("a single step that waits long has no part in the rows") {
  Recording recording({.first = 0, .count = 3});
  recording.run_began();
  for (int step = 0; !recording.is_done(); ++step) {
    recording.began(Phase::step, {});
    recording.began(Phase::fetch, {});
    if (step < uses_of_steps) wait(0.05);  // the first step of each use
    recording.ended(Phase::fetch, {});
    recording.began(Phase::loss, {});
    wait(0.001);
    recording.ended(Phase::loss, {});
    recording.ended(Phase::step, {});
  }
  REQUIRE(recording.row_steps().seconds.size() == 3);
  const std::vector<PassTicks> ticks = recording.middle_ticks();
  std::map<std::string, std::uint64_t> of_row;
  for (std::size_t i = 0; i < ticks.size(); ++i) of_row[recording.rows()[i]->path] = ticks[i].forward.ticks;
  CHECK(of_row.at("loss") > of_row.at("fetch"));
}

TEST_CASE("work of each fifth step is a fifth of that work in the mean step, and a single long wait is none") {
  const auto steps = [](int count, int longer, double wait) {
    std::vector<UsedStep> all;
    for (int i = 0; i < count; ++i) {
      constexpr std::array uses{StepUse::rows, StepUse::operators, StepUse::plain, StepUse::counted};
      const StepUse use = uses[static_cast<std::size_t>(i) % uses.size()];
      const double median = use == StepUse::plain ? 1 : use == StepUse::rows ? 1.1 : 1.5;
      all.push_back({use, median * (i % 5 == 0 ? longer : 1) + (i == 200 ? wait : 0), i});
    }
    return all;
  };
  CHECK(*mean_over_median(steps(300, 11, 0), false) == Approx(3));
  CHECK(*mean_over_median(steps(300, 11, 1000), false) == Approx(3));
  CHECK(*mean_over_median(steps(300, 0, 0), false) == Approx(0.8));
  CHECK(*mean_over_median(steps(300, 1, 1000), false) == Approx(1));
  CHECK(mean_over_median(steps(80, 1, 0), false).has_value());
  CHECK_FALSE(mean_over_median(steps(79, 1, 0), false).has_value());
  CHECK_FALSE(mean_over_median({}, false).has_value());
}

TEST_CASE("the steps of a task that ends by itself are those of whole runs, and all count in the mean") {
  constexpr int length = 150;
  // Four steps at the end of each run are twenty times as long as the others; the uses come in another order in the
  // second run.
  std::vector<UsedStep> steps;
  for (int i = 0; i < 2 * length; ++i) {
    constexpr std::array uses{StepUse::rows, StepUse::operators, StepUse::plain, StepUse::counted};
    const StepUse use = uses[static_cast<std::size_t>(i + i / length) % uses.size()];
    const double longer = use == StepUse::plain ? 1 : use == StepUse::rows ? 1.1 : 1.5;
    steps.push_back({use, longer * (i % length >= length - 4 ? 20 : 1), i % length});
  }
  CHECK(*mean_over_median(steps, true) == Approx(1 + 19 * 4.0 / length));
  CHECK(*mean_over_median(steps, false) == Approx(1));
  // Counted steps have had more work than the others by chance, which shows where the same step was also left alone.
  steps.clear();
  for (int i = 0; i < length; ++i) {
    constexpr std::array uses{StepUse::counted, StepUse::rows, StepUse::operators};
    const double work = i % 3 == 0 ? 3 : 1;
    steps.push_back({StepUse::plain, work, i});
    steps.push_back({uses[static_cast<std::size_t>(i) % uses.size()], 2 * work, i});
  }
  CHECK(*mean_over_median(steps, true) == Approx(5.0 / 3));
  const auto runs_of = [](Recording& recording) {
    std::vector<int> lengths;
    while (!recording.is_done()) {
      recording.run_began();
      int step = 0;
      for (; step < length && !recording.is_done(); ++step) step_of(recording, 0);
      recording.run_ended();
      lengths.push_back(step);
    }
    return lengths;
  };
  Recording whole({.first = 2, .count = 40, .in_whole_runs = true});
  CHECK(runs_of(whole) == std::vector{length, length});
  CHECK(whole.has_whole_runs());
  Recording longer({.first = 2, .count = 20, .in_whole_runs = true});
  const std::vector<int> part = runs_of(longer);
  REQUIRE(part.size() == 1);
  CHECK(part[0] < length);
  CHECK_FALSE(longer.has_whole_runs());
  Recording late({.first = 2, .count = 40, .longest = 0, .in_whole_runs = true});
  CHECK(runs_of(late) == std::vector{1});
  CHECK_FALSE(late.has_whole_runs());
  Recording fit({.first = 2, .count = 40});
  CHECK(runs_of(fit).back() < length);
  CHECK_FALSE(fit.has_whole_runs());
}

TEST_CASE("a plain step of a long measurement comes after one that nothing listens to") {
  Recording recording({.first = 1, .count = 100});
  for (int run = 0; run < 3; ++run) {
    recording.run_began();
    bool was_left_out = false;
    for (int step = 0; step < 101; ++step) {
      const std::int64_t measured = recording.measured();
      const std::size_t plain = recording.plain().size();
      step_of(recording, 0);
      const bool is_left_out = recording.measured() == measured;
      if (step > uses_of_steps && recording.plain().size() > plain) CHECK(was_left_out);  // after the first round
      if (step > 0 && step <= uses_of_steps) CHECK_FALSE(is_left_out);
      was_left_out = is_left_out;
    }
  }
}

TEST_CASE("work of each second, fourth or hundredth step of a long measurement meets each use as often") {
  for (const int period : {2, 4, 5, 6, 10, 20, 100}) {
    Recording recording({.count = 1000});
    recording.run_began();
    std::map<StepUse, int> all, longer;
    for (int step = 0; !recording.is_done(); ++step) {
      const auto uses = [&] {
        return std::array{std::ssize(recording.counted()), std::ssize(recording.row_steps().seconds),
                          std::ssize(recording.operator_steps().seconds), std::ssize(recording.plain())};
      };
      const auto before = uses();
      recording.began(Phase::step, {});
      recording.ended(Phase::step, {});
      const auto after = uses();
      for (std::size_t i = 0; i < after.size(); ++i) {
        if (after[i] == before[i]) continue;
        ++all[static_cast<StepUse>(i)];
        if (step % period == period - 1) ++longer[static_cast<StepUse>(i)];
      }
    }
    REQUIRE(all.size() == uses_of_steps);
    for (const auto& [use, count] : all) {
      INFO("each of " << period << " steps, use " << static_cast<int>(use));
      const double share = 1.0 / period, deviation = std::sqrt(count * share * (1 - share));
      CHECK(longer[use] == Approx(count * share).margin(4 * deviation));
    }
  }
}

TEST_CASE("each step of a short training meets all uses in turn") {
  for (const std::int64_t length : {2, 4, 8, 9, 17}) {
    Recording recording({.first = 1, .count = 49});
    for (int run = 0; run < 4; ++run) {
      recording.run_began();
      for (std::int64_t step = 0; step < length; ++step) {
        recording.began(Phase::step, {});
        recording.ended(Phase::step, {});
      }
    }
    std::vector<std::int64_t> counted = recording.counted();
    std::ranges::sort(counted);
    std::vector<std::int64_t> each;
    for (std::int64_t step = 1; step < length; ++step) each.push_back(step);
    CHECK(counted == each);
    CHECK(recording.measured() == 4 * (length - 1));
  }
}

}  // namespace trainlab::layers_test

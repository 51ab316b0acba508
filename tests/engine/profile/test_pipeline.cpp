// The input pipeline stage by stage, on sources whose cost is a number: each thread has a clock that only the source
// moves on.
#include <ATen/ops/arange.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/scalar_tensor.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

#include "core/clock.h"
#include "data/batch_object.h"
#include "profile/pipeline.h"
#include "support/fit_support.h"
#include "tensor/safetensors.h"
#include "tensor/types.h"

namespace trainlab::pipeline_test {

using namespace test;
namespace fs = std::filesystem;

namespace {

thread_local double thread_seconds = 0;
double thread_clock() { return thread_seconds; }

// Row i has the byte i; reading takes 1 s, decoding 2 s, of row 17 it takes 50 s.
class CostlyRows final : public RowSource {
 public:
  at::ScalarType type() const override { return at::kByte; }
  Shape shape() const override { return {3, 4, 4}; }
  void make(std::int64_t row, std::byte* out) const override {
    {
      const InputSpan span(InputStage::read, 1);
      thread_seconds += 1;
    }
    const InputSpan span(InputStage::decode, 1);
    thread_seconds += row == 17 ? 50 : 2;
    std::memset(out, static_cast<int>(row), 3 * 4 * 4);
  }
  FilePlace place(std::int64_t row) const override { return {.name = "file " + std::to_string(row)}; }
};

Part costly(std::int64_t size) {
  Dataset data;
  data.size = size;
  Column x{"x", {}, at::scalar_tensor(1.0 / 255, at::kFloat), {}};
  x.source = std::make_shared<const CostlyRows>();
  data.columns = {std::move(x), {"y", at::arange(size, at::kLong), {}, {}}};
  return {std::make_shared<const Dataset>(std::move(data)), nullptr};
}

const StageCost* find(const std::vector<StageCost>& stages, InputStage stage) {
  const auto found = std::ranges::find(stages, stage, &StageCost::stage);
  return found == stages.end() ? nullptr : &*found;
}
const StageCost& stage(const PipelineTable& table, InputStage stage) {
  const StageCost* const found = find(table.stages, stage);
  if (!found) FAIL("there is no stage " << stage_name(stage));
  return *found;
}

PipelineWork all_of(std::int64_t samples) { return {.samples = samples, .seconds = 1e9, .slowest = 3}; }

}  // namespace

TEST_CASE("each stage counts the samples that pass it and its own time; the slow sample is named") {
  for (const int threads : {0, 1, 3}) {
    INFO(threads << " threads");
    const PipelineTable table = drain_pipeline(costly(64), {.batch = 8, .threads = threads}, all_of(64), thread_clock);
    CHECK(table.samples == 64);
    CHECK(table.made >= 64);
    if (threads == 0) CHECK(table.made == 64);
    CHECK(stage(table, InputStage::read).samples == table.made);
    CHECK(stage(table, InputStage::decode).samples == table.made);
    CHECK(stage(table, InputStage::gather).samples == table.made);
    CHECK(std::ssize(table.costs) == table.made);
    CHECK(stage(table, InputStage::read).seconds == static_cast<double>(table.made));
    const auto slow = std::ranges::count(table.costs, 17, &SampleCost::row);
    CHECK(stage(table, InputStage::decode).seconds == static_cast<double>(2 * table.made + 48 * slow));
    CHECK(stage(table, InputStage::gather).seconds == 0);
    CHECK((find(table.stages, InputStage::wait) != nullptr) == (threads > 0));
    CHECK(table.slowest_stage() == InputStage::decode);
    REQUIRE(table.slowest.size() == 3);
    CHECK(table.slowest[0].row == 17);
    CHECK(table.slowest[0].name == "file 17");
    CHECK(table.slowest[0].seconds == 51);
    CHECK_FALSE(table.threads_needed());
  }
}

TEST_CASE("the number of threads that feed a step follows from the costs") {
  PipelineTable table = drain_pipeline(costly(16), {.batch = 8, .threads = 0}, all_of(16), thread_clock);
  table.step_samples = 8;
  table.step_seconds = 5;  // 8 samples of 3 s
  CHECK(table.loader_seconds() == 24);
  CHECK(table.threads_needed() == 5);
  table.step_seconds = 24;
  CHECK(table.threads_needed() == 1);
  table.step_seconds = 23;
  CHECK(table.threads_needed() == 2);
  table.step_seconds = 100;
  CHECK(table.threads_needed() == 1);
  CHECK(table.to_value()["pipeline"]["feeds_step"] == Value(false));  // the step makes its batches itself
  table.threads = 1;
  const Value value = table.to_value()["pipeline"];
  CHECK(value["limits"] == Value("decode"));
  CHECK(value["threads_needed"] == Value(1));
  CHECK(value["feeds_step"] == Value(true));
  CHECK(value["decode"]["items"] == Value(16));
  CHECK(value["decode"]["items_per_second"] == Value(0.5));
  CHECK(value["sample"]["median"] == Value(3.0));
  CHECK(value["slowest"].list().front()["name"].is_string());
  CHECK(value["transform"].is_nil());
  CHECK_THAT(table.text(), Catch::Contains("\"decode\" takes longest"));
}

TEST_CASE("a slow sample that several epochs make is named once, with the time that it takes undisturbed") {
  const PipelineTable table = drain_pipeline(costly(64), {.batch = 8, .threads = 0}, all_of(3 * 64), thread_clock);
  CHECK(std::ranges::count(table.costs, 17, &SampleCost::row) == 3);
  REQUIRE(table.slowest.size() == 3);
  CHECK(table.slowest[0].row == 17);
  CHECK(table.slowest[0].seconds == 51);
  CHECK(table.slowest[1].row != 17);
  CHECK(table.slowest[2].row != 17);
  CHECK(table.slowest[1].row != table.slowest[2].row);
}

TEST_CASE("where an epoch reads from storage, the loader's reads count as long as cold reads take") {
  PipelineTable table = drain_pipeline(costly(16), {.batch = 8, .threads = 1}, all_of(16), thread_clock);
  table.step_samples = 8;
  table.step_seconds = 24;  // 8 samples of 3 s
  table.read_bytes = 1600;
  const auto limits = [&](FilesOfData files, std::optional<bool> is_cold) {
    table.files = files;
    table.storage = {.bytes = 100, .seconds = 50, .files = 10, .is_cold = is_cold};  // 5 s for a file
    return table.slowest_stage();
  };
  CHECK(limits({.bytes = 1e9, .room = 2e9, .kept = 1}, true) == InputStage::decode);
  CHECK(table.threads_needed() == 1);
  CHECK(limits({.bytes = 3e9, .room = 2e9, .kept = 1}, true) == InputStage::read);  // too large to be kept
  CHECK(table.loader_seconds() == 8 * (5 + 2));
  CHECK(table.threads_needed() == 3);
  CHECK(table.to_value()["pipeline"]["limits"] == Value("read"));
  CHECK(table.to_value()["pipeline"]["storage"]["cold_epochs"] == Value(true));
  CHECK_THAT(table.text(), Catch::Contains("room for 1.9 GiB: an epoch reads them from storage"));
  CHECK(limits({.bytes = 1e9, .room = 2e9, .kept = 0.5}, true) == InputStage::read);  // not kept yet
  CHECK(limits({.bytes = 1e9, .room = 2e9, .kept = std::nullopt}, true) == InputStage::decode);
  CHECK_THAT(table.text(), Catch::Contains("does not tell"));
  // Reads from the cache, or from nobody knows where, say nothing of storage.
  CHECK(limits({.bytes = 3e9, .room = 2e9, .kept = 1}, false) == InputStage::decode);
  CHECK(limits({.bytes = 3e9, .room = 2e9, .kept = 1}, std::nullopt) == InputStage::decode);
  CHECK(table.to_value()["pipeline"]["storage"]["cold"].is_nil());
}

TEST_CASE("batches are the same whether somebody listens or not") {
  const Part part = costly(40);
  for (const int threads : {0, 2}) {
    PipelineRecorder recorder(thread_clock);
    const LoaderOptions quiet{.batch = 7, .threads = threads};
    LoaderOptions heard = quiet;
    heard.listener = &recorder;
    Loader one(part, quiet, {Key(5)}, false), other(part, heard, {Key(5)}, false);
    one.seek(1, 14);
    other.seek(1, 14);
    for (int i = 0; i < 12; ++i) {
      const Batch a = one.next(), b = other.next();
      REQUIRE(a.position == b.position);
      REQUIRE(at::equal(a.index, b.index));
      for (std::size_t c = 0; c < a.columns.size(); ++c) REQUIRE(at::equal(a.columns[c], b.columns[c]));
    }
    CHECK(recorder.fill().size() == 12);
  }
}

TEST_CASE("augmentation and the recipe's transforms are stages; the queue is looked at for each batch") {
  prepare_arithmetic(1);
  const EmptyFolder folder;
  const auto same = native([](std::span<const Argument> arguments) -> std::vector<Argument> { return {arguments[0]}; });
  const Options fit = parse_options(R"({"@": "fit", "name": "test", "data": {"@": "data:transform", "source":
      {"@": "data:augment", "source": {"@": "data:split", "source": {"@": "data.digits"}, "train": 0.8, "val": 0.2},
      "entries": [{"@": "augment.noise"}]}, "run": {"@": "function", "index": 0}}, "model": {"@": "nn.Sequential",
      "layers": [{"@": "nn.Flatten"}, {"@": "nn.Linear", "out_features": 10}]}, "loss": "cross_entropy", "optim": {"@":
      "optim.SGD", "lr": 0.1}, "batch": 32, "steps": 60, "validate": "4 steps"})",
                                    {same});
  RunSettings settings;
  settings.device = "cpu";
  FitPlan plan = plan_fit(fit, settings);
  const PipelineTable table = measure_pipeline(plan, {.steps = 9, .samples = 500, .seconds = 1e9});
  CHECK(plan.loader.listener == nullptr);
  CHECK(folder.is_empty());
  CHECK(table.samples == 512);
  CHECK(stage(table, InputStage::transform).samples == 512);
  CHECK(stage(table, InputStage::augment).samples == table.made);
  CHECK(stage(table, InputStage::gather).samples == table.made);
  CHECK(find(table.stages, InputStage::decode) == nullptr);
  CHECK(plan.step_samples() < 32);  // the last step of an epoch has fewer
  CHECK(table.step_samples == plan.step_samples());
  CHECK(table.step_seconds > 0);
  CHECK(table.threads_needed() >= 1);
  // One step ends the measurement. Those that wait for the loader to start, and batches of validations, are not in it.
  CHECK(table.fill.size() == 10);
  for (const QueueFill& one : table.fill) {
    CHECK(one.ready >= 0);
    CHECK(one.ready <= one.capacity);
  }
  CHECK(table.to_value()["pipeline"]["queue"]["fill"].list().size() == 10);
}

TEST_CASE("what is forgotten is in no figure") {
  PipelineRecorder recorder(thread_clock);
  const auto wait = [&](double seconds, std::int64_t ready) {
    recorder.taking(ready, 255);
    recorder.began(InputStage::wait);
    thread_seconds += seconds;
    recorder.ended(InputStage::wait, 32);
    recorder.sample_began(7);
    recorder.sample_ended(7);
  };
  wait(50, 0);  // for the loader to start
  recorder.forget();
  wait(1, 200);
  wait(2, 210);
  REQUIRE(recorder.stages().size() == 1);
  CHECK(recorder.stages().front().stage == InputStage::wait);
  CHECK(recorder.stages().front().seconds == 3);
  CHECK(recorder.stages().front().samples == 64);
  CHECK(recorder.samples().size() == 2);
  REQUIRE(recorder.fill().size() == 2);
  CHECK(recorder.fill().front().ready == 200);
  CHECK(recorder.fill().front().seconds == 0);
}

TEST_CASE("images: files are read and decoded, named when they are slow, and read from storage") {
  prepare_arithmetic(1);
  const TemporaryFolder temporary;
  const NamedTensors golden = load_safetensors(TRAINLAB_SOURCE_DIR "/tests/golden/image_golden.safetensors").tensors;
  double bytes = 0;
  for (const std::string name : {"420.jpg", "444.jpg", "rgb.png"}) {
    for (const char* label : {"cat", "dog"}) {
      const at::Tensor& content = golden.at("file/" + name);
      fs::create_directories(temporary.path() / label);
      std::ofstream(temporary.path() / label / name, std::ios::binary)
          .write(static_cast<const char*>(content.const_data_ptr()), content.numel());
      bytes += static_cast<double>(content.numel());
    }
  }
  const Options data =
      parse_options(R"({"@": "data.images", "size": 16, "path": ")" + temporary.path().string() + "\"}");
  const Part part = open_data(data, {}).train;
  const PipelineTable table = drain_pipeline(part, {.batch = 2, .threads = 0}, all_of(6), thread_clock);
  CHECK(table.made == 6);
  CHECK(stage(table, InputStage::read).samples == 6);
  CHECK(stage(table, InputStage::decode).samples == 6);
  REQUIRE(table.slowest.size() == 3);
  for (const SlowSample& one : table.slowest) CHECK(fs::is_regular_file(one.name));

  std::vector<FilePlace> places;
  for (std::int64_t row = 0; row < part.size(); ++row) places.push_back(part.data->find("x")->source->place(row));
  CHECK(std::abs(table.read_bytes - bytes) < 0.5);
  const FilesOfData files = look_at_files(places, 60);
  CHECK(files.bytes == Approx(10 * bytes));
  CHECK(files.room > files.bytes);
  CHECK(files.kept == 1.0);  // they were written just now
  CHECK_FALSE(files.are_read_cold());
  const StorageSpeed speed = measure_storage(places);
  CHECK(speed.bytes == bytes);
  CHECK(speed.files == 6);
  CHECK(speed.is_cold.has_value());
  places.front().path += ".gone";
  CHECK_THAT(error_of([&] { measure_storage(places); }), Catch::Contains("cannot be read"));
  CHECK_THAT(error_of([&] { look_at_files(places, 60); }), Catch::Contains("cannot be read"));
}

}  // namespace trainlab::pipeline_test

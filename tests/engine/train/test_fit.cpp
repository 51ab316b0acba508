// Whole fits: resumed = uninterrupted, loader threads change nothing, group = separate, stops, failures, files that
// fail.
#include <catch2/catch.hpp>

#include <cmath>
#include <fstream>

#include "core/files.h"
#include "journal/checkpoint.h"
#include "support/fit_support.h"
#include "support/stand_in_device.h"
#include "tensor/device.h"
#include "tensor/safetensors.h"
#include "tensor/tensor_object.h"
#include "tensor/types.h"

namespace trainlab::fit_test {

using namespace test;
namespace fs = std::filesystem;

namespace {

// Names and bytes of the final checkpoint files' tensors.
std::map<std::string, std::string> tensor_files(const fs::path& folder) {
  std::map<std::string, std::string> files;
  for (const auto& entry : fs::directory_iterator(folder / "checkpoints")) {
    if (entry.path().extension() == ".safetensors") files[entry.path().filename()] = hash_file(entry.path());
  }
  return files;
}

// The newest `last` and the `best` weights, as hashes.
std::pair<std::string, std::string> final_weights(const fs::path& folder) {
  std::string last, best;
  for (const auto& [name, hash] : tensor_files(folder)) {
    if (name.starts_with("last-")) last = name + " " + hash;
    if (name.starts_with("best-")) best = name + " " + hash;
  }
  return {last, best};
}

constexpr const char* on_step = R"(, "on": {"step": {"@": "function", "index": 0}})";

}  // namespace

TEST_CASE("an interrupted fit continues to the same bytes") {
  const TemporaryFolder temporary;
  const std::string length =
      R"(, "epochs": 4, "stop": {"@": "stop.patience", "patience": 3},
         "schedule": {"@": "sched.cosine", "warmup": "10%"})";
  const Value whole = run_one(parse_options(digits_fit(length)), temporary.path() / "whole");
  REQUIRE(whole["status"] == Value("done"));
  for (const int threads : {1, 4}) {
    for (const std::int64_t step : {1, 17, 23, 24, 60}) {
      const fs::path folder = temporary.path() / (std::to_string(threads) + "-" + std::to_string(step));
      const std::string loader = R"(, "loader": {"threads": )" + std::to_string(threads) + "}";
      {
        const ClearStop clear;
        const Value part = run_one(parse_options(digits_fit(length + loader + on_step), {stop_at(step)}), folder);
        CHECK(part["status"] == Value("interrupted"));
        CHECK(part["steps"] == Value(step));
      }
      const Value rest = run_one(parse_options(digits_fit(length + loader)), folder, true);
      INFO("interrupted at step " << step << ", " << threads << " loader threads");
      CHECK(rest["status"] == Value("done"));
      CHECK(rest["resumed"].list().at(0) == Value(step));
      CHECK(final_weights(folder) == final_weights(temporary.path() / "whole"));
      CHECK(rows_without_seconds(folder) == rows_without_seconds(temporary.path() / "whole"));
      CHECK(rest["metrics"] == whole["metrics"]);
    }
  }
}

TEST_CASE("a group of members equals its members alone") {
  const TemporaryFolder temporary;
  const std::vector<double> rates{0.001, 0.005, 0.02};
  std::vector<Options> fits;
  for (std::size_t m = 0; m < rates.size(); ++m) {
    Value fit =
        parse_json(digits_fit(R"(, "epochs": 2, "precision": "float64", "seed": )" + std::to_string(m / 2 + 1)), "");
    Value optim = fit["optim"];
    optim.set("lr", rates[m]);
    fit.set("optim", optim);
    fits.push_back(parse_options(to_json(fit)));
  }
  const RunSettings settings = test_settings();
  std::vector<FitMember> members;
  for (std::size_t m = 0; m < fits.size(); ++m) {
    const fs::path folder = temporary.path() / ("member" + std::to_string(m));
    make_directories(folder);
    members.push_back({.options = fits[m], .context = quiet_context(folder, settings)});
  }
  const std::vector<Value> together = run_fits(plan_fit(members.front().options, settings), members, true);
  for (std::size_t m = 0; m < fits.size(); ++m) {
    const Value alone = run_one(fits[m], temporary.path() / ("alone" + std::to_string(m)));
    for (const auto& [name, value] : alone["metrics"].map()) {
      INFO("member " << m << " " << name);
      CHECK(together[m]["metrics"][name].number() == Approx(value.number()).epsilon(1e-9));
    }
    CHECK(together[m]["best"]["step"] == alone["best"]["step"]);
  }
}

TEST_CASE("members in float32 stay beside their solo runs for 100 steps") {
  const TemporaryFolder temporary;
  const RunSettings settings = test_settings();
  std::vector<FitMember> members;
  std::vector<Options> fits;
  for (int m = 0; m < 3; ++m) {
    fits.push_back(parse_options(digits_fit(R"(, "steps": 100, "seed": )" + std::to_string(m + 1))));
    const fs::path folder = temporary.path() / ("member" + std::to_string(m));
    make_directories(folder);
    members.push_back({.options = fits.back(), .context = quiet_context(folder, settings)});
  }
  const std::vector<Value> together = run_fits(plan_fit(members.front().options, settings), members, true);
  for (std::size_t m = 0; m < fits.size(); ++m) {
    const Value alone = run_one(fits[m], temporary.path() / ("alone" + std::to_string(m)));
    for (const char* name : {"train.loss", "val.loss", "test.loss"}) {
      INFO("member " << m << " " << name);
      CHECK(together[m]["metrics"][name].number() == Approx(alone["metrics"][name].number()).epsilon(1e-5));
    }
  }
}

namespace {

// The same numbers but on a GPU, whose kernels for products are chosen by the size of the stack.
void check_same_metrics(const Value& found, const Value& expected) {
  if (!test_device().is_cuda()) {
    CHECK(found == expected);
    return;
  }
  REQUIRE(found.map().size() == expected.map().size());
  for (const auto& [name, value] : expected.map())
    CHECK(found[name].number() == Approx(value.number()).epsilon(1e-3).margin(0.02));
}

}  // namespace

TEST_CASE("a member gives the same bytes whatever the size of its stack") {
  const TemporaryFolder temporary;
  const RunSettings settings = test_settings();
  const auto run = [&](int members) {
    std::vector<FitMember> all;
    for (int m = 0; m < members; ++m) {
      const fs::path folder = temporary.path() / (std::to_string(members) + "-" + std::to_string(m));
      make_directories(folder);
      all.push_back({.options = parse_options(digits_fit(R"(, "epochs": 2, "seed": )" + std::to_string(m + 1))),
                     .context = quiet_context(folder, settings)});
    }
    return run_fits(plan_fit(all.front().options, settings), all, true).front();
  };
  const Value alone = run(1);  // padded
  for (const int members : {2, 3, 8}) check_same_metrics(run(members)["metrics"], alone["metrics"]);
}

TEST_CASE("members that have ended leave their group, and the others do not notice") {
  const TemporaryFolder temporary;
  const RunSettings settings = test_settings();
  const auto run = [&](const std::string& name, bool stops) {
    std::vector<FitMember> all;
    for (int m = 0; m < 6; ++m) {
      const fs::path folder = temporary.path() / (name + std::to_string(m));
      make_directories(folder);
      // The first, third … stop at their first validation.
      const char* const stop =
          stops && m % 3 != 1 ? R"(, "stop": {"@": "stop.threshold", "metric": "val.accuracy", "above": 0.0})" : "";
      all.push_back({.options = parse_options(
                         digits_fit(R"(, "epochs": 3, "ema": {"@": "ema"}, "validate": "10 steps", "seed": )" +
                                    std::to_string(m + 1) + stop)),
                     .context = quiet_context(folder, settings)});
    }
    return run_fits(plan_fit(all.front().options, settings), all, true);
  };
  const std::vector<Value> whole = run("whole", false), left = run("left", true);
  for (std::size_t m = 0; m < 6; ++m) {
    INFO("member " << m);
    if (m % 3 == 1) {
      check_same_metrics(left[m]["metrics"], whole[m]["metrics"]);
      CHECK(left[m]["status"] == Value("done"));
      const fs::path rows = temporary.path() / ("left" + std::to_string(m)) / "metrics.jsonl";
      const std::string text = read_file(rows);
      CHECK(std::count(text.begin(), text.end(), '\n') == 7);
    } else {
      CHECK(left[m]["status"] == Value("stopped"));
      CHECK(left[m]["steps"] == Value(10));
      CHECK(left[m]["metrics"]["test.accuracy"].is_number());
    }
  }
}

TEST_CASE("a time budget ends the fit with all that a result needs") {
  const TemporaryFolder temporary;
  const Value summary = run_one(
      parse_options(
          digits_fit(R"(, "time": "1 s", "schedule": {"@": "sched.cosine", "warmup": "10%"}, "validate": "50 steps")")),
      temporary.path());
  CHECK(summary["status"] == Value("stopped"));
  CHECK(summary["reason"] == Value("its own time is used"));
  CHECK(summary["steps"].integer() > 0);
  // The schedule came to its end with the budget.
  const std::string rows = read_file(temporary.path() / "metrics.jsonl");
  const std::string last = rows.substr(rows.rfind('\n', rows.size() - 2) + 1);
  CHECK(parse_json(last, "metrics.jsonl")["lr"].number() < 0.05 * 0.005);
  for (const char* name : {"train.loss", "val.accuracy", "test.accuracy"}) CHECK(summary["metrics"][name].is_number());
  CHECK_THROWS_WITH(
      run_one(parse_options(digits_fit(R"(, "time": "1 s", "checkpoint": "10%")")), temporary.path() / "percent"),
      Catch::Contains("checkpoint") && Catch::Contains("a percentage of a known length"));
}

TEST_CASE("flops are a length") {
  const TemporaryFolder temporary;
  const auto run = [&](const std::string& length, const char* name) {
    return run_one(parse_options(digits_fit(length)), temporary.path() / name);
  };
  const Value epoch = run(R"(, "epochs": 1)", "epoch");
  const double sample = epoch["flops"].number() / epoch["samples"].number(), wanted = 2.5 * epoch["flops"].number();
  const Value fit = run(R"(, "flops": )" + number_text(wanted), "flops");
  CHECK(fit["status"] == Value("done"));
  // Two epochs of 1437 samples in 23 steps, and 11 batches of 64 of the next.
  CHECK(fit["steps"] == Value(57));
  CHECK(fit["flops"].number() <= wanted);
  CHECK(fit["flops"].number() > wanted - 64 * sample);
  CHECK_THAT(error_of([&] { run(R"(, "flops": 10)", "few"); }),
             Catch::Contains("flops: expected from " + number_text(64 * sample) +
                             ", the FLOPs of one step of 64 samples, to "));
  CHECK_THAT(error_of([&] { run(R"(, "flops": 1e300)", "many"); }), Catch::Contains("found 1e+300"));
  CHECK_THAT(error_of([&] { run(R"(, "flops": 1e9, "epochs": 2)", "both"); }),
             Catch::Contains("flops: expected either epochs or flops, found both"));
  CHECK_THAT(error_of([&] { run(R"(, "flops": -1)", "negative"); }), Catch::Contains("flops"));
}

TEST_CASE("a fit ends with all that a result needs when the time of its run is over") {
  const TemporaryFolder temporary;
  const RunSettings settings = test_settings();
  double left = 1000;
  std::int64_t steps = 0;
  const auto run = [&](const std::string& name, std::int64_t last) {
    const auto end_at = native([&, last](std::span<const Argument>) -> std::vector<Argument> {
      if (++steps == last) left = 0;
      return {};
    });
    FitMember member{.options = parse_options(digits_fit(R"(, "epochs": 50)" + std::string(on_step)), {end_at}),
                     .context = quiet_context(temporary.path() / name, settings)};
    make_directories(member.context.folder);
    member.context.seconds_left = [&] { return left; };
    return run_fits(plan_fit(member.options, settings), {&member, 1}, false).front();
  };
  const Value cut = run("cut", 30);  // between two validations
  CHECK(cut["status"] == Value("stopped"));
  CHECK(cut["reason"] == Value("the time budget is used"));
  CHECK(cut["steps"] == Value(30));
  for (const char* name : {"train.loss", "val.accuracy", "test.accuracy"}) CHECK(cut["metrics"][name].is_number());
  CHECK(CheckpointFolder::newest_step(temporary.path() / "cut" / "checkpoints") == 30);

  left = -5;  // a stage that begins too late still leaves a model
  const Value late = run("late", 0);
  CHECK(late["steps"] == Value(1));
  CHECK(late["metrics"]["test.accuracy"].is_number());
}

TEST_CASE("a member that stops early leaves the others as they were") {
  const TemporaryFolder temporary;
  const RunSettings settings = test_settings();
  const auto fit = [](const std::string& more) {
    return parse_options(digits_fit(R"(, "epochs": 3, "precision": "float64")" + more));
  };
  const fs::path a = temporary.path() / "a", b = temporary.path() / "b";
  make_directories(a);
  make_directories(b);
  const std::vector<FitMember> members{
      {.options = fit(R"(, "stop": {"@": "stop.threshold", "metric": "val.accuracy", "above": 0.01})"),
       .context = quiet_context(a, settings)},
      {.options = fit(""), .context = quiet_context(b, settings)}};
  const std::vector<Value> together = run_fits(plan_fit(members.front().options, settings), members, true);
  CHECK(together[0]["status"] == Value("stopped"));
  CHECK(together[0]["best"]["epoch"] == Value(1));
  CHECK(together[1]["status"] == Value("done"));
  const Value alone = run_one(fit(""), temporary.path() / "alone");
  CHECK(together[1]["metrics"]["val.loss"].number() == Approx(alone["metrics"]["val.loss"].number()).epsilon(1e-9));
}

TEST_CASE("a member that has stopped stays where it stopped when its group is resumed") {
  const TemporaryFolder temporary;
  const RunSettings settings = test_settings();
  const auto run = [&](const std::string& name, std::int64_t step, bool resumed) {
    const char* const rule = R"(, "stop": {"@": "stop.threshold", "metric": "val.accuracy", "above": 0.01})";
    std::vector<FitMember> all;
    for (const char* more : {rule, on_step}) {
      const fs::path folder = temporary.path() / (name + std::to_string(all.size()));
      make_directories(folder);
      all.push_back({.options = parse_options(digits_fit(R"(, "epochs": 3)" + std::string(more)), {stop_at(step)}),
                     .context = quiet_context(folder, settings, resumed)});
    }
    return run_fits(plan_fit(all.front().options, settings), all, true);
  };
  const std::vector<Value> whole = run("whole", 0, false);
  {
    const ClearStop clear;
    CHECK(run("cut", 40, false)[1]["status"] == Value("interrupted"));
  }
  const std::vector<Value> cut = run("cut", 0, true);
  for (const char* name : {"status", "steps", "samples", "metrics", "best"}) CHECK(cut[0][name] == whole[0][name]);
  CHECK(cut[0]["steps"] == Value(23));
  CHECK(rows_without_seconds(temporary.path() / "cut0") == rows_without_seconds(temporary.path() / "whole0"));
  CHECK(cut[1]["metrics"] == whole[1]["metrics"]);
}

TEST_CASE("a loss that is not finite fails the run and keeps what was good") {
  const TemporaryFolder temporary;
  Value fit = parse_json(digits_fit(R"(, "epochs": 5)"), "");
  Value optim;
  optim.set("@", "optim.SGD");
  optim.set("lr", 1e30);
  fit.set("optim", optim);
  const Value summary = run_one(parse_options(to_json(fit)), temporary.path());
  CHECK(summary["status"] == Value("failed"));
  // A device that works behind the program's back is not asked for its losses at each step.
  const bool at_once = device_at(test_device()).is_synchronous();
  CHECK_THAT(summary["reason"].string(), Catch::Contains(at_once ? "not finite at step" : "or before"));
}

TEST_CASE("a validation loss that is not finite fails the run, whatever is watched, and the best weights stay") {
  // In evaluation, which holds no gradients, the loss is NaN from the third validation on.
  const auto run = [](const std::string& more, const fs::path& folder) {
    int evaluations = 0;
    const auto loss = native([&](std::span<const Argument> arguments) -> std::vector<Argument> {
      const at::Tensor& out = dynamic_cast<TensorObject&>(*std::get<std::shared_ptr<Object>>(arguments[0])).tensor;
      at::Tensor value = out.square().mean();
      if (!out.requires_grad() && ++evaluations > 2) value = value.mul(std::nan(""));
      return {std::make_shared<TensorObject>(value)};
    });
    std::string json = digits_fit(R"(, "epochs": 5)" + more);
    json.replace(json.find(R"("cross_entropy")"), 15, R"({"@": "function", "index": 0})");
    return run_one(parse_options(json, {loss}), folder);
  };
  const TemporaryFolder temporary;
  for (const std::string monitor : {"val.loss", "val.accuracy", "train.loss"}) {
    INFO(monitor);
    const fs::path folder = temporary.path() / monitor;
    const Value summary = run(R"(, "monitor": ")" + monitor + "\"", folder);
    CHECK(summary["status"] == Value("failed"));
    CHECK(summary["reason"].string().find("the validation loss is not finite at step") == 0);
    CHECK(summary["best"]["epoch"].integer() <= 3);
    const std::string best = std::to_string(summary["best"]["step"].integer());
    CHECK(fs::exists(folder / "checkpoints" / ("best-" + std::string(9 - best.size(), '0') + best + ".safetensors")));
  }
  const Value stopped =
      run(R"(, "stop": [{"@": "stop.divergence", "metric": "val.loss"}])", temporary.path() / "stopped");
  CHECK(stopped["status"] == Value("stopped"));
}

TEST_CASE("a damaged checkpoint is passed over for the one before it") {
  const TemporaryFolder temporary;
  const std::string length = R"(, "epochs": 4, "checkpoint": "10 steps")";
  const Value whole = run_one(parse_options(digits_fit(length)), temporary.path() / "whole");
  const fs::path folder = temporary.path() / "part";
  {
    const ClearStop clear;
    run_one(parse_options(digits_fit(length + on_step), {stop_at(37)}), folder);
  }
  // Flip one byte in the middle of the newest tensors.
  const fs::path newest = folder / "checkpoints" / "last-000000037.safetensors";
  REQUIRE(fs::exists(newest));
  std::fstream file(newest, std::ios::in | std::ios::out | std::ios::binary);
  file.seekg(static_cast<std::streamoff>(fs::file_size(newest) / 2));
  const char byte = static_cast<char>(file.get());
  file.seekp(static_cast<std::streamoff>(fs::file_size(newest) / 2));
  file.put(static_cast<char>(byte ^ 1));
  file.close();

  std::string said;
  const RunSettings settings = test_settings();
  StageContext context = quiet_context(folder, settings, true);
  context.say_damage = [&said](const std::string& line) { said += line + "\n"; };
  const FitMember member{.options = parse_options(digits_fit(length)), .context = context};
  const Value rest = run_fits(plan_fit(member.options, settings), {&member, 1}, false).front();
  CHECK(said.find("last-000000037 is damaged") != std::string::npos);
  CHECK(rest["resumed"].list().at(0) == Value(30));
  CHECK(final_weights(folder) == final_weights(temporary.path() / "whole"));
}

TEST_CASE("when every checkpoint is damaged the fit starts anew, and that start is kept") {
  const TemporaryFolder temporary;
  const std::string length = R"(, "epochs": 4, "checkpoint": "10 steps")";
  run_one(parse_options(digits_fit(length)), temporary.path() / "whole");
  const fs::path folder = temporary.path() / "part";
  const auto interrupted_at = [&](std::int64_t step, bool resumed) {
    const ClearStop clear;
    return run_one(parse_options(digits_fit(length + on_step), {stop_at(step)}), folder, resumed);
  };
  interrupted_at(60, false);
  for (const auto& entry : fs::directory_iterator(folder / "checkpoints")) {
    if (entry.path().extension() == ".json") fs::resize_file(entry.path(), 10);
  }
  CHECK(interrupted_at(15, true)["resumed"].list().empty());
  const Value rest = run_one(parse_options(digits_fit(length)), folder, true);
  CHECK(rest["resumed"].list().at(0) == Value(15));
  CHECK(final_weights(folder) == final_weights(temporary.path() / "whole"));
}

namespace {

// Fails call N of the calls that write, with a full disk.
class FullDisk : public FileCalls {
 public:
  explicit FullDisk(int fail_at) : fail_at_(fail_at) {}
  int open(const fs::path& path, int flags, int mode) override {
    return fails() ? -1 : FileCalls::open(path, flags, mode);
  }
  std::int64_t write(int fd, std::string_view bytes) override { return fails() ? -1 : FileCalls::write(fd, bytes); }
  int sync(int fd) override { return fails() ? -1 : FileCalls::sync(fd); }
  int rename(const fs::path& from, const fs::path& to) override { return fails() ? -1 : FileCalls::rename(from, to); }
  int remove(const fs::path& path) override { return fails() ? -1 : FileCalls::remove(path); }
  bool reached() const { return calls_ >= fail_at_; }

 private:
  bool fails() {
    if (++calls_ != fail_at_) return false;
    errno = ENOSPC;
    return true;
  }
  int fail_at_;
  int calls_ = 0;
};

}  // namespace

TEST_CASE("whichever write fails, the fit can be continued to the same bytes") {
  const TemporaryFolder temporary;
  const std::string length = R"(, "epochs": 2, "checkpoint": "20 steps")";
  run_one(parse_options(digits_fit(length)), temporary.path() / "whole");
  const auto expected = final_weights(temporary.path() / "whole");
  bool reached = true;
  for (int n = 1; reached; ++n) {
    const fs::path folder = temporary.path() / std::to_string(n);
    make_directories(folder);
    {
      FullDisk disk(n);
      const ScopedFileCalls guard(disk);
      try {
        run_one(parse_options(digits_fit(length)), folder);
      } catch (const Error& error) {
        CHECK(error.kind() == ErrorKind::run);
      }
      reached = disk.reached();
    }
    run_one(parse_options(digits_fit(length)), folder, true);
    INFO("write call " << n << " failed");
    CHECK(final_weights(folder) == expected);
    fs::remove_all(folder);
  }
}

TEST_CASE("a checkpoint that this engine cannot restore is refused, and stays as it is") {
  const TemporaryFolder temporary;
  const Options fit = parse_options(digits_fit(R"(, "epochs": 1)"));
  const Value whole = run_one(fit, temporary.path());
  CheckpointFolder checkpoints(temporary.path() / "checkpoints", [](const std::string&) {});
  const Checkpoint written = checkpoints.newest().value();
  const std::string rows = read_file(temporary.path() / "metrics.jsonl");
  const auto refused = [&](const auto& change) {
    Checkpoint other = written;
    change(other);
    checkpoints.commit(other);
    try {
      run_one(fit, temporary.path(), true);
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::usage);
      CHECK(checkpoints.newest().value().step == written.step);
      CHECK(read_file(temporary.path() / "metrics.jsonl") == rows);
      return error.message();
    }
    return std::string("restored");
  };
  const std::string which = "the checkpoint of step " + std::to_string(written.step) + " has ";
  CHECK(refused([](Checkpoint& other) { other.info.set("lr", "fast"); }) ==
        which + "another kind of lr than this engine writes");
  CHECK_THAT(refused([](Checkpoint& other) {
               std::erase_if(other.tensors, [](const auto& named) { return named.first.starts_with("model."); });
             }),
             Catch::StartsWith(which + "weights and optimizer that this engine cannot restore: "
                                       "expected a tensor model."));
  checkpoints.commit(written);
  CHECK(run_one(fit, temporary.path(), true)["metrics"] == whole["metrics"]);
}

}  // namespace trainlab::fit_test

// A budget of memory that chooses among the options by itself: what it chooses, that the choice fits and could have
// been written, and the bytes in which fits with such a budget end.
#include <catch2/catch.hpp>
#include <cstdlib>

#include "core/bytes.h"
#include "core/duration.h"
#include "core/files.h"
#include "machine/product_times.h"
#include "memory/budget_variants.h"
#include "memory/within_budget.h"
#include "support/fit_support.h"
#include "tensor/free_memory.h"
#include "tensor/memory.h"
#include "tensor/safetensors.h"
#include "train/memory_prediction.h"

namespace trainlab::within_budget_test {

using namespace test;
namespace fs = std::filesystem;

namespace {

std::string fit_of(const std::string& layers, const std::string& more) {
  return R"({"@": "fit", "name": "test", "data": {"@": "data.digits"}, "loss": "cross_entropy", "steps": 3,
    "model": {"@": "nn.Sequential", "layers": [{"@": "nn.Flatten"}, )" +
         layers + R"(, {"@": "nn.Linear", "out_features": 10}]}, "precision": "float32")" + more + "}";
}

// Activations take most of a step: the gradients do not decide about a choice.
std::string deep(const std::string& more, int batch = 1024) {
  return fit_of(R"({"@": "nn.Repeat", "times": 12, "layer": {"@": "nn.Sequential", "layers":
      [{"@": "nn.Linear", "out_features": 64}, {"@": "nn.LayerNorm"}, {"@": "nn.Dropout", "p": 0.1}]}})",
                R"(, "optim": {"@": "optim.SGD", "lr": 0.1}, "batch": )" + std::to_string(batch) + more);
}

// Weights, their gradients and the optimizer's state take most of a step.
std::string wide(const std::string& more, const std::string& state = "") {
  return fit_of(R"({"@": "nn.Repeat", "times": 6, "layer": {"@": "nn.Linear", "out_features": 512}})",
                R"(, "optim": {"@": "optim.AdamW", "lr": 0.001)" + state + R"(}, "batch": 8)" + more);
}

std::string within(double bytes, const std::string& allow = "exact") {
  return R"(, "memory": {"budget": ")" + std::to_string(static_cast<std::int64_t>(bytes)) + R"( B", "allow": ")" +
         allow + "\"}";
}

FitPlan planned(const std::string& text) {
  count_tensor_memory();
  return plan_fit(parse_options(text), cpu_settings());
}

double peak_of(const std::string& text) { return static_cast<double>(predict_memory(planned(text)).memory.training()); }

std::string hash_of_last(const std::string& text) {
  const TemporaryFolder folder;
  run_one(parse_options(text), folder.path(), false, cpu_settings());
  for (const auto& entry : fs::directory_iterator(folder.path() / "checkpoints")) {
    const std::string name = entry.path().filename();
    if (name.starts_with("last-") && name.ends_with(".safetensors")) return hash_file(entry.path());
  }
  return "";
}

std::string value_of(const FitPlan& plan, const char* path) { return to_json(plan.chosen[path]); }

}  // namespace

TEST_CASE("a budget in which a plain step fits chooses nothing") {
  const FitPlan plan = planned(deep(within(1.1 * peak_of(deep("")))));
  CHECK(plan.recompute.empty());
  CHECK_FALSE(plan.fuse_step);
  CHECK_FALSE(plan.chunk_loss);
  REQUIRE(plan.notes.size() == 1);
  CHECK_THAT(plan.notes.front(), Catch::EndsWith(": no option is needed"));
}

TEST_CASE("an exact choice fits, is what a recipe could say, and ends in the bytes of the plain fit") {
  const double plain = peak_of(deep(""));
  const std::string whole = hash_of_last(deep(""));
  for (const double share : {0.85, 0.75, 0.6}) {
    INFO(share);
    const std::string text = deep(within(share * plain));
    const FitPlan plan = planned(text);
    CHECK_FALSE(plan.recompute.empty());
    CHECK(static_cast<double>(predict_memory(plan).memory.training()) <= 0.95 * share * plain);
    CHECK(static_cast<double>(plan.plain_training.value()) == Approx(plain).epsilon(0.01));
    REQUIRE(plan.notes.size() == 1);
    CHECK_THAT(plan.notes.front(), Catch::Contains("memory.recompute="));
    // Norms and dropout have no arithmetic; in the smallest budget, products are computed again too.
    if (share < 0.7) CHECK_THAT(plan.notes.front(), Catch::Contains("% more time (estimate)"));
    REQUIRE(value_of(plan, "memory.chunk_loss") == "false");
    CHECK(hash_of_last(text) == whole);
  }
}

TEST_CASE("gradients that make the peak are freed as they come") {
  const double plain = peak_of(wide("")), fused = peak_of(wide(R"(, "memory": {"fuse_step": true})"));
  REQUIRE(fused < 0.9 * plain);
  const std::string text = wide(within((fused + 0.02 * plain) / 0.95));
  const FitPlan plan = planned(text);
  CHECK(plan.fuse_step);
  CHECK(plan.recompute.empty());
  CHECK(value_of(plan, "memory.fuse_step") == "true");
  CHECK(hash_of_last(text) == hash_of_last(wide("")));
  // Functions of the recipe might read the gradients.
  const std::string on = R"(, "on": {"step": {"@": "function", "index": 0}})";
  const auto nothing = native([](std::span<const Argument>) { return std::vector<Argument>(); });
  const std::string with_function = wide(within((fused + 0.02 * plain) / 0.95) + on);
  CHECK_FALSE(plan_fit(parse_options(with_function, {nothing}), cpu_settings()).fuse_step);
}

TEST_CASE("a state that no cheaper option makes fit lies in a file, for a measured price") {
  const std::string whole = hash_of_last(wide(""));
  const double least = peak_of(wide(R"(, "memory": {"fuse_step": true, "offload": "optimizer"})"));
  REQUIRE(least < 0.5 * peak_of(wide("")));
  const std::string text = wide(within(least / 0.94));
  {
    const FitPlan plan = planned(text);
    CHECK(plan.offload_optimizer);
    CHECK(plan.fuse_step);
    CHECK(value_of(plan, "memory.offload") == "\"optimizer\"");
    CHECK(static_cast<double>(predict_memory(plan).memory.training()) <= least / 0.94);
    REQUIRE(plan.notes.size() == 1);
    CHECK_THAT(plan.notes.front(), Catch::Contains("memory.fuse_step=true, memory.offload=optimizer; about "));
  }  // gives its data back, which count in the budget of the next
  CHECK(hash_of_last(text) == whole);
  // What the recipe says itself is no choice.
  const FitPlan given = planned(wide(R"(, "memory": {"offload": "optimizer", "budget": ")" +
                                     std::to_string(static_cast<std::int64_t>(least / 0.94)) + " B\"}"));
  CHECK(given.offload_optimizer);
  CHECK(value_of(given, "memory.offload") == "null");
}

TEST_CASE("activations lie in a file where computing them again does not save enough") {
  const std::string whole = hash_of_last(deep(""));
  const double least = peak_of(deep(R"(, "memory": {"fuse_step": true, "offload": "activations"})"));
  const std::string text = deep(within(least / 0.94));
  const FitPlan plan = planned(text);
  CHECK(plan.offload_activations);
  CHECK(value_of(plan, "memory.offload") == "\"activations\"");
  CHECK(plan.recompute.empty());
  CHECK(hash_of_last(text) == whole);
  // An optimizer with a state makes the two files one choice.
  const std::string adam = R"(, "optim": {"@": "optim.AdamW", "lr": 0.001}, "batch": 512)";
  const std::string layers = R"({"@": "nn.Repeat", "times": 6, "layer": {"@": "nn.Linear", "out_features": 512}})";
  const auto large = [&](const std::string& more) { return fit_of(layers, adam + more); };
  const double both = peak_of(large(R"(, "memory": {"fuse_step": true, "offload": ["optimizer", "activations"]})"));
  const FitPlan small = planned(large(within((both + 1e4) / 0.94)));
  REQUIRE(small.offload_activations);
  CHECK_THAT(small.notes.front(), Catch::Contains(R"(memory.offload=["optimizer", "activations"])"));
  // With more room, computing again is cheaper.
  const double with_segments = peak_of(deep(R"(, "memory": {"recompute": "every 12", "fuse_step": true})"));
  REQUIRE(with_segments > least);
  CHECK_FALSE(planned(deep(within(with_segments / 0.94))).offload_activations);
}

TEST_CASE("what the recipe says about memory counts where nothing else is needed") {
  const std::string said = R"("fuse_step": true, "chunk_loss": true)";
  const double with = peak_of(wide(R"(, "memory": {)" + said + "}")), without = peak_of(wide(""));
  REQUIRE(with < 0.9 * without);
  std::string memory = within((with + 0.02 * without) / 0.95);
  memory.insert(memory.rfind('}'), ", " + said);
  const FitPlan plan = planned(wide(memory));
  CHECK(plan.fuse_step);
  CHECK(plan.chunk_loss);
  CHECK(static_cast<double>(predict_memory(plan).memory.training()) <= with + 0.02 * without);
  REQUIRE(plan.notes.size() == 1);
  CHECK_THAT(plan.notes.front(), Catch::Contains("with memory.fuse_step=true, memory.chunk_loss=true") &&
                                     Catch::Contains(" in place of " + memory_text(without)));
  CHECK_FALSE(corrected_choice(plan, parse_options(wide(memory)), cpu_settings()));
}

TEST_CASE("norms and activations are computed again for nothing where \"cheap\" would fit") {
  const auto gelu = [](const std::string& more) {
    return fit_of(R"({"@": "nn.Repeat", "times": 10, "layer": {"@": "nn.Sequential", "layers":
        [{"@": "nn.Linear", "out_features": 64}, {"@": "nn.GELU"}, {"@": "nn.Dropout", "p": 0.1}]}})",
                  R"(, "optim": {"@": "optim.SGD", "lr": 0.1}, "batch": 1024)" + more);
  };
  const bool chunks = GENERATE(false, true);
  const std::string chunk = chunks ? R"("chunk_loss": true, )" : R"("chunk_loss": false, )";
  const std::string fuse = R"("fuse_step": true, )" + chunk;
  // With the loss in chunks, "cheap" would name the layer that is computed with the loss: its other segments.
  const std::string cheap = chunks ? R"(["2.1.2-2.2.1", "2.2.2-2.3.1", "2.3.2-2.4.1", "2.4.2-2.5.1", "2.5.2-2.6.1",
                                        "2.6.2-2.7.1", "2.7.2-2.8.1", "2.8.2-2.9.1", "2.9.2-2.10.1"])"
                                   : R"("cheap")";
  const double bytes = peak_of(gelu(R"(, "memory": {)" + fuse + R"("recompute": )" + cheap + "}"));
  REQUIRE(bytes < 0.9 * peak_of(gelu(R"(, "memory": {"chunk_loss": )" + std::string(chunks ? "true}" : "false}"))));
  std::string memory = within((bytes + 1e4) / 0.95);
  memory.insert(memory.rfind('}'), ", " + chunk.substr(0, chunk.size() - 2));
  const FitPlan plan = planned(gelu(memory));
  REQUIRE_FALSE(plan.recompute.empty());
  CHECK(plan.chunk_loss == chunks);
  CHECK(flops_again(*plan.model, plan.recompute) == 0);
  REQUIRE(plan.notes.size() == 1);
  CHECK(plan.notes.front().find("more time") == std::string::npos);
  CHECK((plan.notes.front().find("memory.recompute=cheap") != std::string::npos) == !chunks);
  CHECK(static_cast<double>(predict_memory(plan).memory.training()) <= bytes + 1e4);
}

TEST_CASE("what the recipe says about memory stays") {
  const double plain = peak_of(wide("")), fused = peak_of(wide(R"(, "memory": {"fuse_step": true})"));
  std::string memory = within((fused + 0.02 * plain) / 0.95);
  REQUIRE(planned(wide(memory)).fuse_step);
  memory.insert(memory.rfind('}'), R"(, "fuse_step": false)");
  const FitPlan plan = planned(wide(memory));
  CHECK_FALSE(plan.fuse_step);
  CHECK(value_of(plan, "memory.offload") == "\"optimizer\"");
}

TEST_CASE("the least budget that is named is enough, and none far below is named") {
  const std::string text = deep(within(100'000));
  const std::string error = error_of([&] { planned(text); });
  const std::string begin = "expected at least ";
  const std::size_t at = error.find(begin);
  REQUIRE(at != std::string::npos);
  const std::string least = error.substr(at + begin.size(), error.find(',', at) - at - begin.size());
  CAPTURE(error);
  const auto bytes = bytes_of(least, 0);
  REQUIRE(bytes);
  CHECK_NOTHROW(planned(deep(within(static_cast<double>(*bytes)))));
  CHECK_THAT(error_of([&] { planned(deep(within(0.9 * static_cast<double>(*bytes)))); }), Catch::Contains(begin));
}

TEST_CASE("steps need no room for the batches of a test part, which are made when the training has ended") {
  const auto text = [](double budget) {
    std::string all = deep(within(budget) + R"(, "keep": "last")", 256);
    const std::string source = R"({"@": "data.digits"})";
    all.replace(all.find("\"steps\": 3"), 10, "\"steps\": 30");
    return all.replace(
        all.find(source), source.size(),
        R"({"@": "data:split", "source": {"@": "data.digits"}, "train": 0.3, "val": 0.05, "test": 0.65})");
  };
  const std::string error = error_of([&] { planned(text(100'000)); }), begin = "expected at least ";
  const std::size_t at = error.find(begin);
  REQUIRE(at != std::string::npos);
  const std::string least = error.substr(at + begin.size(), error.find(',', at) - at - begin.size());
  const auto budget = static_cast<double>(bytes_of(least, 0).value());
  const TemporaryFolder folder;
  const Value summary = run_one(parse_options(text(budget)), folder.path(), false, cpu_settings());
  CHECK(summary["status"] == Value("done"));
  CHECK(summary["memory"]["peak"].number() <= budget);
}

TEST_CASE("the batches of a test part, which is evaluated once, are made once however often a fit validates") {
  const auto bytes_with = [](const std::string& every) {
    std::string all = deep(R"(, "keep": "last", "validate": ")" + every + "\"", 256);
    all.replace(all.find("\"steps\": 3"), 10, "\"steps\": 200");
    const std::string source = R"({"@": "data.digits"})";
    all.replace(all.find(source), source.size(),
                R"({"@": "data:split", "source": {"@": "data.digits"}, "train": 0.35, "test": 0.65})");
    const FitPlan plan = planned(all);
    const std::int64_t before = live_tensor_bytes();
    return predict_memory(plan).memory.in_measures - before;
  };
  // Small tensors that come and go make some bytes of difference; the batches of one more evaluation are 300 kB.
  CHECK(std::abs(bytes_with("5 steps") - bytes_with("200 steps")) < 1000);
}

TEST_CASE("of a budget and the limit of the process, the smaller holds") {
  const double plain = peak_of(deep(""));
  const auto limit = static_cast<std::int64_t>(0.8 * plain);
  const Value chosen = planned(deep(within(static_cast<double>(limit)))).chosen;
  REQUIRE(chosen != planned(deep(within(2 * plain))).chosen);
  const std::string auto_recompute = R"(, "memory": {"recompute": "auto", "budget": "1 GB"})";
  const std::string auto_batch = R"(, "memory": {"budget": "1 GB"})";
  const auto with_auto_batch = [](std::string text) { return text.replace(text.find("1024"), 4, "\"auto\""); };
  REQUIRE(planned(deep(auto_recompute)).recompute.empty());
  const std::int64_t batch = planned(with_auto_batch(deep(auto_batch))).loader.batch;

  set_tensor_memory_limit(limit);
  const FitPlan plan = planned(deep(within(2 * plain)));
  CHECK(plan.budget == limit);
  CHECK(plan.chosen == chosen);
  CHECK(planned(deep(within(0.9 * static_cast<double>(limit)))).budget < limit);
  CHECK_FALSE(planned(deep(auto_recompute)).recompute.empty());
  CHECK(planned(with_auto_batch(deep(auto_batch))).loader.batch < batch);
  set_tensor_memory_limit(live_tensor_bytes() + 500'000);
  CHECK_THAT(error_of([&] { planned(deep(within(2 * plain))); }),
             Catch::StartsWith("fit.memory: expected at least ") && Catch::Contains("permits, found --memory "));
  set_tensor_memory_limit(0);
}

TEST_CASE("what changes the numbers needs to be allowed") {
  const double narrow = peak_of(wide(R"(, "memory": {"fuse_step": true})", R"(, "state": "bfloat16")")) / 0.94;
  CHECK(planned(wide(within(narrow))).offload_optimizer);
  const std::string close = wide(within(narrow, "close"));
  CHECK(value_of(planned(close), "optim.state") == "\"bfloat16\"");
  CHECK(hash_of_last(close) == hash_of_last(wide(R"(, "memory": {"fuse_step": true})", R"(, "state": "bfloat16")")));
  const double least = peak_of(wide(R"(, "memory": {"fuse_step": true})", R"(, "state": "8bit")")) / 0.94;
  CHECK(value_of(planned(wide(within(least, "any"))), "optim.state") == "\"8bit\"");
  CHECK_THAT(error_of([&] { planned(wide(within(least / 2, "any"))); }),
             Catch::Contains("allow = \"any\" permits") && Catch::Contains("hint: a smaller model"));
  CHECK_THAT(error_of([&] { planned(wide(within(least / 2))); }),
             Catch::Contains("fit.memory.budget: expected at least ") &&
                 Catch::Contains(R"(in which the training fits with options that allow = "exact" permits, found )"));
  std::string free = wide(within(least / 2, "any"));
  const std::string precision = R"(, "precision": "float32")";
  free.erase(free.find(precision), precision.size());
  CHECK_THAT(
      error_of([&] { planned(free); }),
      Catch::Contains(R"(hint: precision = { compute = "bfloat16", weights = "bfloat16" } with allow = "any" needs )"));
  // A state that the recipe says is not changed.
  const FitPlan given = planned(wide(within(least, "any"), R"(, "state": "bfloat16")"));
  CHECK(value_of(given, "optim.state") == "null");
  CHECK(given.offload_optimizer);
}

TEST_CASE("products in bfloat16 are chosen where this processor multiplies clearly faster in it") {
  const char* const before = std::getenv("XDG_CACHE_HOME");
  const std::string kept = before ? before : "";
  for (const double time : {0.5, 0.9, 3.0}) {
    INFO(time);
    const TemporaryFolder cache;
    setenv("XDG_CACHE_HOME", cache.path().c_str(), 1);
    relative_product_time(at::kBFloat16, {.folder = cache.path() / "trainlab", .measure = [time] {
                                            return ProductTimes{{"float32", 1}, {"bfloat16", time}, {"float16", 9}};
                                          }});
    const auto chosen = [](std::string fit) {
      const std::string precision = R"(, "precision": "float32")";
      fit.erase(fit.find(precision), precision.size());
      return value_of(planned(fit), "precision");
    };
    CHECK(chosen(deep(within(0.7 * peak_of(deep("")), "close"))) == (time < 0.8 ? "\"bfloat16\"" : "null"));
    // No processor is faster with small products in it.
    CHECK(chosen(deep(within(0.9 * peak_of(deep("", 8)), "close"), 8)) == "null");
  }
  kept.empty() ? unsetenv("XDG_CACHE_HOME") : setenv("XDG_CACHE_HOME", kept.c_str(), 1);
}

TEST_CASE("a smaller batch keeps the effective batch") {
  const double small = peak_of(deep(R"(, "accumulate": 32)", 32));
  CHECK_THAT(error_of([&] { planned(deep(within(small / 2))); }), Catch::Contains("allow = \"any\" needs "));
  const std::string text = deep(within(small / 0.94, "any"));
  const FitPlan plan = planned(text);
  CHECK(plan.loader.batch < 1024);
  CHECK(plan.loader.batch * plan.accumulate == 1024);
  CHECK(plan.length.batch == 1024);
  CHECK(static_cast<double>(predict_memory(plan).memory.training()) <= small / 0.94);
}

TEST_CASE("a step takes what is predicted, and leaves nothing behind") {
  for (const std::string& text : {deep(""), deep(R"(, "memory": {"recompute": "every 4"})"), wide(""),
                                  wide(R"(, "memory": {"fuse_step": true})", R"(, "state": "bfloat16")")}) {
    INFO(text);
    const FitPlan plan = planned(text);
    const std::int64_t before = live_tensor_bytes();
    const std::optional<TrainingMemory> measured = measured_memory(plan);
    REQUIRE(measured);
    CHECK(static_cast<double>(measured->step()) ==
          Approx(static_cast<double>(predict_memory(plan).memory.step())).epsilon(0.01));
    CHECK(live_tensor_bytes() == before);
  }
}

TEST_CASE("a request to stop ends the search for options") {
  const std::string budget = deep(within(0.8 * peak_of(deep(""))));
  request_stop();
  for (const std::string& text : {budget, deep(R"(, "memory": {"recompute": "auto", "budget": "1 MB"})")}) {
    try {
      planned(text);
      CHECK(false);
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::interrupted);
      CHECK_THAT(error.what(), Catch::StartsWith("asked to stop during the search for "));
    }
  }
  clear_stop_request();
}

TEST_CASE("a choice is corrected where predictions have missed something") {
  const double plain = peak_of(deep(""));
  const Options fit = parse_options(deep(within(0.8 * plain)));
  CHECK_FALSE(corrected_choice(plan_fit(fit, cpu_settings()), fit, cpu_settings()));
  const auto unpredicted = static_cast<std::int64_t>(plain / 20);
  CHECK(predict_memory(plan_within_budget(fit, cpu_settings(), nullptr, unpredicted)).memory.training() <=
        static_cast<std::int64_t>(0.95 * 0.8 * plain) - unpredicted);
}

TEST_CASE("a choice whose steps take more than was predicted is corrected, also where the process has the limit") {
  const double budget = 0.8 * peak_of(deep(""));
  std::string text = deep(within(budget));
  const std::string last = R"({"@": "nn.Linear", "out_features": 10})";
  text.insert(text.find(last),
              R"({"@": "nn.Scratch", "bytes": )" + std::to_string(static_cast<std::int64_t>(budget / 2)) + "}, ");
  const Options fit = parse_options(text);
  for (const double limit : {0.0, budget}) {
    INFO(limit);
    set_tensor_memory_limit(static_cast<std::int64_t>(limit));
    const FitPlan plan = plan_fit(fit, cpu_settings());
    const std::optional<FitPlan> again = corrected_choice(plan, fit, cpu_settings());
    const double first = static_cast<double>(predict_memory(plan).memory.training());
    const double second = again ? static_cast<double>(predict_memory(*again).memory.training()) : first;
    set_tensor_memory_limit(0);
    CHECK(second < first);
  }
}

TEST_CASE("a percentage is one of all that tensors may take, and a fit that goes on keeps its bytes") {
  const std::string text = deep(R"(, "memory": {"budget": "50%"})");
  count_tensor_memory();
  constexpr std::int64_t limit = std::int64_t{1} << 28;
  set_tensor_memory_limit(limit);
  const FitPlan plan = planned(text);
  CHECK(plan.budget == limit / 2);
  set_tensor_memory_limit(2 * limit);
  RunSettings settings = cpu_settings();
  settings.chosen = plan.chosen;
  const FitPlan resumed = plan_fit(parse_options(text), settings);
  CHECK(resumed.budget == limit / 2);
  CHECK(resumed.chosen == plan.chosen);
  std::string automatic = text;
  automatic.replace(automatic.find(R"("batch": 1024)"), 13, R"("batch": "auto")");
  const FitPlan sized = planned(automatic);
  CHECK(sized.budget == limit);
  settings.chosen = sized.chosen;
  set_tensor_memory_limit(limit);
  const FitPlan same_size = plan_fit(parse_options(automatic), settings);
  set_tensor_memory_limit(0);
  CHECK(same_size.budget == limit);
  CHECK(same_size.loader.batch == sized.loader.batch);
}

TEST_CASE("no measured time decides where one of the choices rounds otherwise") {
  const FitPlan plan = planned(wide(""));
  REQUIRE(can_chunk(plan));
  CHECK(byte_price_of(plan, Allow::exact, 1 << 24) == estimated_byte_price(plan));
  const FitPlan whole = planned(wide(R"(, "memory": {"chunk_loss": false})"));
  const double measured = byte_price_of(whole, Allow::exact, 1 << 24);
  CHECK(measured > 0);
  CHECK(measured != estimated_byte_price(whole));
}

TEST_CASE("a budget holds in validations too, which go in parts where a batch of them takes more than the steps") {
  const auto text = [](const std::string& more) {
    std::string all = fit_of(R"({"@": "nn.Linear", "out_features": 8192}, {"@": "nn.Tanh"})",
                             R"(, "optim": {"@": "optim.SGD", "lr": 0.1}, "batch": 8, "keep": "last")" + more);
    const std::string source = R"({"@": "data.digits"})";
    return all.replace(all.find(source), source.size(),
                       R"({"@": "data:split", "source": {"@": "data.digits"}, "train": 0.6, "val": 0.4})");
  };
  const TrainingMemory plain = predict_memory(planned(text(""))).memory;
  REQUIRE(plain.in_measures > plain.in_steps);
  const auto budget = static_cast<double>(plain.in_steps + (plain.in_measures - plain.in_steps) / 4) / 0.95;
  REQUIRE(budget < static_cast<double>(plain.in_measures));
  const TemporaryFolder folder;
  const Value summary = run_one(parse_options(text(within(budget))), folder.path(), false, cpu_settings());
  CHECK(summary["status"] == Value("done"));
  CHECK(summary["memory"]["peak"].number() <= budget);
  CHECK(summary["memory"]["peak"].number() > static_cast<double>(plain.in_steps) / 2);
  const TemporaryFolder whole;
  const Value free = run_one(parse_options(text("")), whole.path(), false, cpu_settings());
  CHECK(free["memory"]["peak"].number() > budget);
  CHECK(summary["metrics"]["val.loss"].number() == Approx(free["metrics"]["val.loss"].number()).epsilon(1e-5));
}

TEST_CASE("a fit that goes on keeps its choice") {
  RunSettings settings = cpu_settings();
  settings.chosen = Value::Map{{"memory.chunk_loss", false},
                               {"memory.fuse_step", false},
                               {"memory.recompute", Value::List{"2.1.1-2.6.3"}},
                               {"accumulate", 4},
                               {"batch", 128}};
  const FitPlan plan = plan_fit(parse_options(deep(within(1e9))), settings);
  CHECK(plan.loader.batch == 128);
  CHECK(plan.accumulate == 4);
  CHECK(plan.recompute.segments.size() == 1);
  CHECK(plan.budget == 1'000'000'000);
  CHECK(plan.chosen == settings.chosen);
}

TEST_CASE("a budget chooses only where a step can be predicted") {
  const auto nothing = native([](std::span<const Argument>) { return std::vector<Argument>(); });
  const std::string text = R"({"@": "fit", "name": "test", "data": {"@": "data.digits"}, "steps": 2,
    "loss": {"@": "function", "index": 0}, "model": {"@": "nn.Flatten"}, "optim": {"@": "optim.SGD", "lr": 0.1})";
  CHECK_THAT(error_of([&] { plan_fit(parse_options(text + within(1e6) + "}", {nothing}), cpu_settings()); }),
             Catch::Contains("fit.memory.budget: cannot tell what a step takes: the loss is a function of the recipe"));
  CHECK_THAT(error_of([&] { planned(deep(R"(, "memory": {"allow": "any"})")); }),
             Catch::Contains("fit.memory.allow: says which options a budget may choose, and there is no budget"));
}

}  // namespace trainlab::within_budget_test

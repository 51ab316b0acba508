// The details of a profile, beside its steps, reach the verdict, the text and the data.
#include <ATen/ops/mm.h>
#include <ATen/ops/ones.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <span>

#include "core/trace.h"
#include "profile/details.h"
#include "support/fit_support.h"
#include "support/task_support.h"
#include "tensor/types.h"

namespace trainlab::details_test {

using namespace test;

namespace {

constexpr std::int64_t mib = std::int64_t{1} << 20;

// So that the machine is not measured.
const ThreadFigures on_a_busy_machine{.seconds = 1, .waited = 0.5};

// Passes of 2 s with 100 GFLOP.
Profile passes() {
  Profile profile;
  profile.kind = "fit";
  profile.flops = 100e9;
  profile.steps.steps = 100;
  profile.steps.is_precise = true;
  profile.steps.mean = 2.1;
  profile.steps.self[static_cast<std::size_t>(Phase::forward)] = 0.5;
  profile.steps.self[static_cast<std::size_t>(Phase::loss)] = 0.5;
  profile.steps.self[static_cast<std::size_t>(Phase::backward)] = 1;
  profile.steps.self[static_cast<std::size_t>(Phase::optimizer)] = 0.1;
  return profile;
}

// A machine of 200 GFLOP/s and 20 GB/s under a step that moves 36 GB and needs 1 GiB.
ProfileDetails under_roofs() {
  ProfileDetails details;
  details.threads = 2;
  Roofline machine;
  const auto spread = [](double x) { return Quartiles{.median = x, .low = x, .high = x}; };
  machine.gemm = {{.type = "float32", .size = 512, .threads = 2, .flops_per_second = spread(200e9)},
                  {.type = "float64", .size = 512, .threads = 2, .flops_per_second = spread(100e9)}};
  machine.memory = {{.bytes = 512 * mib, .threads = 2, .bytes_per_second = spread(20e9)}};
  machine.cache = {{.bytes = 32 * mib, .threads = 1, .bytes_per_second = spread(100e9)}};
  details.machine = machine;
  LayerTable table;
  table.step_seconds = 2.1;
  for (int i = 1; i <= 10; ++i) {
    LayerCost row;
    row.path = "model[" + std::to_string(i) + "].Linear";
    row.is_layer = true;
    row.forward = 0.01 * i;
    row.backward = 0.02 * i;
    row.bytes = 3.6e9;
    row.operators = {{.name = "aten::addmm", .seconds = row.seconds(), .calls = 1, .bytes = 3.6e9, .flops = 10e9}};
    table.rows.push_back(row);
  }
  LayerCost optimizer;
  optimizer.path = "optimizer";
  optimizer.forward = 0.1;
  optimizer.bytes = 9e9;
  table.rows.push_back(optimizer);
  details.layers = table;
  RecordedMemory memory;
  memory.resident = 1500 * mib;
  memory.ledger.peak = 1024 * mib;
  memory.ledger.bytes[static_cast<std::size_t>(MemoryKind::activations)] = 1000 * mib;
  memory.ledger.bytes[static_cast<std::size_t>(MemoryKind::batches)] = 24 * mib;
  memory.ledger.phase = Phase::backward;
  memory.ledger.layer = "model[3].Linear";
  details.memory = memory;
  details.predicted.emplace();
  details.predicted->memory.ledger.peak = 1000 * mib;
  return details;
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("details: roofs and bytes tell compute from bandwidth") {
  ProfileDetails details = under_roofs();
  const Measures m = measures_of(passes(), details);
  CHECK(*m.flops == Approx(50e9));
  CHECK(*m.flops_roof == 200e9);
  CHECK(*m.bytes == Approx(18e9));  // of the layers, without the optimizer's
  CHECK(*m.bytes_roof == 20e9);
  CHECK(*m.memory_limited == 1);  // 0.18 s for the bytes of a layer, 0.05 s for its products
  CHECK(judge(m).bottleneck == Bottleneck::bandwidth);

  details.type = "float64";
  CHECK(*measures_of(passes(), details).flops_roof == 100e9);
  details.type = "float16";  // which was not measured
  CHECK_FALSE(measures_of(passes(), details).flops_roof);

  details.type = "float32";
  for (LayerCost& row : details.layers->rows)
    for (OperatorCost& one : row.operators) one.bytes /= 10;
  CHECK(judge(measures_of(passes(), details)).bottleneck == Bottleneck::compute);
}

TEST_CASE("details: operators with next to no bytes and products are limited by their calls") {
  Profile profile = passes();
  ProfileDetails details = under_roofs();
  for (LayerCost& row : details.layers->rows)
    for (OperatorCost& one : row.operators) one = {.name = one.name, .seconds = 0.02, .calls = 1000, .bytes = 1e6};
  const Measures m = measures_of(profile, details);
  CHECK(m.shares.forward + m.shares.backward == Approx(0).margin(1e-12));
  CHECK(m.shares.launch_gap == Approx(2.0 / 2.1));  // of the passes, not of the optimizer
  CHECK(judge(m).bottleneck == Bottleneck::launch);

  for (LayerCost& row : details.layers->rows)
    for (OperatorCost& one : row.operators) one.flops = 1000e6;  // 5 µs of the 20 µs of a call
  CHECK(judge(measures_of(profile, details)).bottleneck == Bottleneck::compute);
}

TEST_CASE("details: small operators that a function of the recipe calls cost their way through Lua too") {
  Profile profile = passes();
  profile.call_seconds = 1e-6;
  profile.steps.self = {};
  profile.steps.self[static_cast<std::size_t>(Phase::callback)] = 2.1;
  profile.steps.counted = 1;
  profile.steps.counted_self[static_cast<std::size_t>(Phase::callback)] = 2.1;
  profile.steps.operators[static_cast<std::size_t>(Phase::callback)] = {.calls = 500000, .seconds = 0.6};
  ProfileDetails details = under_roofs();
  LayerCost own;
  own.path = "own step";
  own.operators = {{.name = "aten::add", .seconds = 0.6, .calls = 500000, .bytes = 4e6}};
  details.layers->rows = {own};
  const Shares shares = measures_of(profile, details).shares;
  CHECK(shares.launch_gap == Approx((0.6 + 2 * 0.5) / 2.1));
  CHECK(shares.recipe == Approx(0.5 / 2.1));
}

TEST_CASE("details: memory does not limit a step whose tensors fit the L2 caches") {
  ProfileDetails details = under_roofs();
  CHECK_FALSE(details.fits_cache());
  MemoryLedger& ledger = details.memory->ledger;
  ledger.peak = 80 * mib;
  CHECK(details.fits_cache());  // without the batches, which are read once
  CHECK_FALSE(measures_of(passes(), details).bytes_roof);
  CHECK(contains(details_text(passes(), details, DetailView::heaviest), "fit the L2 caches"));
  CHECK(details_value(passes(), details)["roofline"]["bytes_roof"].is_nil());
  details.machine->cache.clear();  // unknown
  CHECK_FALSE(details.fits_cache());
}

TEST_CASE("details: the slowest stage of the input reaches the verdict") {
  Profile profile = passes();
  profile.steps.mean = 10;
  profile.steps.self[static_cast<std::size_t>(Phase::fetch)] = 7.9;
  ProfileDetails details;
  details.pipeline.emplace();
  details.pipeline->threads = 1;
  details.pipeline->seconds = 1;
  details.pipeline->samples = details.pipeline->made = 8;
  details.pipeline->stages = {{.stage = InputStage::read, .seconds = 0.1, .samples = 8},
                              {.stage = InputStage::decode, .seconds = 0.8, .samples = 8},
                              {.stage = InputStage::gather, .seconds = 0.05, .samples = 8}};
  const StepVerdict verdict = judge(measures_of(profile, details));
  CHECK(verdict.bottleneck == Bottleneck::input);
  REQUIRE(verdict.evidence.size() > 1);
  CHECK(verdict.evidence[1] == "The slowest stage of the input is decode.");
  CHECK(contains(details_text(profile, details, DetailView::heaviest), "decode"));
  CHECK(details_value(profile, details)["pipeline"]["limits"] == Value("decode"));
}

TEST_CASE("details: the text has the heaviest layers, all layers or all operators") {
  const ProfileDetails details = under_roofs();
  const std::string heaviest = details_text(passes(), details, DetailView::heaviest);
  CHECK(contains(heaviest, "8 of 11 rows"));
  CHECK(heaviest.find("model[10].Linear") < heaviest.find("model[9].Linear"));
  CHECK_FALSE(contains(heaviest, "model[1].Linear"));
  CHECK(
      contains(heaviest, "memory           a step 1 GiB at its peak, in backward of model[3].Linear; 1000 MiB were "));
  CHECK(contains(heaviest, "with 2 threads 200 GFLOP/s in float32 (25 % used), 20 GB/s of memory (90 % used)\n"));
  const std::string all = details_text(passes(), details, DetailView::layers);
  CHECK(contains(all, "model[1].Linear"));
  CHECK_FALSE(contains(all, "of 11 rows"));
  CHECK(contains(details_text(passes(), details, DetailView::operators), "operator "));
}

TEST_CASE("details: a layer has its share of the roof and what it keeps for the backward pass") {
  ProfileDetails details = under_roofs();
  details.memory->ledger.layers = {{.path = "model[10].Linear", .activations = 600 * mib}};
  const LayerTable table = details.layers_with_roofs();
  CHECK(*table.rows[9].roof_share == Approx(0.18 / 0.3));  // of the bytes, which take longer than the products
  CHECK(*table.rows[9].activations == 600 * mib);
  CHECK(*table.rows[8].activations == 0);
  CHECK_FALSE(table.rows[10].activations);  // the optimizer, which is no layer
  CHECK_FALSE(table.rows[10].roof_share);
  const std::string text = details_text(passes(), details, DetailView::layers);
  CHECK(contains(text, "  % roof      kept\n"));
  const std::string row = text.substr(text.find("model[10].Linear"));
  CHECK(row.substr(0, row.find('\n')).ends_with("      60   600 MiB"));
  const Value layers = details_value(passes(), details)["layers"];
  CHECK(layers.list()[9]["roof_share"].number() == Approx(0.6));
  CHECK(layers.list()[9]["activations"] == Value(600 * mib));
  details.machine.reset();
  CHECK(details_value(passes(), details)["layers"].list()[9]["roof_share"].is_nil());
}

TEST_CASE("details: the utilization of the machine's FLOP/s is of the whole step, or unknown") {
  ProfileDetails details = under_roofs();
  CHECK(contains(details_text(passes(), details, DetailView::heaviest),
                 "\nMFU              23.8 % of the machine's FLOP/s, over the whole step\n"));
  CHECK(details_value(passes(), details)["mfu"].number() == Approx(100.0 / 2.1 / 200));
  details.machine.reset();
  CHECK(contains(details_text(passes(), details, DetailView::heaviest),
                 "\nMFU              unknown: the machine's peak is not\n"));
  CHECK(details_value(passes(), details)["mfu"].is_nil());
  CHECK_FALSE(contains(details_text(Profile(), {}, DetailView::heaviest), "MFU"));  // without a step
}

TEST_CASE("details: a step that holds no tensor has no line of categories") {
  ProfileDetails details;
  details.memory.emplace();
  const std::string text = details_text(Profile(), details, DetailView::heaviest);
  CHECK(text.starts_with("memory "));
  CHECK(text.find('\n') + 1 == text.size());
}

TEST_CASE("details: the median of a step says over what it is") {
  Profile profile = passes();
  profile.steps.step = {.median = 218e-6, .low = 217e-6, .high = 219e-6};
  profile.steps.has_interval = true;
  profile.steps.block = 0.05;
  const auto text = [&] { return profile_text(profile, measures_of(profile)); };
  CHECK(contains(text(), "step             218 µs, the median over blocks of 50 ms (217 µs to 219 µs with 95 % "));
  profile.steps.step = {.median = 0.2, .low = 0.1, .high = 0.3};  // a block has one step
  CHECK(contains(text(), "step             200 ms, the median (100 ms to 300 ms with 95 % probability)\n"));
}

TEST_CASE("details: large figures have no exponents") {
  ProfileDetails details = under_roofs();
  details.machine->gemm[0].flops_per_second.median = 2e12;
  LayerCost& row = details.layers->rows[9];
  row.flops = 3.216e9;
  row.operators[0].calls = 1200;
  Profile profile = passes();
  profile.steps.step = {.median = 0.9996e-3, .low = 0.9996e-3, .high = 0.9996e-3};
  profile.flops = 4e12;
  const std::string text = profile_text(profile, measures_of(profile, details)) +
                           details_text(profile, details, DetailView::layers) +
                           details_text(profile, details, DetailView::operators);
  CHECK_FALSE(contains(text, "e+"));
  CHECK(contains(text, "2000 GFLOP/s"));
  CHECK(contains(text, " 3216 "));
  CHECK(contains(text, " 1209 "));  // the calls of all rows
  CHECK(contains(text, "1000 µs"));
}

TEST_CASE("details: of the steps of a real fit") {
  RunSettings settings = cpu_settings();
  const Options fit = parse_options(digits_fit(R"(, "steps": 200)"));
  const ProfileOptions options{.seconds = 2};
  const Profile profile = profile_stage(fit, settings, options);
  const ProfileDetails details = measure_details(profile, fit, settings, options);
  REQUIRE(details.layers);
  double sum = 0;
  for (const LayerCost& row : details.layers->rows) sum += row.seconds();
  CHECK(sum == Approx(details.layers->step_seconds).epsilon(0.01));
  REQUIRE(details.memory);
  CHECK(details.memory->ledger.peak > 0);
  CHECK(details.predicted->memory.step() > 0);
  CHECK(measures_of(profile, details).bytes);
}

TEST_CASE("details: of a task the roof is that of the numbers with which its loop computes") {
  for (const at::ScalarType type : {at::kDouble, at::kFloat}) {
    Registry registry;
    register_task(registry);
    const Options task = task_of(registry, [type](TaskContext& by_hand) {
      TaskLoopOptions options;
      options.steps = 2000;
      const at::Tensor weight = at::ones({64, 64}, type);
      const auto loop = by_hand.loop(options);
      while (loop->next()) at::ones({64, 64}, type).mm(weight);
    });
    const Profile profile = profile_stage(task, cpu_settings(), {.seconds = 0.3});
    CHECK(measure_details(profile, task, cpu_settings(), {.seconds = 2}).type == dtype_name(type));
  }
}

TEST_CASE("details: a short fit has at least three steps of each use, and says why it has no more") {
  int starts = 0;
  const auto start = native([&](std::span<const Argument>) -> std::vector<Argument> {
    if (++starts == 9) throw recipe_error("no ninth time");
    return {};
  });
  const Options fit =
      parse_options(digits_fit(R"(, "steps": 3, "on": {"start": {"@": "function", "index": 0}})"), {start});
  Profile profile = passes();
  profile.steps.thread = on_a_busy_machine;
  profile.steps.mean = 1e-3;
  const ProfileDetails details = measure_details(profile, fit, test_settings(), {.seconds = 60});
  REQUIRE(details.layers);
  CHECK(details.layers->steps >= 3);
  REQUIRE_FALSE(details.missing.empty());
  CHECK(contains(details.missing.front(), "more steps of the layers: "));
  CHECK(contains(details.missing.front(), "no ninth time"));
}

TEST_CASE("details: a task that waits for its input is told why its stages are not measured") {
  Registry registry;
  register_task(registry);
  const Options task = task_of(registry, [](TaskContext& by_hand) {
    TaskLoopOptions options;
    options.steps = 60;
    const auto loop = by_hand.loop(options);
    while (loop->next()) at::ones({8, 8}).mm(at::ones({8, 8}));
  });
  Profile profile = passes();
  profile.kind = "task";
  profile.steps.thread = on_a_busy_machine;
  profile.steps.mean = 1e-4;
  const auto told = [&] {
    const std::vector<std::string> missing = measure_details(profile, task, cpu_settings(), {.seconds = 5}).missing;
    return std::ranges::any_of(missing, [](const std::string& one) {
      return one.starts_with("pipeline: the stages of the input are measured of a fit's data alone");
    });
  };
  CHECK_FALSE(told());
  profile.steps.self[static_cast<std::size_t>(Phase::fetch)] = 1e-4;
  CHECK(told());
}

TEST_CASE("details: what cannot be measured is missing with the reason") {
  Profile profile = passes();
  const Options fit = parse_options(digits_fit(R"(, "steps": 1)"));
  profile.steps.mean = 1e-6;
  const ProfileDetails details = measure_details(profile, fit, test_settings(), {.seconds = 1});
  CHECK_FALSE(details.layers);
  REQUIRE_FALSE(details.missing.empty());
  CHECK(contains(details.missing.front(), "layers: the fit ended before its second step"));
  CHECK(details_value(profile, details)["layers"].is_nil());

  profile.steps.mean = 10;
  const ProfileDetails slow = measure_details(profile, fit, test_settings(), {.seconds = 1});
  CHECK(contains(slow.missing.front(), "a step, or what comes before the first step, takes too long for --seconds"));
  CHECK_FALSE(slow.memory);
  profile.steps.mean = 1e-6;
  profile.steps.begin_seconds = 10;
  CHECK(measure_details(profile, fit, test_settings(), {.seconds = 1}).missing == slow.missing);
}

}  // namespace trainlab::details_test

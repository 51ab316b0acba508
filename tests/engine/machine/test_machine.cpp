// The measurement of the machine: kept, read again, made anew when it is of another machine or damaged. The figures of
// most tests are made up.
#include <ATen/Parallel.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <limits>
#include <stdexcept>

#include "core/files.h"
#include "machine/machine.h"
#include "run/run.h"
#include "run/stage.h"
#include "support/error_of.h"
#include "support/temporary_folder.h"

namespace trainlab::machine_test {

using namespace test;
namespace fs = std::filesystem;

namespace {

Quartiles about(double x) { return {.median = x, .low = 0.9 * x, .high = 1.1 * x}; }

Roofline made_up() {
  Roofline machine;
  machine.cpu = "a processor";
  machine.torch = "2.11.0";
  machine.cores = 4;
  machine.cache_bytes = 1 << 20;
  machine.gemm = {{.type = "float32", .size = 512, .threads = 1, .flops_per_second = about(100e9)},
                  {.type = "float32", .size = 1024, .threads = 1, .flops_per_second = about(120e9)},
                  {.type = "float32", .size = 1024, .threads = 4, .flops_per_second = about(400e9)},
                  {.type = "float64", .size = 1024, .threads = 4, .flops_per_second = about(200e9)}};
  machine.memory = {{.bytes = 1 << 24, .threads = 1, .bytes_per_second = about(10e9)},
                    {.bytes = 1 << 24, .threads = 4, .bytes_per_second = about(20e9)}};
  machine.cache = {{.bytes = 1 << 18, .threads = 1, .bytes_per_second = about(80e9)}};
  machine.dispatch_seconds = about(1e-6);
  machine.waited = 0.01;
  return machine;
}

// A calibration whose measurements are counted.
struct Counted {
  TemporaryFolder temporary;
  int measurements = 0;
  std::string processor = "a processor";
  Roofline next = made_up();
  fs::path folder = temporary.path() / "cache" / "trainlab";
  fs::path file = folder / "machine.json";

  Roofline get() {
    return calibrated_machine({.folder = folder,
                               .fingerprint =
                                   [this] {
                                     return Value::Map{{"cpu", processor}};
                                   },
                               .measure =
                                   [this] {
                                     ++measurements;
                                     return next;
                                   }});
  }
};

}  // namespace

TEST_CASE("a measurement is made once and read afterwards") {
  Counted machine;
  const Value first = machine.get().to_value();
  CHECK(fs::exists(machine.file));
  machine.next.cores = 99;
  const Roofline second = machine.get();
  CHECK(machine.measurements == 1);
  CHECK(second.to_value() == first);
  CHECK(second.not_stored.empty());
  CHECK(second.attainable(2, 4) == 40e9);
  machine.processor = "another processor";
  CHECK(machine.get().cores == 99);
  CHECK(machine.measurements == 2);
  CHECK(machine.get().cores == 99);
  CHECK(machine.measurements == 2);
}

TEST_CASE("a damaged measurement is made anew") {
  Counted machine;
  machine.get();
  const std::string whole = read_file(machine.file);
  const auto replaced = [&](const std::string& from, const std::string& to) {
    std::string text = whole;
    const std::size_t at = text.find(from);
    REQUIRE(at != std::string::npos);
    return text.replace(at, from.size(), to);
  };
  const std::vector<std::string> damaged = {"",
                                            "{}",
                                            "[1, 2",
                                            std::string(2000000, ' '),
                                            whole.substr(0, whole.size() / 2),
                                            replaced("4e+11", "9e+11"),
                                            replaced("\"format\": 1", "\"format\": 2"),
                                            replaced("\"hash\"", "\"hush\"")};
  for (const std::string& text : damaged) {
    INFO(text.substr(0, 80));
    std::ofstream(machine.file, std::ios::trunc) << text;
    const int before = machine.measurements;
    machine.get();
    CHECK(machine.measurements == before + 1);
    CHECK(read_file(machine.file) == whole);
  }
}

TEST_CASE("numbers that no measurement gives are refused") {
  const Value good = made_up().to_value();
  CHECK(Roofline::from_value(good).to_value() == good);
  const auto with = [&](const char* name, Value value) {
    Value changed = good;
    Value machine = changed["machine"];
    machine.set(name, std::move(value));
    changed.set("machine", machine);
    return changed;
  };
  for (const Value& wrong :
       {with("cores", 0), with("cores", "four"), with("gemm", Value()), with("gemm", Value::List{}),
        with("triad", Value()), with("dispatch_seconds", -1.0), with("cpu", 7)}) {
    CHECK_THROWS_AS(Roofline::from_value(wrong), Error);
  }
}

TEST_CASE("a measurement of a busy machine is used and not kept; one that is interrupted leaves nothing") {
  Counted machine;
  machine.next.waited = 0.4;
  const Roofline busy = machine.get();
  CHECK(busy.peak_bytes(4) == 20e9);
  CHECK_THAT(busy.not_stored, Catch::Contains("busy") && Catch::Contains("40 %"));
  CHECK_FALSE(fs::exists(machine.folder));
  // Where the system does not tell the wait, the cores that others had decide.
  machine.next.waited = std::numeric_limits<double>::quiet_NaN();
  machine.next.others = 0.7;
  CHECK_THAT(machine.get().not_stored, Catch::Contains("busy: other work had 70 % of the cores"));
  CHECK_FALSE(fs::exists(machine.folder));
  // Figures that the system does not tell at all are no reason to measure each time.
  machine.next.others = std::numeric_limits<double>::quiet_NaN();
  CHECK(machine.get().not_stored.empty());
  CHECK(fs::exists(machine.file));

  Counted other;
  request_stop();
  CHECK_THAT(error_of([&] { calibrated_machine({.folder = other.folder}); }), Catch::Contains("asked to stop"));
  clear_stop_request();
  CHECK_FALSE(fs::exists(other.folder));
}

TEST_CASE("a folder that cannot be written to is told with the measurement") {
  Counted machine;
  std::ofstream(machine.temporary.path() / "cache") << "a file";
  const Roofline measured = machine.get();
  CHECK(measured.cores == 4);
  CHECK_FALSE(measured.not_stored.empty());
  CHECK(measured.to_value()["machine"]["not_stored"].is_string());
}

TEST_CASE("the roofs: the highest figure of the number of threads, bent where memory begins to limit") {
  const Roofline machine = made_up();
  CHECK(machine.peak_flops(1) == 120e9);
  CHECK(machine.peak_flops(4) == 400e9);
  CHECK(machine.peak_flops(2) == 400e9);  // the next number of threads above
  CHECK(machine.peak_flops(64) == 400e9);
  CHECK(machine.peak_flops(1, "float64") == 200e9);
  CHECK(machine.peak_flops(1, "bfloat16") == 0);
  CHECK(machine.attainable(1, 4) == 20e9);
  CHECK(machine.attainable(20, 4) == 400e9);
  CHECK(machine.attainable(1000, 4) == 400e9);
  CHECK(machine.attainable(11, 1) == 110e9);
  const Quartiles spread = quartiles_of({5, 1, 4, 2, 3});
  CHECK(spread.median == 3);
  CHECK(spread.low == 2);
  CHECK(spread.high == 4);
}

TEST_CASE("this machine is measured, and the number of threads is what it was") {
  at::set_num_threads(1);
  const Roofline machine = calibrate_machine();
  CHECK(at::get_num_threads() == 1);
  CHECK(machine.cores == usable_cores());
  for (const char* type : {"float32", "float64", "bfloat16"}) CHECK(machine.peak_flops(machine.cores, type) > 0);
  CHECK(machine.peak_bytes(1) > 0);
  CHECK(machine.dispatch_seconds.low > 0);
  for (const GemmRoof& one : machine.gemm) CHECK(one.flops_per_second.low <= one.flops_per_second.high);
  CHECK(Roofline::from_value(machine.to_value()).to_value() == machine.to_value());
  CHECK_THAT(machine.text(), Catch::Contains("GFLOP/s"));
}

}  // namespace trainlab::machine_test

// Stores the measurement of this machine, reads it, and converts it to data.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "core/error.h"
#include "core/words.h"
#include "machine/machine.h"
#include "stored_measurement.h"

namespace trainlab {
namespace {

namespace fs = std::filesystem;

// Largest share of waiting for a core at which a measurement describes the machine; where the wait is unknown, largest
// share of the cores that other work may have had.
constexpr double busy = 0.1;

// Why the figures are those of a busy machine; empty: they are not, or nobody knows.
std::string busy_reason(const Roofline& measured) {
  if (measured.waited > busy)
    return fmt::format("the machine was busy: threads waited for a core for {:.0f} % of the time",
                       100 * measured.waited);
  if (std::isnan(measured.waited) && measured.others > busy)
    return fmt::format("the machine was busy: other work had {:.0f} % of the cores", 100 * measured.others);
  return "";
}

void put(Value::Map& to, const char* name, const Quartiles& spread) {
  to.emplace(name, spread.median);
  to.emplace("low", spread.low);
  to.emplace("high", spread.high);
}

double positive(const Value& value) {
  if (!value.is_number() || !(value.number() > 0) || std::isinf(value.number()))
    throw run_error("the measurement of the machine is damaged");
  return value.number();
}

Quartiles spread_from(const Value& from, const char* name) {
  return {.median = positive(from[name]), .low = positive(from["low"]), .high = positive(from["high"])};
}

std::string text_from(const Value& value) {
  if (!value.is_string()) throw run_error("the measurement of the machine is damaged");
  return value.string();
}

const Value::List& list_from(const Value& value) {
  if (!value.is_list() || value.list().empty()) throw run_error("the measurement of the machine is damaged");
  return value.list();
}

int threads_from(const Value& value) { return static_cast<int>(positive(value["threads"])); }

Value::List triads(const std::vector<TriadRoof>& roofs) {
  Value::List all;
  for (const TriadRoof& one : roofs) {
    Value::Map entry{{"bytes", one.bytes}, {"threads", one.threads}};
    put(entry, "bytes_per_second", one.bytes_per_second);
    all.push_back(std::move(entry));
  }
  return all;
}

std::vector<TriadRoof> triads_from(const Value& value) {
  std::vector<TriadRoof> all;
  for (const Value& one : value.list()) {
    all.push_back({.bytes = static_cast<std::int64_t>(positive(one["bytes"])),
                   .threads = threads_from(one),
                   .bytes_per_second = spread_from(one, "bytes_per_second")});
  }
  return all;
}

// The highest rate for `threads` among roofs that were measured with several numbers of threads.
template <class Roof, class Rate>
double best(const std::vector<Roof>& roofs, int threads, Rate rate) {
  int chosen = 0;
  for (const Roof& one : roofs) {
    const bool is_nearer = chosen < threads ? one.threads > chosen : one.threads >= threads && one.threads < chosen;
    if (is_nearer) chosen = one.threads;
  }
  double highest = 0;
  for (const Roof& one : roofs)
    if (one.threads == chosen) highest = std::max(highest, rate(one));
  return highest;
}

// The stored measurement; nullopt for a file that is missing, damaged, or of another machine.
std::optional<Roofline> stored(const fs::path& path, const Value& machine) {
  try {
    const Value measured = stored_measurement(path, machine);
    return measured.is_nil() ? std::nullopt : std::optional(Roofline::from_value(measured));
  } catch (const Error&) {
    return {};
  }
}

}  // namespace

double Roofline::peak_flops(int threads, const std::string& type) const {
  std::vector<GemmRoof> of_type;
  std::ranges::copy_if(gemm, std::back_inserter(of_type), [&](const GemmRoof& one) { return one.type == type; });
  return best(of_type, threads, [](const GemmRoof& one) { return one.flops_per_second.median; });
}

double Roofline::peak_bytes(int threads) const {
  return best(memory, threads, [](const TriadRoof& one) { return one.bytes_per_second.median; });
}

double Roofline::attainable(double flops_per_byte, int threads, const std::string& type) const {
  return std::min(flops_per_byte * peak_bytes(threads), peak_flops(threads, type));
}

Value Roofline::to_value() const {
  Value::List products;
  for (const GemmRoof& one : gemm) {
    Value::Map entry{{"type", one.type}, {"size", one.size}, {"threads", one.threads}};
    put(entry, "flops_per_second", one.flops_per_second);
    products.push_back(std::move(entry));
  }
  Value::Map machine{{"cores", cores},
                     {"cpu", cpu},
                     {"governor", governor},
                     {"torch", torch},
                     {"cache_bytes", cache_bytes},
                     {"gemm", std::move(products)},
                     {"triad", Value::Map{{"memory", triads(memory)}, {"cache", triads(cache)}}},
                     {"dispatch_seconds", dispatch_seconds.median},
                     {"dispatch_low", dispatch_seconds.low},
                     {"dispatch_high", dispatch_seconds.high}};
  if (!std::isnan(waited)) machine.emplace("waited", waited);
  if (!not_stored.empty()) machine.emplace("not_stored", not_stored);
  return Value::Map{{"machine", std::move(machine)}};
}

Roofline Roofline::from_value(const Value& value) {
  const Value& from = value["machine"];
  Roofline machine;
  machine.cores = static_cast<int>(positive(from["cores"]));
  machine.cpu = text_from(from["cpu"]);
  machine.governor = text_from(from["governor"]);
  machine.torch = text_from(from["torch"]);
  machine.cache_bytes = from["cache_bytes"].is_integer() ? from["cache_bytes"].integer() : 0;
  for (const Value& one : list_from(from["gemm"])) {
    machine.gemm.push_back({.type = text_from(one["type"]),
                            .size = static_cast<std::int64_t>(positive(one["size"])),
                            .threads = threads_from(one),
                            .flops_per_second = spread_from(one, "flops_per_second")});
  }
  list_from(from["triad"]["memory"]);
  machine.memory = triads_from(from["triad"]["memory"]);
  if (from["triad"]["cache"].is_list()) machine.cache = triads_from(from["triad"]["cache"]);
  machine.dispatch_seconds = {.median = positive(from["dispatch_seconds"]),
                              .low = positive(from["dispatch_low"]),
                              .high = positive(from["dispatch_high"])};
  const Value& waited = from["waited"];
  machine.waited = waited.is_number() ? waited.number() : std::numeric_limits<double>::quiet_NaN();
  return machine;
}

std::string Roofline::text() const {
  std::string text = fmt::format("{}, {}{}, LibTorch {}\n", cpu, counted(cores, "core"),
                                 governor.empty() ? "" : ", governor " + governor, torch);
  const auto line = [&](const std::string& what, int threads, const Quartiles& spread, double unit, const char* name) {
    text += fmt::format("{:<34} {:>10} {:>9.1f} {} ({:.1f} to {:.1f})\n", what, counted(threads, "thread"),
                        spread.median / unit, name, spread.low / unit, spread.high / unit);
  };
  for (const GemmRoof& one : gemm)
    line(fmt::format("product {} {} x {}", one.type, one.size, one.size), one.threads, one.flops_per_second, 1e9,
         "GFLOP/s");
  for (const TriadRoof& one : memory)
    line(fmt::format("memory, {} MiB{}", one.bytes >> 20, one.bytes > cache_bytes ? "" : ", within the last cache"),
         one.threads, one.bytes_per_second, 1e9, "GB/s");
  for (const TriadRoof& one : cache)
    line(fmt::format("L2 cache, {} KiB", one.bytes >> 10), one.threads, one.bytes_per_second, 1e9, "GB/s");
  line("an operator on few numbers", 1, dispatch_seconds, 1e-6, "us");
  if (!not_stored.empty()) text += "the measurement is not kept: " + not_stored + "\n";
  return text;
}

Roofline calibrated_machine(const Calibration& calibration) {
  const fs::path folder = calibration.folder.empty() ? cache_folder() : calibration.folder;
  const fs::path path = folder.empty() ? folder : folder / "machine.json";
  const Value machine = calibration.fingerprint();
  if (std::optional<Roofline> known = stored(path, machine)) return *known;
  Roofline measured = calibration.measure();
  measured.not_stored = busy_reason(measured);
  if (measured.not_stored.empty()) measured.not_stored = store_measurement(path, machine, measured.to_value());
  return measured;
}

}  // namespace trainlab

// Measures the figures of this machine.
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/add.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/mm.h>
#include <dirent.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <optional>
#include <set>

#include "core/clock.h"
#include "core/error.h"
#include "core/host.h"
#include "core/statistics.h"
#include "machine/machine.h"
#include "machine_facts.h"
#include "run/core_use.h"
#include "run/run.h"
#include "run/stage.h"
#include "tensor/random.h"

namespace trainlab {
namespace {

constexpr int fewest_repeats = 7, most_repeats = 400;
constexpr double repeat_seconds = 0.08;  // time for the repeats of one figure
constexpr double too_long = 0.25;        // after a product that takes this long, no larger size is tried
constexpr std::int64_t most_memory = std::int64_t{512} << 20;

// The seconds of each of several calls. A first call, which warms up, is left out.
std::vector<double> times_of(const std::function<void()>& work) {
  if (stop_requested()) throw Error(ErrorKind::interrupted, "asked to stop while the machine was measured");
  work();
  std::vector<double> seconds;
  double sum = 0;
  while (seconds.size() < most_repeats && (seconds.size() < fewest_repeats || sum < repeat_seconds)) {
    const double begin = steady_seconds();
    work();
    seconds.push_back(steady_seconds() - begin);
    sum += seconds.back();
  }
  return seconds;
}

Quartiles rate_of(double amount, const std::function<void()>& work) {
  std::vector<double> rates = times_of(work);
  for (double& one : rates) one = amount / one;
  return quartiles_of(std::move(rates));
}

at::Tensor filled(at::IntArrayRef shape, at::ScalarType type, std::uint64_t key) {
  const at::Tensor values = at::empty(shape, at::kFloat);
  fill_uniform(values, Key(key), -1, 1);
  return values.to(type);
}

// The numbers of threads to measure: 1, 2, 4 … and the number of cores.
std::vector<int> thread_counts(int cores) {
  std::set<int> counts{cores};
  for (int n = 1; n < cores; n *= 2) counts.insert(n);
  return {counts.begin(), counts.end()};
}

void measure_gemm(Roofline& machine) {
  struct Type {
    const char* name;
    at::ScalarType type;
    std::vector<std::int64_t> sizes;
  };
  const Type types[] = {{"float32", at::kFloat, {128, 512, 1024}},
                        {"float64", at::kDouble, {512, 1024}},
                        {"bfloat16", at::kBFloat16, {512, 1024}}};
  for (const Type& type : types) {
    for (const int threads : thread_counts(machine.cores)) {
      at::set_num_threads(threads);
      for (const std::int64_t size : type.sizes) {
        const at::Tensor a = filled({size, size}, type.type, 1), b = filled({size, size}, type.type, 2);
        at::Tensor out = at::empty({size, size}, type.type);
        const double flops = 2 * std::pow(static_cast<double>(size), 3);
        const Quartiles rate = rate_of(flops, [&] { at::mm_out(out, a, b); });
        machine.gemm.push_back({.type = type.name, .size = size, .threads = threads, .flops_per_second = rate});
        if (flops / rate.median > too_long) break;
      }
    }
  }
}

TriadRoof triad(std::int64_t bytes, int threads) {
  at::set_num_threads(threads);
  const std::int64_t elements = bytes / 3 / static_cast<std::int64_t>(sizeof(float));
  const at::Tensor b = filled({elements}, at::kFloat, 3), c = filled({elements}, at::kFloat, 4);
  at::Tensor a = at::empty({elements}, at::kFloat);
  const std::int64_t moved = 3 * elements * static_cast<std::int64_t>(sizeof(float));
  return {.bytes = moved, .threads = threads, .bytes_per_second = rate_of(static_cast<double>(moved), [&] {
                                                at::add_out(a, b, c, 0.5);
                                              })};
}

void measure_memory(Roofline& machine) {
  const std::int64_t room = std::min(most_memory, free_memory() / 8);
  const std::int64_t beyond = std::min(std::max(4 * machine.cache_bytes, std::int64_t{64} << 20), room);
  for (const int threads : thread_counts(machine.cores)) machine.memory.push_back(triad(beyond, threads));
  const std::int64_t second = sysconf(_SC_LEVEL2_CACHE_SIZE);
  // Measured with one thread alone, because LibTorch does not split arrays of this size among threads.
  if (second > 0) machine.cache.push_back(triad(second / 2, 1));
}

void measure_dispatch(Roofline& machine) {
  constexpr int calls = 200;
  at::set_num_threads(1);
  const at::Tensor a = filled({16}, at::kFloat, 5), b = filled({16}, at::kFloat, 6);
  std::vector<double> seconds = times_of([&] {
    for (int i = 0; i < calls; ++i) at::add(a, b);
  });
  for (double& one : seconds) one /= calls;
  machine.dispatch_seconds = quartiles_of(std::move(seconds));
}

// The nanoseconds so far that the process's threads ran on a core, and that they were ready but waited for a core.
struct Scheduled {
  double ran = 0, waited = 0;
};
Scheduled scheduled() {
  Scheduled sum;
  std::error_code error;
  for (std::filesystem::directory_iterator it("/proc/self/task", error), end; !error && it != end;
       it.increment(error)) {
    std::ifstream in(it->path() / "schedstat");
    Scheduled one;
    if (in >> one.ran >> one.waited) {
      sum.ran += one.ran;
      sum.waited += one.waited;
    }
  }
  return sum;
}

}  // namespace

Quartiles quartiles_of(std::vector<double> values) {
  std::ranges::sort(values);
  return {.median = nearest_quantile(values, 0.5),
          .low = nearest_quantile(values, 0.25),
          .high = nearest_quantile(values, 0.75)};
}

Roofline calibrate_machine() {
  const ThreadsKept kept;
  const at::NoGradGuard no_gradients;
  Roofline machine = machine_facts();
  const std::optional<CoreSeconds> cores_before = core_seconds();
  const double began = steady_seconds();
  const Scheduled before = scheduled();
  measure_gemm(machine);
  measure_memory(machine);
  measure_dispatch(machine);
  const Scheduled after = scheduled();
  const double ran = after.ran - before.ran, waited = after.waited - before.waited;
  machine.waited = ran > 0 ? waited / (ran + waited) : std::numeric_limits<double>::quiet_NaN();
  const double seconds = steady_seconds() - began;
  if (const std::optional<CoreSeconds> cores_after = core_seconds(); cores_before && cores_after) {
    const CoreUse use = core_use(*cores_after - *cores_before, seconds);
    machine.others = use.others / use.usable;
  }
  return machine;
}

}  // namespace trainlab

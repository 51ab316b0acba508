// The roofs of this machine: measured once in a few seconds, kept in the user's cache folder, and measured again when
// the machine or LibTorch is another one.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "core/value.h"

namespace trainlab {

// The median of several repeats, and the quartiles about it.
struct Quartiles {
  double median = 0, low = 0, high = 0;
};
Quartiles quartiles_of(std::vector<double> values);  // at least one value

// A product of two square matrices of `size` by LibTorch.
struct GemmRoof {
  std::string type;  // "float32", "float64", "bfloat16"
  std::int64_t size = 0;
  int threads = 1;
  Quartiles flops_per_second;
};

// a = b + s · c by LibTorch, over arrays of `bytes` together, each element counted as read or written once.
struct TriadRoof {
  std::int64_t bytes = 0;
  int threads = 1;
  Quartiles bytes_per_second;
};

struct Roofline {
  std::string cpu;               // the model's name
  std::string governor;          // of the frequency; empty where the kernel tells none
  std::string torch;             // LibTorch's version
  int cores = 1;                 // that the process may use
  std::int64_t cache_bytes = 0;  // the last cache's, as the system tells; 0: unknown
  std::vector<GemmRoof> gemm;
  std::vector<TriadRoof> memory;  // arrays larger than the last cache, if there is memory for them
  std::vector<TriadRoof> cache;   // arrays that fit a core's L2 cache
  Quartiles dispatch_seconds;     // of an addition of few numbers: what calling an operator costs

  // While it was measured: the share of the time that threads of the process were ready and had no core; NaN where the
  // system does not tell.
  double waited = 0;
  // Why the measurement is not kept; empty when it is, or was read.
  std::string not_stored;

  // The highest FLOP/s of products of this type, and bytes/s from memory, that were measured with `threads` threads,
  // or with the next number of threads above, or the largest. 0 for a type that was not measured.
  double peak_flops(int threads, const std::string& type = "float32") const;
  double peak_bytes(int threads) const;
  // FLOP/s at best of a program with `flops_per_byte` operations for each byte that it moves to or from memory
  // (Williams et al. 2009, "Roofline").
  double attainable(double flops_per_byte, int threads, const std::string& type = "float32") const;

  // { machine = { cores, cpu, governor, torch, cache_bytes, gemm = { { type, size, threads, flops_per_second, low, high
  // }, … }, triad = { memory = { { bytes, threads, bytes_per_second, low, high }, … }, cache = … }, dispatch_seconds,
  // dispatch_low, dispatch_high, waited, not_stored } }.
  Value to_value() const;
  // The way back. Error{run} for another shape, and for numbers that no measurement gives.
  static Roofline from_value(const Value& value);
  std::string text() const;
};

// The machine to which a measurement belongs: CPU model, cores, governor, LibTorch's version.
Value machine_fingerprint();

// Measures: a few seconds on all cores. Sets the number of LibTorch's threads, and sets it back. Error{run} when the
// process is asked to stop meanwhile. To be called while no other thread computes.
Roofline calibrate_machine();

struct Calibration {
  std::filesystem::path folder = {};  // empty: $XDG_CACHE_HOME/trainlab, else ~/.cache/trainlab
  std::function<Value()> fingerprint = machine_fingerprint;
  std::function<Roofline()> measure = calibrate_machine;
};

// The stored measurement if it is of this machine and undamaged; else a new one, which is stored by one atomic write
// unless the machine was busy, so that an interrupted measurement leaves nothing. A folder that cannot be written to is
// no error: the result says so.
Roofline calibrated_machine(const Calibration& calibration = {});

}  // namespace trainlab

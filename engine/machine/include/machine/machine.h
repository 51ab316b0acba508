// The roofs of this machine, the highest rates of arithmetic and of memory. They are measured once in a few seconds,
// kept in the user's cache folder, and measured again when the machine or LibTorch has changed.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "core/value.h"

namespace trainlab {

// The median of several repeats, and the quartiles about it.
struct Quartiles {
  double median = 0, low = 0, high = 0;
};
Quartiles quartiles_of(std::vector<double> values);  // `values` has at least one value

// The rate of LibTorch's product of two square matrices with `size` rows.
struct GemmRoof {
  std::string type;  // "float32", "float64", "bfloat16"
  std::int64_t size = 0;
  int threads = 1;
  Quartiles flops_per_second;
};

// The rate of LibTorch's a = b + s · c. The three arrays have `bytes` together, and each element counts as read or
// written once.
struct TriadRoof {
  std::int64_t bytes = 0;
  int threads = 1;
  Quartiles bytes_per_second;
};

struct Roofline {
  std::string cpu;               // name of the processor's model
  std::string governor;          // frequency governor; empty where the kernel names none
  std::string torch;             // LibTorch's version
  int cores = 1;                 // cores that the process may use
  std::int64_t cache_bytes = 0;  // size of the last cache, as the system states it; 0: unknown
  std::vector<GemmRoof> gemm;
  std::vector<TriadRoof> memory;  // arrays larger than the last cache, if there is memory for them
  std::vector<TriadRoof> cache;   // arrays that fit a core's L2 cache
  Quartiles dispatch_seconds;     // time of adding a few numbers: the cost of calling an operator

  // The share of the time of the measurement in which threads of the process were ready but had no core; NaN where the
  // system does not state it.
  double waited = 0;
  // The share of the cores that other work had during the measurement; NaN where the system does not state it. Not
  // stored.
  double others = std::numeric_limits<double>::quiet_NaN();
  // Why the measurement was not stored; empty if it was stored, or was read from the store.
  std::string not_stored;

  // The highest measured FLOP/s of products of this type, and the highest bytes/s from memory. They are those of
  // `threads` threads, else of the next larger number of threads that was measured, else of the largest. 0 for a type
  // that was not measured.
  double peak_flops(int threads, const std::string& type = "float32") const;
  double peak_bytes(int threads) const;
  // The highest FLOP/s that a program can reach with `flops_per_byte` operations for each byte that it moves to or from
  // memory (Williams et al. 2009, "Roofline").
  double attainable(double flops_per_byte, int threads, const std::string& type = "float32") const;

  // { machine = { cores, cpu, governor, torch, cache_bytes, gemm = { { type, size, threads, flops_per_second, low, high
  // }, … }, triad = { memory = { { bytes, threads, bytes_per_second, low, high }, … }, cache = … }, dispatch_seconds,
  // dispatch_low, dispatch_high, waited, not_stored } }.
  Value to_value() const;
  // Converts a value back. Error{run} for a value of another shape, and for numbers that no measurement gives.
  static Roofline from_value(const Value& value);
  std::string text() const;
};

// The machine to which a measurement belongs: CPU model, cores, governor, LibTorch's version.
Value machine_fingerprint();

// Measures this machine, which takes a few seconds on all cores. Sets the number of LibTorch's threads, and sets it
// back. Error{interrupted} when the process is asked to stop meanwhile. To be called while no other thread computes.
Roofline calibrate_machine();

struct Calibration {
  std::filesystem::path folder = {};  // empty: $XDG_CACHE_HOME/trainlab, else ~/.cache/trainlab
  std::function<Value()> fingerprint = machine_fingerprint;
  std::function<Roofline()> measure = calibrate_machine;
};

// The stored measurement if it is of this machine and undamaged; else a new measurement. It is stored by one atomic
// write, so that an interrupted measurement leaves no file, and it is not stored if the machine was busy. A folder that
// cannot be written to is no error; the result then has the reason in `not_stored`.
Roofline calibrated_machine(const Calibration& calibration = {});

}  // namespace trainlab

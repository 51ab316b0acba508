// CoreUse: who has the cores that this process may use. Thread-safe.
#pragma once

#include <optional>

namespace trainlab {

// Seconds since the system began that work has had the cores of this process's affinity, all these cores together.
struct CoreSeconds {
  double run = 0;     // by this process and the other engines of its supervisor, which work on one run
  double others = 0;  // by other processes, the kernel's own work, and other virtual machines of the host

  CoreSeconds operator+(const CoreSeconds& other) const { return {run + other.run, others + other.others}; }
  CoreSeconds operator-(const CoreSeconds& other) const { return {run - other.run, others - other.others}; }
};

// In steps of about 10 ms; nothing where the kernel does not count. Reads the times of all processes, so it is nothing
// for each step.
std::optional<CoreSeconds> core_seconds();

// Cores that work had on average, of the `usable` ones: those that this process may use.
struct CoreUse {
  double run = 0, others = 0;  // as in CoreSeconds
  double usable = 0;
};

// The use of the cores by what had `had` in `seconds`, above 0. Under a quota of the control group, the cores of the
// affinity beyond the quota are free for other work.
CoreUse core_use(const CoreSeconds& had, double seconds);

// Why a thread waits for a core: shares of the time, whose sum is the wait as a whole.
struct WaitReasons {
  double for_others = 0;  // because other work has the cores
  double for_own = 0;     // because the run itself has more threads that could run than the cores allow
  bool is_for_others() const { return for_others > for_own; }
};

// The advice where the run's own threads compete for the cores, for the end of a sentence that names these threads.
constexpr const char* fewer_threads = "fewer of them (--threads, loader.threads, workers) may be faster";

// Divides the share `waited` of the time in which a thread could run and had no core. A fair scheduler gives each of n
// threads that could run on C cores C / n of a core, so that a thread waits for 1 - C / n of the time. If o of the n
// are other work, it has the share o / n of the cores; so the run's own n - o threads alone would wait for
// 1 - C / (n - o) = 1 - (1 - waited) / (1 - o / n) of the time, and not at all where this is negative. While a thread
// waits, all usable cores are busy: nothing where the run and other work together had fewer, as where a container hides
// other work, because nobody knows who had the cores then.
std::optional<WaitReasons> reasons_of_wait(double waited, const CoreUse& use);

}  // namespace trainlab

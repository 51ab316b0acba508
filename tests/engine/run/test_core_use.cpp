// Who has the cores: the figures of the kernel, and what follows from them.
#include "run/core_use.h"

#include <sys/times.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <string>

#include "core_times.h"
#include "run/run.h"
#include "support/temporary_folder.h"

namespace trainlab::core_use_test {

namespace {

// The wait of a thread, and who has the cores meanwhile.
struct Wait {
  double waited;
  CoreUse use;

  std::optional<WaitReasons> reasons() const { return reasons_of_wait(waited, use); }
};

// Where a fair scheduler runs these threads on these cores.
Wait fair(double cores, double own, double others) {
  const double all = own + others, each = std::min(1.0, cores / all);
  return {.waited = 1 - each, .use = {.run = own * each, .others = others * each, .usable = cores}};
}

// A folder with files as those of /proc, of times in seconds.
class Proc {
 public:
  Proc() { add_core("cpu", 999, 999); }  // the sum of all cores comes first

  void add_core(const std::string& name, double busy, double idle) {
    // In equal parts user, nice, system, irq, softirq and steal; idle and iowait; then the time of guests, which is
    // in `user` already.
    const double part = busy / 6;
    stat_ << name << ' ' << ticks(part) << ' ' << ticks(part) << ' ' << ticks(part) << ' ' << ticks(idle / 2) << ' '
          << ticks(idle / 2) << ' ' << ticks(part) << ' ' << ticks(part) << ' ' << ticks(part) << " 77 0" << std::endl;
  }
  // The folder of a process; `children`: the seconds of those that have ended.
  void add_process(int process, const std::string& program, int parent, double own, double children = 0) const {
    const std::filesystem::path place = folder_.path() / std::to_string(process);
    std::filesystem::create_directory(place);
    std::ofstream(place / "stat") << process << " (" << program << ") S " << parent << " 1 1 0 -1 4194560 90 80 2 1 "
                                  << ticks(own / 4) << ' ' << ticks(own - own / 4) << ' ' << ticks(children / 2) << ' '
                                  << ticks(children / 2) << " 20 0 9 0 12345 1000000 300\n";
  }
  std::optional<CoreSeconds> seconds(int process) const { return core_seconds_in(path(), process, {0, 1}); }
  const std::filesystem::path& path() const { return folder_.path(); }

 private:
  static long ticks(double seconds) { return std::lround(seconds * static_cast<double>(::sysconf(_SC_CLK_TCK))); }

  const test::TemporaryFolder folder_;
  std::ofstream stat_{folder_.path() / "stat"};
};

// Two cores that this process may use, one of which it has not, and the rest of the file.
void add_cores(Proc& proc) {
  proc.add_core("cpu0", 60, 40);
  proc.add_core("cpu1", 30, 70);
  proc.add_core("cpu2", 90, 10);
  std::ofstream(proc.path() / "stat", std::ios::app) << "intr 1 2 3\nctxt 4\n";
}

}  // namespace

TEST_CASE("a thread waits for other work where the run's own threads would have cores") {
  // Two threads on two cores, beside 1 to 3 busy processes.
  for (const double busy : {1.0, 2.0, 3.0}) {
    const Wait wait = fair(2, 2, busy);
    const std::optional<WaitReasons> reasons = wait.reasons();
    REQUIRE(reasons);
    CHECK(reasons->for_others == Approx(wait.waited));
    CHECK(reasons->for_own == Approx(0).margin(1e-12));
  }
  // One thread, which waits less than its part.
  const Wait less{.waited = 0.25, .use = {.run = 0.8, .others = 1.2, .usable = 2}};
  REQUIRE(less.reasons());
  CHECK(less.reasons()->for_own == 0);
}

TEST_CASE("a thread waits for threads of its run where these are more than the cores") {
  // Eight threads on two cores, alone, and beside little other work.
  const std::optional<WaitReasons> alone = fair(2, 8, 0).reasons(), beside = fair(2, 8, 0.25).reasons();
  REQUIRE((alone && beside));
  CHECK(alone->for_own == 0.75);
  CHECK(alone->for_others == 0);
  CHECK(beside->for_others < 0.01);
}

TEST_CASE("a wait for both is divided: the run's own threads have what they would wait for alone") {
  const Wait wait = fair(2, 4, 4);
  const std::optional<WaitReasons> reasons = wait.reasons();
  REQUIRE(reasons);
  CHECK(reasons->for_own == Approx(fair(2, 4, 0).waited));
  CHECK(reasons->for_own + reasons->for_others == Approx(wait.waited));
  const CoreUse by_others{.others = 2, .usable = 2}, halves{.run = 1, .others = 1, .usable = 2};
  REQUIRE((reasons_of_wait(0.5, by_others) && reasons_of_wait(0, halves)));
  CHECK(reasons_of_wait(0.5, by_others)->for_others == 0.5);
  CHECK(reasons_of_wait(0, halves)->for_others == 0);
}

TEST_CASE("a wait while cores were free by these figures has no known reason") {
  CHECK_FALSE(reasons_of_wait(0.6, {.run = 0.4, .others = 0.1, .usable = 2}));
  CHECK(reasons_of_wait(0.6, {.run = 0.4, .others = 0.9, .usable = 2}));
}

TEST_CASE("the use of the cores is a mean, and other work has at most the usable ones") {
  const double usable = usable_cores();
  CHECK(core_use({.run = 5}, 10).run == 0.5);
  CHECK(core_use({}, 10).usable == usable);
  CHECK(core_use({.others = 1e9}, 10).others == usable);
  CHECK(core_use({.others = -0.1}, 10).others == 0);  // the kernel counts in steps
}

TEST_CASE("the work of a process is the run's, and all other work on its cores is not") {
  Proc proc;
  add_cores(proc);
  proc.add_process(40, "shell", 1, 12, 300);
  proc.add_process(50, "trainlab-engine", 40, 20, 3);
  proc.add_process(51, "trainlab-engine", 40, 8);  // of another run
  const std::optional<CoreSeconds> seconds = proc.seconds(50);
  REQUIRE(seconds);
  CHECK(seconds->run == Approx(20));
  CHECK(seconds->others == Approx(60 + 30 - 20));
}

TEST_CASE("the engines of a supervisor are one run, those that have ended among them") {
  Proc proc;
  add_cores(proc);
  proc.add_process(40, "trainlab", 1, 2, 11);
  proc.add_process(50, "trainlab-engine", 40, 20);
  proc.add_process(51, "an (odd) name) R 7", 40, 8);
  proc.add_process(60, "trainlab", 1, 1, 100);  // another run
  proc.add_process(61, "trainlab-engine", 60, 16);
  std::filesystem::create_directory(proc.path() / "sys");
  const std::optional<CoreSeconds> seconds = proc.seconds(50);
  REQUIRE(seconds);
  CHECK(seconds->run == Approx(20 + 8 + 11));
  CHECK(seconds->others == Approx(60 + 30 - 39));
}

TEST_CASE("who has the cores is unknown where the kernel does not count") {
  Proc none;
  none.add_process(50, "trainlab-engine", 40, 20);
  CHECK_FALSE(none.seconds(50));  // no line of a core

  Proc missing;
  missing.add_process(50, "trainlab-engine", 40, 20);
  missing.add_core("cpu0", 60, 40);
  CHECK_FALSE(missing.seconds(50));

  Proc zeros;
  zeros.add_process(50, "trainlab-engine", 40, 20);
  zeros.add_core("cpu0", 60, 40);
  zeros.add_core("cpu1", 0, 0);
  CHECK_FALSE(zeros.seconds(50));

  Proc gone;
  add_cores(gone);
  CHECK_FALSE(gone.seconds(50));
}

TEST_CASE("the time of a process is that which the kernel of this machine tells it") {
  Proc proc;
  add_cores(proc);
  const std::string own = std::to_string(::getpid());
  std::filesystem::create_directory(proc.path() / own);
  const auto seconds_of = [](const tms& times) {
    return static_cast<double>(times.tms_utime + times.tms_stime) / static_cast<double>(::sysconf(_SC_CLK_TCK));
  };
  tms before{}, after{};
  ::times(&before);
  std::ofstream(proc.path() / own / "stat") << std::ifstream("/proc/" + own + "/stat").rdbuf();
  ::times(&after);
  const std::optional<CoreSeconds> seconds = proc.seconds(::getpid());
  REQUIRE(seconds);
  CHECK(seconds->run >= seconds_of(before));
  CHECK(seconds->run <= seconds_of(after));
}

}  // namespace trainlab::core_use_test

// Who has the cores: the figures of the kernel, and what follows from them.
#include "run/core_use.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <ctime>

#include "run/run.h"

namespace trainlab::core_use_test {

namespace {

double processor_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

// Computes for as many seconds of a core.
void compute(double seconds) {
  const double until = processor_seconds() + seconds;
  while (processor_seconds() < until) continue;
}

struct Wait {
  double waited, others;
};

// The wait, and the share of the cores that other work has, where a fair scheduler runs these threads on these cores.
Wait fair(double cores, double own, double others) {
  const double all = own + others;
  return {.waited = all > cores ? 1 - cores / all : 0, .others = others / all};
}

}  // namespace

TEST_CASE("a thread waits for other work where the run's own threads would have cores") {
  // Two threads on two cores, beside 1 to 3 busy processes.
  for (const double busy : {1.0, 2.0, 3.0}) {
    const auto [waited, others] = fair(2, 2, busy);
    const WaitReasons reasons = reasons_of_wait(waited, others);
    CHECK(reasons.for_others == Approx(waited));
    CHECK(reasons.for_own == Approx(0).margin(1e-12));
  }
  // One thread, which waits less than its part.
  CHECK(reasons_of_wait(0.25, 0.6).for_own == 0);
}

TEST_CASE("a thread waits for threads of its run where these are more than the cores") {
  // Eight threads on two cores, alone, and beside little other work.
  CHECK(reasons_of_wait(0.75, 0).for_own == 0.75);
  CHECK(reasons_of_wait(0.75, 0).for_others == 0);
  CHECK(reasons_of_wait(0.75, 0.03).for_others < 0.01);
}

TEST_CASE("a wait for both is divided: the run's own threads have what they would wait for alone") {
  const auto [waited, others] = fair(2, 4, 4);
  const WaitReasons reasons = reasons_of_wait(waited, others);
  CHECK(reasons.for_own == Approx(fair(2, 4, 0).waited));
  CHECK(reasons.for_own + reasons.for_others == Approx(waited));
  CHECK(reasons_of_wait(0.5, 1).for_others == 0.5);  // other work had all cores
  CHECK(reasons_of_wait(0, 0.5).for_others == 0);
}

TEST_CASE("other work has at most the usable cores") {
  const double usable = usable_cores();
  CHECK(cores_of_others(1e9, 10) == usable);
  CHECK(cores_of_others(-0.1, 10) == 0);  // the kernel counts in steps
  CHECK(cores_of_others(1, 0) == 0);
}

TEST_CASE("the work of this process is the run's, and that of another program is not") {
  const std::optional<CoreSeconds> before = core_seconds();
  if (!before) {
    WARN("the kernel of this machine does not count how its cores are used");
    return;
  }
  compute(0.3);
  const std::optional<CoreSeconds> between = core_seconds();
  REQUIRE(between);
  CHECK(between->run - before->run > 0.27);

  const pid_t child = ::fork();
  if (child == 0) {
    compute(0.3);
    ::_exit(0);
  }
  REQUIRE(child > 0);
  REQUIRE(::waitpid(child, nullptr, 0) == child);
  const std::optional<CoreSeconds> after = core_seconds();
  REQUIRE(after);
  CHECK(after->run - between->run < 0.1);
  // The kernel may look only at times who has a core.
  CHECK(after->others - between->others > 0.15);
}

}  // namespace trainlab::core_use_test

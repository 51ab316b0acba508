// The verdict as a function of measures.
#include <catch2/catch.hpp>

#include <string>

#include "profile/verdict.h"

namespace trainlab::verdict_test {

namespace {

// Those that the run and other work had of two cores.
CoreUse cores(double run, double others) { return {.run = run, .others = others, .usable = 2}; }

// Many steps on a quiet machine, all of whose time is in the forward and the backward pass.
Measures quiet() {
  Measures m;
  m.steps = 1000;
  m.is_precise = true;
  m.shares = {.forward = 0.4, .backward = 0.6};
  m.run_queue = 0.01;
  m.cores_busy = 1.0;
  m.core_use = cores(1.0, 0.1);
  m.cores = 2;
  return m;
}

// Takes parts of the forward and backward passes.
Measures with(const Shares& parts) {
  double passes = 1;
  for (const auto& [name, share] : listed(parts)) passes -= share.value_or(0);
  Measures m = quiet();
  m.shares = parts;
  m.shares.forward = 0.4 * passes;
  m.shares.backward = 0.6 * passes;
  return m;
}

std::string name(const Measures& m) { return std::string(bottleneck_name(judge(m).bottleneck)); }

bool says(const StepVerdict& verdict, const std::string& words) {
  for (const std::string& sentence : verdict.evidence)
    if (sentence.find(words) != std::string::npos) return true;
  return false;
}

}  // namespace

TEST_CASE("a large part of a step is the verdict") {
  struct Case {
    Shares parts;
    const char* verdict;
  };
  const Case cases[] = {
      {{.input = 0.21}, "input"},
      {{.input = 0.19}, "compute"},
      {{.transfer = 0.25}, "transfer"},
      {{.synchronisation = 0.2}, "synchronisation"},
      {{.launch_gap = 0.35}, "launch"},
      {{.launch_gap = 0.25}, "compute"},
      {{.recipe = 0.2}, "host"},
      {{.other = 0.2}, "host"},
      {{.checkpoint = 0.16}, "checkpoint"},
      {{.evaluation = 0.4}, "evaluation"},
      {{.metrics = 0.4}, "evaluation"},
      {{.optimizer = 0.4}, "optimizer"},
      {{.optimizer = 0.2}, "compute"},
  };
  for (const Case& one : cases) {
    INFO(one.verdict);
    CHECK(name(with(one.parts)) == one.verdict);
  }
}

TEST_CASE("of several large parts the largest is the verdict, and the others are told") {
  Measures m = quiet();
  m.shares = {.input = 0.25, .forward = 0.2, .backward = 0.15, .evaluation = 0.4};
  const StepVerdict verdict = judge(m);
  CHECK(verdict.bottleneck == Bottleneck::evaluation);
  CHECK(verdict.share == Approx(0.4));
  CHECK(says(verdict, "Also 25 % of a step: the training thread waits for batches."));
}

TEST_CASE("parts that are notable decide only where the passes are less than half of the step") {
  Measures m = quiet();
  m.shares = {.input = 0.18, .forward = 0.2, .backward = 0.25, .optimizer = 0.25, .other = 0.12};
  CHECK(name(m) == "optimizer");
  CHECK(judge(m).confidence == "medium");
  m.shares = {.input = 0.04, .forward = 0.2, .backward = 0.25, .optimizer = 0.14, .recipe = 0.02, .other = 0.02};
  CHECK(name(m) == "none");
}

TEST_CASE("what a stage that fails in a further run leaves unknown is told") {
  Measures m = quiet();
  m.memory_limited = 0.1;  // by the table of layers, which has operators
  CHECK(judge(m).confidence == "high");
  m.lacks_rhythm = true;
  CHECK(judge(m).confidence == "low");
  CHECK(says(judge(m), "How long validations and checkpoints take is unknown"));
}

TEST_CASE("without enough steps there is no verdict") {
  Measures m = with({.input = 0.9});
  m.steps = 2;
  const StepVerdict verdict = judge(m);
  CHECK(verdict.bottleneck == Bottleneck::unknown);
  CHECK(verdict.confidence == "none");
  CHECK(says(verdict, "A longer training has more steps"));
  m.steps = 0;
  m.no_steps = "it ends before its first step";
  CHECK(judge(m).bottleneck == Bottleneck::unknown);
  CHECK(judge(m).confidence == "none");
  CHECK(judge(m).evidence == std::vector<std::string>{"No step could be timed: it ends before its first step."});
  m.no_steps.clear();
  m.steps = 3;
  CHECK(name(m) == "input");
}

TEST_CASE("where operators were not counted, a part is the verdict that is larger than all in which they are called") {
  const StepVerdict passes = judge(with({.optimizer = 0.1, .launch_gap = {}}));
  CHECK(passes.bottleneck == Bottleneck::unknown);
  CHECK(passes.otherwise == Bottleneck::unknown);
  CHECK(passes.confidence == "none");
  CHECK(passes.plain == "operators were not counted");
  CHECK(passes.share == 0);
  CHECK(says(passes, "too small to be worth the call cannot be told from arithmetic in 100 % of a step."));
  CHECK(name(with({.optimizer = 0.6, .launch_gap = {}})) == "unknown");
  CHECK(name(with({.recipe = 0.6, .launch_gap = {}})) == "unknown");  // functions call operators, too
  CHECK(name(with({.recipe = 0.6, .launch_gap = 0})) == "host");
  CHECK(name(with({.launch_gap = {}, .other = 0.6})) == "host");
  CHECK(name(with({.launch_gap = {}, .evaluation = 0.45})) == "unknown");
  const StepVerdict evaluation = judge(with({.launch_gap = {}, .evaluation = 0.55}));
  CHECK(evaluation.bottleneck == Bottleneck::evaluation);
  CHECK(evaluation.confidence == "high");
  Measures contended = with({.launch_gap = {}});
  contended.run_queue = 0.3;
  contended.core_use = cores(1.3, 0.7);
  CHECK(name(contended) == "contention");
  CHECK(says(judge(contended), "Apart from that the verdict would be unknown: No step was left"));
}

TEST_CASE("arithmetic and memory are told apart by what limits the operators") {
  Measures m = quiet();
  CHECK(name(m) == "compute");
  CHECK(judge(m).confidence == "medium");
  CHECK(says(judge(m), "unknown"));
  m.flops_roof = 100;
  m.bytes_roof = 100;
  m.flops = 80;
  m.bytes = 30;
  CHECK(says(judge(m), "They reach 80 % of the machine's FLOP/s and 30 % of its memory bandwidth. Whether"));
  m.memory_limited = 0.1;
  CHECK(name(m) == "compute");
  CHECK(judge(m).plain == "compute-bound");
  CHECK(judge(m).confidence == "high");
  CHECK(says(judge(m), "Compute-bound operators take 90 % of their time. They reach 80 %"));
  m.memory_limited = 0.8;
  CHECK(name(m) == "bandwidth");
  CHECK(judge(m).plain == "memory-bound");
  CHECK(judge(m).confidence == "high");
  m.memory_limited = 0.6;
  CHECK(name(m) == "bandwidth");
  CHECK(judge(m).confidence == "medium");
  m.bytes = 150;
  CHECK(says(judge(m), "150 % of its memory bandwidth, so that caches serve a part"));
}

TEST_CASE("cores that other work has are the verdict before all others") {
  Measures m = with({.input = 0.5});
  m.run_queue = 0.3;
  m.core_use = cores(1.3, 0.7);
  CHECK(name(m) == "contention");
  CHECK(judge(m).otherwise == Bottleneck::input);
  CHECK(judge(m).share == 0.3);
  CHECK(says(judge(m), "Apart from that the verdict would be input: 50 % of a step"));
  CHECK(says(judge(m), "had no core 30 % of the time: other work had 0.7 of 2 cores."));
  m.shares.evaluation = 0.2;
  CHECK(says(judge(m), "Also 20 % of a step: the validation part is measured, with its metrics."));
}

TEST_CASE("threads of the process that compete for the cores are no contention") {
  Measures m = with({.input = 0.5});
  m.run_queue = 0.6;
  m.cores_busy = 1.95;
  m.core_use = cores(1.95, 0.05);
  CHECK(name(m) == "input");
  CHECK(judge(m).otherwise == Bottleneck::input);
  CHECK(judge(m).confidence == "low");
  CHECK(says(judge(m), "had no core 60 % of the time: the run's own threads compete for the cores"));
  CHECK(says(judge(m), "fewer of them (--threads, loader.threads, workers) may be faster"));
  CHECK(judge(m).own_threads_compete);
  // Another process beside them that has as much as one of five threads.
  m.run_queue = 1 - 2.0 / 6;
  m.core_use = cores(2 * 5.0 / 6, 2 * 1.0 / 6);
  CHECK(name(m) == "input");
  // Others that have less than half of the cores: each of the two is a reason to wait, and the own threads the larger.
  m.run_queue = 1 - 2.0 / 10;
  m.core_use = cores(2 * 6.0 / 10, 2 * 4.0 / 10);
  CHECK(name(m) == "input");
  CHECK(says(judge(m), "own threads compete for the cores (other work had 0.8 of 2 cores)"));
  // Others that have most of the cores.
  m.run_queue = 1 - 2.0 / 12;
  m.core_use = cores(2 * 3.0 / 12, 2 * 9.0 / 12);
  CHECK(name(m) == "contention");
  CHECK_FALSE(judge(m).own_threads_compete);
  CHECK_FALSE(judge(quiet()).own_threads_compete);
}

TEST_CASE("where the wait for a core is unknown, other work that has many cores lowers the confidence") {
  Measures m = with({.input = 0.5});
  m.run_queue.reset();
  CHECK(judge(m).confidence == "medium");
  CHECK(says(judge(m), "waited for a core is unknown on this system."));
  m.core_use = cores(0.6, 1.4);
  CHECK(name(m) == "input");
  CHECK(judge(m).confidence == "low");
  CHECK(says(judge(m), "waited for a core is unknown on this system; other work had 1.4 of 2 cores."));
}

TEST_CASE("where nobody knows who has the cores, it is not said that others have them") {
  Measures m = with({.input = 0.5});
  m.run_queue = 0.6;
  m.core_use.reset();
  CHECK(name(m) == "input");
  CHECK(says(judge(m), "had no core 60 % of the time; who had the cores is unknown."));
  // The thread waited though a core was free by these figures.
  m.core_use = cores(0.4, 0.1);
  CHECK(name(m) == "input");
  CHECK(says(judge(m), "who had the cores is unknown"));
  CHECK(!says(judge(m), "compete"));
}

TEST_CASE("what disturbs the figures lowers the confidence, with the reason") {
  Measures m = with({.input = 0.5});
  CHECK(judge(m).confidence == "high");
  m.run_queue = 0.07;
  CHECK(judge(m).confidence == "medium");
  m.run_queue = 0.15;
  CHECK(judge(m).confidence == "low");
  CHECK(says(judge(m), "had no core 15 % of the time"));
  m = with({.input = 0.5});
  m.is_precise = false;
  CHECK(judge(m).confidence == "medium");
  m.is_synchronous = false;
  CHECK(judge(m).confidence == "low");
  m.is_awaited = true;
  CHECK(judge(m).confidence == "medium");
  CHECK(says(judge(m), "the host waited for it after each phase"));
  m = with({.input = 0.5});
  m.is_steady = false;
  CHECK(judge(m).confidence == "medium");
  m = with({.input = 0.5});
  m.run_queue.reset();
  CHECK(judge(m).confidence == "medium");
}

TEST_CASE("communication is taken from the optimizer's part") {
  Measures m = with({.optimizer = 0.4});
  m.communication = 0.3;
  CHECK(name(m) == "communication");
  m.communication = 0.02;
  CHECK(name(m) == "optimizer");
}

TEST_CASE("the evidence of an input names the slowest stage, or whether cores are left") {
  Measures m = with({.input = 0.5});
  CHECK(says(judge(m), "cores are left for more loader threads"));
  m.core_use = cores(1.9, 0.1);  // with other engines of the run
  CHECK(says(judge(m), "no core is left for more loader threads"));
  m.core_use = {};
  CHECK(says(judge(m), "The process kept 1.0 of 2 cores busy."));
  m.cores_busy = 2;
  CHECK(says(judge(m), "busy: batches cost more CPU time than the machine has."));
  m.limiting_stage = "decoding";
  CHECK(says(judge(m), "The slowest stage of the input is decoding."));
}

TEST_CASE("the evidence of a host names the function of the recipe that takes longest") {
  Measures m = with({.recipe = 0.5});
  CHECK_FALSE(says(judge(m), "takes longest"));
  m.longest_function = "on.step";
  m.longest_share = 0.354;
  CHECK(says(judge(m), "The function that takes longest, on.step, takes 35 % of a step."));
}

}  // namespace trainlab::verdict_test

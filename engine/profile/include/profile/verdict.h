// The verdict of a profile: which part of the work a training step waits for most.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "run/core_use.h"

namespace trainlab {

// Parts of the wall time of a step, to which the validations and checkpoints that come between steps are added in
// proportion. Their sum is 1. An absent part was not measured, and is not in the sum.
struct Shares {
  double input = 0;     // the training thread waits for a batch, or makes it, but for transforms of the recipe
  double transfer = 0;  // batches are moved to the device
  double forward = 0;   // forward pass and loss, and operators that functions of the recipe call
  double backward = 0;
  double optimizer = 0;               // gradient passes, optimizer, averages of weights
  std::optional<double> metrics = 0;  // metrics of validations
  double recipe = 0;           // functions of the recipe, transforms among them, without the operators that they call
  double synchronisation = 0;  // the recipe reads values of tensors
  // The calls of operators, without the arithmetic; an estimate. Absent where operators were not counted: the time of
  // the calls is then in the parts in which they are made.
  std::optional<double> launch_gap = 0;
  std::optional<double> checkpoint = 0;  // without functions of the recipe
  std::optional<double> evaluation = 0;  // validations without their metrics
  double other = 0;                      // the loop itself
};

// Share of a step from which the recipe's functions and the loop itself are the verdict, unless another part is larger.
constexpr double host_bound = 0.15;

// The parts in the order above, with their names in JSON.
std::vector<std::pair<std::string_view, std::optional<double>>> listed(const Shares& shares);

// The numbers from which the verdict follows. A number that was not measured is absent.
struct Measures {
  std::int64_t steps = 0;  // timed steps; with fewer than 3 there is no verdict
  // Why memory is not enough for the training, in sentences; empty: it is enough.
  std::vector<std::string> no_room = {};
  std::string no_steps = {};   // why the stage takes no step; empty: it takes some
  bool lacks_rhythm = false;   // the stage failed in a further run, before its validations or checkpoints were measured
  bool is_precise = false;     // the interval of a step is narrow
  bool is_steady = true;       // the time of a step does not drift
  bool is_synchronous = true;  // the device does what it is asked at once; else the host's clock tells the host's time
  bool is_awaited = false;     // the phases are of steps in which the host waited for the device after each phase
  Shares shares;
  std::optional<double> communication;  // share of a step in which processes exchange gradients; within `optimizer`

  std::optional<double> run_queue;   // share of the time in which the training thread had no core to run on
  std::optional<double> cores_busy;  // cores that the process kept busy, on average
  std::optional<CoreUse> core_use;   // of all engines of the run, and of other work
  double cores = 0;                  // cores that the process may use

  std::optional<double> operators;         // calls of operators in a step
  std::optional<double> operator_seconds;  // mean time of a call in a step of the median length

  std::optional<double> flops, flops_roof;  // a second: in forward and backward passes, and at most on this machine
  std::optional<double> bytes, bytes_roof;  // the same for bytes of memory
  std::optional<double> memory_limited;     // share of the passes' operators, by time, that memory limits
  std::string limiting_stage;               // the slowest stage of the input pipeline; empty: unknown
  std::string longest_function;             // of the recipe's functions; empty: none was called
  double longest_share = 0;                 // of a step that this function takes
};

enum class Bottleneck {
  input,
  host,
  compute,
  bandwidth,
  transfer,
  synchronisation,
  launch,
  optimizer,
  evaluation,
  checkpoint,
  communication,
  contention,
  capacity,
  none,
  unknown
};

std::string_view bottleneck_name(Bottleneck bottleneck);

struct StepVerdict {
  Bottleneck bottleneck = Bottleneck::unknown;
  Bottleneck otherwise = Bottleneck::unknown;  // the verdict that the parts of a step give
  double share = 0;                            // the verdict's share of the wall time of a step
  std::string confidence = {};                 // "high", "medium", "low"; "none" without a verdict
  std::string plain = {};                      // the words that people use: "I/O-bound", …
  std::vector<std::string> evidence = {};      // whole sentences
  // Whether the training thread waits for a core more than is usual, and the run's own threads are the main reason.
  bool own_threads_compete = false;
};

// A pure function of the measures.
StepVerdict judge(const Measures& measures);

}  // namespace trainlab

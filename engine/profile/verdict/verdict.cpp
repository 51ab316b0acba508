#include "profile/verdict.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "core/words.h"
#include "taken_cores.h"

namespace trainlab {

namespace {

// A part of the work that a change of the recipe or of the machine can make smaller. If its share is above `high`, the
// part is the verdict unless another part above its `high` is larger. If its share is above `notable`, the part is the
// verdict where no other rule gives one.
struct Rule {
  Bottleneck bottleneck;
  double notable, high;
  const char* plain;
  const char* what;  // follows "31 % of a step: "
};

// Sources of the thresholds: openxla/xprof calls a program moderately input-bound from 5 % and highly from 20 % of a
// step, and does the same for kernel launches and for the rest of the host at 3 % and 15 %
// (op_stats_to_input_pipeline); its suggestions speak of data transfer when transfer is 30 % of an input that takes
// above 10 %. The plugin of PyTorch for TensorBoard warns of communication above 10 %. Calls of operators are estimated
// here, not measured, so that 30 % stand for xprof's 15 %. For synchronisation, optimizer, evaluation and checkpoints
// no tool has numbers: the values are those at which their removal would be felt.
constexpr std::array<Rule, 9> rules{{
    {Bottleneck::input, 0.05, 0.20, "I/O-bound", "the training thread waits for batches"},
    {Bottleneck::transfer, 0.05, 0.20, "transfer-bound", "batches are moved to the device"},
    {Bottleneck::synchronisation, 0.05, 0.15, "bound by synchronisation", "the recipe reads values of tensors"},
    {Bottleneck::launch, 0.05, 0.30, "bound by overhead",
     "operators are called that are too small to be worth the call"},
    {Bottleneck::host, 0.05, host_bound, "CPU-bound", "functions of the recipe and the loop itself run on the host"},
    {Bottleneck::communication, 0.05, 0.10, "bound by communication", "processes exchange gradients"},
    {Bottleneck::checkpoint, 0.05, 0.15, "bound by checkpoints", "checkpoints are written"},
    {Bottleneck::evaluation, 0.10, 0.30, "bound by validation", "the validation part is measured, with its metrics"},
    {Bottleneck::optimizer, 0.15, 0.30, "bound by the optimizer", "weights are updated"},
}};

constexpr std::int64_t least_steps = 3;
// Shares of the time that the training thread waits for a core. From `contended` on because of other work, the other
// figures describe a machine that does other work. A wait below quiet_wait needs no explanation.
constexpr double contended = 0.20;
constexpr double most = 0.5;   // share of a step from which the passes are the verdict if nothing else is large
constexpr double clear = 0.7;  // share of the passes' operators from which what limits them is known

double share_of(Bottleneck bottleneck, const Measures& measures) {
  const Shares& shares = measures.shares;
  const double communication = measures.communication.value_or(0);
  switch (bottleneck) {
    case Bottleneck::input: return shares.input;
    case Bottleneck::transfer: return shares.transfer;
    case Bottleneck::synchronisation: return shares.synchronisation;
    case Bottleneck::launch: return shares.launch_gap.value_or(0);
    case Bottleneck::host: return shares.recipe + shares.other;
    case Bottleneck::communication: return communication;
    case Bottleneck::checkpoint: return shares.checkpoint.value_or(0);
    case Bottleneck::evaluation: return shares.evaluation.value_or(0) + shares.metrics.value_or(0);
    case Bottleneck::optimizer: return std::max(shares.optimizer - communication, 0.0);
    default: return shares.forward + shares.backward;
  }
}

std::string percent(double share) { return fmt::format("{:.0f} %", 100 * share); }

// Why the training thread waits for a core, where this is known.
std::optional<WaitReasons> wait_reasons(const Measures& m) {
  return m.run_queue && m.core_use ? reasons_of_wait(*m.run_queue, *m.core_use) : std::nullopt;
}

bool is_contended(const Measures& m) {
  const std::optional<WaitReasons> reasons = wait_reasons(m);
  return reasons && reasons->for_others >= contended && reasons->is_for_others();
}

std::string others_text(const Measures& m) {
  return fmt::format("other work had {:.1f} of {:.0f} cores", m.core_use->others, m.cores);
}

// A sentence on the wait for cores.
std::string wait_evidence(const Measures& m) {
  const std::string wait = "The training thread could run and had no core " + percent(*m.run_queue) + " of the time";
  const std::optional<WaitReasons> reasons = wait_reasons(m);
  if (!reasons) return wait + "; who had the cores is unknown.";
  const std::string others = others_text(m);
  if (reasons->is_for_others()) return wait + ": " + others + ".";
  return wait + ": the run's own threads compete for the cores (" + others + "); " + fewer_threads + ".";
}

struct Kind {
  Bottleneck bottleneck = Bottleneck::compute;
  bool is_known = false;
  std::string evidence;
};

// "They reach 80 % of the machine's FLOP/s and 30 % of its memory bandwidth", as far as known.
std::string reached(const Measures& m) {
  std::vector<std::string> parts;
  if (m.flops && m.flops_roof) parts.push_back(percent(*m.flops / *m.flops_roof) + " of the machine's FLOP/s");
  if (m.bytes && m.bytes_roof) {
    const double memory = *m.bytes / *m.bytes_roof;
    parts.push_back(percent(memory) + " of its memory bandwidth");
    if (memory > 1) parts.back() += ", so that caches serve a part of what operators move";
  }
  return parts.empty() ? "" : fmt::format("They reach {}.", fmt::join(parts, " and "));
}

// Whether arithmetic or memory limits the forward and backward passes. Each operator counts by its own roof (Williams
// et al. 2009, "Roofline"): the use of both roofs by the passes as a whole cannot tell, because operators that reach
// little of any roof are the rule on small models.
Kind kind_of_compute(const Measures& m) {
  const std::string rates = reached(m);
  if (!m.memory_limited) {
    return {.evidence =
                (rates.empty() ? "" : rates + " ") +
                "Whether arithmetic or memory limits them is unknown: the operators were not measured one by one."};
  }
  const double memory = *m.memory_limited;
  const bool memory_limits = memory > 0.5;
  const std::string by_time = "operators take " + percent(memory_limits ? memory : 1 - memory) + " of their time.";
  return {
      .bottleneck = memory_limits ? Bottleneck::bandwidth : Bottleneck::compute,
      .is_known = std::max(memory, 1 - memory) >= clear,
      .evidence = (memory_limits ? "Memory-bound " : "Compute-bound ") + by_time + (rates.empty() ? "" : " " + rates)};
}

// The confidence of the verdict, from 0 (low) to 2 (high). Adds the reasons that lower it.
int trust(const Measures& m, std::vector<std::string>& reasons) {
  int trust = 2;
  const auto doubt = [&](int at_most, const std::string& reason) {
    trust = std::min(trust, at_most);
    reasons.push_back(reason);
  };
  if (!m.is_precise) doubt(1, "The time of a step is not known to 2 %: the interval is wider.");
  if (m.lacks_rhythm)
    doubt(0, "How long validations and checkpoints take is unknown: the stage failed before they were measured.");
  if (!m.is_steady) doubt(1, "The time of a step drifts, so that the shares are an average of different states.");
  if (!m.run_queue) {
    const bool is_shared = m.core_use && m.core_use->others >= contended * m.core_use->usable;
    doubt(is_shared ? 0 : 1, "How long the training thread waited for a core is unknown on this system" +
                                 (is_shared ? "; " + others_text(m) : "") + ".");
  } else if (*m.run_queue >= quiet_wait) {
    doubt(*m.run_queue >= 2 * quiet_wait ? 0 : 1, wait_evidence(m));
  }
  if (m.is_awaited) {
    doubt(1, "The device works by itself: the phases are of steps in which the host waited for it after each phase.");
  } else if (!m.is_synchronous) {
    doubt(0,
          "The device works by itself: the phases are the host's, and the device's work shows where the host waits.");
  }
  return trust;
}

constexpr std::array<const char*, 3> words{"low", "medium", "high"};

std::string input_evidence(const Measures& m) {
  if (!m.limiting_stage.empty()) return "The slowest stage of the input is " + m.limiting_stage + ".";
  if (!m.cores_busy) return "";
  const std::string kept = fmt::format("The process kept {:.1f} of {:.0f} cores busy", *m.cores_busy, m.cores);
  if (*m.cores_busy > 0.9 * m.cores) return kept + ": batches cost more CPU time than the machine has.";
  if (!m.core_use) return kept + ".";  // what other work had is unknown
  const double all_busy = std::max(*m.cores_busy, m.core_use->run + m.core_use->others);
  return kept + (all_busy > 0.9 * m.cores ? ": no core is left for more loader threads."
                                          : ": cores are left for more loader threads.");
}

std::string host_evidence(const Measures& m) {
  if (m.longest_function.empty()) return "";
  return fmt::format("The function that takes longest, {}, takes {} of a step.", m.longest_function,
                     percent(m.longest_share));
}

std::string calls_evidence(const Measures& m) {
  if (!m.operators || !m.operator_seconds) return "";
  return fmt::format("A step calls {:.0f} operators of {:.1f} µs each.", *m.operators, 1e6 * *m.operator_seconds);
}

// Sentences on the notable parts of a step beside the one that is the verdict.
std::vector<std::string> other_parts(const Measures& m, Bottleneck verdict) {
  std::vector<std::string> sentences;
  for (const Rule& rule : rules) {
    const double share = share_of(rule.bottleneck, m);
    if (rule.bottleneck == verdict || share < rule.notable) continue;
    sentences.push_back("Also " + percent(share) + " of a step: " + rule.what + ".");
  }
  return sentences;
}

// The share of a step up to which operators may be too small to be worth the call: where they were not counted, the
// parts in which they are called.
double calls_at_most(const Shares& shares) {
  return shares.launch_gap.value_or(shares.forward + shares.backward + shares.optimizer + shares.recipe);
}

// Whether the count of operators that was not made could give another verdict than the part that is chosen, which is
// null where there is none.
bool lacks_count(const Shares& shares, const Rule* chosen, double share) {
  if (shares.launch_gap) return false;
  const bool is_host = chosen && chosen->bottleneck == Bottleneck::host;  // its functions may call operators
  return !chosen || (is_host ? shares.other : share) <= calls_at_most(shares);
}

// The verdict that follows from the parts of a step.
StepVerdict by_shares(const Measures& m) {
  StepVerdict verdict;
  const auto share = [&](const Rule& rule) { return share_of(rule.bottleneck, m); };
  const auto largest = [&](double Rule::*threshold) {
    const Rule* found = nullptr;
    for (const Rule& rule : rules)
      if (share(rule) >= rule.*threshold && (!found || share(rule) > share(*found))) found = &rule;
    return found;
  };
  const double compute = share_of(Bottleneck::compute, m);
  const Rule* const high = largest(&Rule::high);
  const Rule* const chosen = high || compute >= most ? high : largest(&Rule::notable);
  std::vector<std::string> doubts;
  int trusted = trust(m, doubts);
  if (lacks_count(m.shares, chosen, chosen ? share(*chosen) : 0)) {
    verdict.plain = "operators were not counted";
    verdict.evidence.push_back(
        "No step was left in which operators could be counted: calls that are too small to be " +
        ("worth the call cannot be told from arithmetic in " + percent(calls_at_most(m.shares))) + " of a step.");
  } else if (chosen) {
    verdict.bottleneck = chosen->bottleneck;
    verdict.share = share(*chosen);
    verdict.plain = chosen->plain;
    if (!high) trusted = std::min(trusted, 1);
    verdict.evidence.push_back(percent(verdict.share) + " of a step: " + chosen->what + ".");
    const std::string more = chosen->bottleneck == Bottleneck::input    ? input_evidence(m)
                             : chosen->bottleneck == Bottleneck::host   ? host_evidence(m)
                             : chosen->bottleneck == Bottleneck::launch ? calls_evidence(m)
                                                                        : "";
    if (!more.empty()) verdict.evidence.push_back(more);
  } else if (compute >= most) {
    const Kind kind = kind_of_compute(m);
    verdict.bottleneck = kind.bottleneck;
    verdict.share = compute;
    verdict.plain = kind.bottleneck == Bottleneck::bandwidth ? "memory-bound" : "compute-bound";
    if (!kind.is_known) trusted = std::min(trusted, 1);
    verdict.evidence.push_back(percent(compute) + " of a step: forward and backward passes.");
    verdict.evidence.push_back(kind.evidence);
  } else {
    verdict.bottleneck = Bottleneck::none;
    verdict.plain = "balanced";
    verdict.evidence.emplace_back("No part of a step is large enough to be called a bottleneck.");
  }
  for (std::string& other : other_parts(m, verdict.bottleneck)) verdict.evidence.push_back(std::move(other));
  const std::optional<WaitReasons> reasons = wait_reasons(m);
  verdict.own_threads_compete = reasons && *m.run_queue >= quiet_wait && !reasons->is_for_others();
  verdict.otherwise = verdict.bottleneck;
  verdict.confidence = verdict.bottleneck == Bottleneck::unknown ? "none" : words[static_cast<std::size_t>(trusted)];
  verdict.evidence.insert(verdict.evidence.end(), doubts.begin(), doubts.end());
  return verdict;
}

StepVerdict contention(const Measures& m) {
  StepVerdict verdict{.bottleneck = Bottleneck::contention,
                      .share = *m.run_queue,
                      .confidence = m.is_precise ? "high" : "medium",
                      .plain = "short of cores"};
  verdict.evidence.push_back(wait_evidence(m));
  const StepVerdict parts = by_shares(m);
  verdict.otherwise = parts.bottleneck;
  verdict.evidence.push_back("Apart from that the verdict would be " + std::string(bottleneck_name(parts.bottleneck)) +
                             ": " + parts.evidence.front());
  for (std::string& other : other_parts(m, parts.bottleneck)) verdict.evidence.push_back(std::move(other));
  return verdict;
}

}  // namespace

std::vector<std::pair<std::string_view, std::optional<double>>> listed(const Shares& shares) {
  return {{"input", shares.input},           {"transfer", shares.transfer},
          {"forward", shares.forward},       {"backward", shares.backward},
          {"optimizer", shares.optimizer},   {"metrics", shares.metrics},
          {"recipe", shares.recipe},         {"synchronisation", shares.synchronisation},
          {"launch_gap", shares.launch_gap}, {"checkpoint", shares.checkpoint},
          {"evaluation", shares.evaluation}, {"other", shares.other}};
}

std::string_view bottleneck_name(Bottleneck bottleneck) {
  constexpr std::array<std::string_view, 15> names{
      "input",           "host",       "compute",   "bandwidth",  "transfer",
      "synchronisation", "launch",     "optimizer", "evaluation", "checkpoint",
      "communication",   "contention", "capacity",  "none",       "unknown"};
  return names[static_cast<std::size_t>(bottleneck)];
}

StepVerdict judge(const Measures& m) {
  if (!m.no_room.empty()) {
    return {.bottleneck = Bottleneck::capacity,
            .otherwise = Bottleneck::capacity,
            .confidence = "high",
            .plain = "does not fit",
            .evidence = m.no_room};
  }
  if (!m.no_steps.empty()) {
    return {.confidence = "none", .plain = "no steps", .evidence = {"No step could be timed: " + m.no_steps + "."}};
  }
  if (m.steps < least_steps) {
    return {.confidence = "none",
            .plain = "too few steps",
            .evidence = {
                fmt::format("Only {} could be timed: at least {} are needed.", counted(m.steps, "step"), least_steps),
                "A longer training has more steps, and more --seconds time more of them."}};
  }
  return is_contended(m) ? contention(m) : by_shares(m);
}

}  // namespace trainlab

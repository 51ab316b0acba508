// A profile as text and as data.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "core/number_or_nil.h"
#include "profile/profile.h"
#include "time_text.h"

namespace trainlab {

namespace {

// A bar of full blocks: 20 of them stand for a whole step.
std::string bar(double share) {
  constexpr int columns = 20;
  const int filled = std::clamp(static_cast<int>(std::lround(share * columns)), 0, columns);
  std::string text;
  for (int i = 0; i < filled; ++i) text += "█";
  return text + std::string(static_cast<std::size_t>(columns - filled), ' ');
}

// Samples a second, computed from the interval of a step's time.
std::optional<MedianInterval> samples_per_second(const Profile& profile) {
  const MedianInterval& step = profile.steps.step;
  if (profile.samples == 0 || step.low <= 0) return std::nullopt;
  return step.inverse(profile.samples);
}

Value rhythm_value(const Rhythm& rhythm) {
  return Value::Map{{"seconds", number_or_nil(rhythm.seconds)}, {"every_steps", number_or_nil(rhythm.every)}};
}

std::string steadiness(const StepFigures& steps) {
  if (!steps.drift) return "too few steps to say whether they are steady";
  if (steps.is_steady()) return "steady";
  return fmt::format("not steady: the later half is {:.0f} % {}", 100 * std::abs(*steps.drift),
                     *steps.drift > 0 ? "slower" : "faster");
}

// Why a part of a step has no share.
const char* why_unknown(std::string_view part) {
  return part == "launch_gap" ? "operators were not counted" : "none came while steps were timed";
}

std::string rhythm_text(const char* name, const Rhythm& rhythm) {
  if (!rhythm.seconds) return "";
  return fmt::format("{:<16} {} each, {}\n", name, time_text(*rhythm.seconds),
                     rhythm.every ? "every " + count_text(std::round(std::max(1.0, *rhythm.every))) + " steps"
                                  : "how often is unknown");
}

}  // namespace

std::string time_text(double seconds) {
  constexpr std::array<std::pair<double, const char*>, 4> units{{{1, "s"}, {1e-3, "ms"}, {1e-6, "µs"}, {1e-9, "ns"}}};
  for (const auto& [unit, name] : units)
    if (seconds >= unit) return figure_text(seconds / unit, 3) + " " + name;
  return figure_text(seconds, 3) + " s";
}

std::string profile_text(const Profile& profile, const Measures& measures) {
  const StepFigures& steps = profile.steps;
  const StepVerdict verdict = judge(measures);
  std::string text = fmt::format("{}: {}", bottleneck_name(verdict.bottleneck), verdict.plain);
  if (verdict.share > 0)
    text += fmt::format(", {:.0f} % of {}", 100 * verdict.share,
                        verdict.bottleneck == Bottleneck::contention ? "the time" : "a step");
  text += ", confidence " + verdict.confidence + "\n";
  for (const std::string& sentence : verdict.evidence) text += "  " + sentence + "\n";
  text += "\n" + profile.kind + " " + profile.stage + "  " + profile.where + "\n";
  if (steps.steps == 0) return text;

  const std::string over_blocks =
      steps.step.median < steps.block ? " over blocks of " + time_text(steps.block) : std::string();
  text += fmt::format("{:<16} {}, the median{} ({} to {}{})\n", "step", time_text(steps.step.median), over_blocks,
                      time_text(steps.step.low), time_text(steps.step.high),
                      steps.has_interval ? " with 95 % probability" : ", too few for an interval");
  if (const auto speed = samples_per_second(profile)) {
    text += fmt::format("{:<16} {} ({} to {})\n", "samples/s", count_text(std::round(speed->median)),
                        count_text(std::round(speed->low)), count_text(std::round(speed->high)));
  }
  text += fmt::format("{:<16} {} timed, {} cold ones dropped; {}{}\n", "steps", count_text(double(steps.steps)),
                      steps.cold, steadiness(steps), steps.is_precise ? "" : "; the interval is wider than ±2 %");
  text += rhythm_text("validation", profile.validation) + rhythm_text("checkpoint", profile.checkpoint);
  text += "\nof " + time_text(profile.wall()) + " a step in the mean, with its part of validations and checkpoints\n";
  for (const auto& [name, share] : listed(measures.shares)) {
    if (!share) {
      text += fmt::format("{:<16} unknown: {}\n", name, why_unknown(name));
    } else if (*share >= 0.0005) {
      text +=
          fmt::format("{:<16} {} {:5.1f} %  {}\n", name, bar(*share), 100 * *share, time_text(*share * profile.wall()));
    }
  }
  text += "\n";
  if (measures.operators) {
    const std::string each = measures.operator_seconds
                                 ? ", " + time_text(*measures.operator_seconds) + " each in one of the median length"
                                 : std::string();
    text += fmt::format("{:<16} {} a step{}; {} for one without arithmetic\n", "operators",
                        count_text(std::round(*measures.operators)), each, time_text(profile.call_seconds));
  }
  if (measures.flops)
    text += fmt::format("{:<16} {} GFLOP/s in both passes\n", "arithmetic", figure_text(1e-9 * *measures.flops, 3));
  if (measures.cores_busy) {
    text += fmt::format(
        "{:<16} {:.2f} of {:.0f} busy; the training thread waited for one for {} of the time, and "
        "was interrupted {} times a second\n",
        "cores", *measures.cores_busy, profile.cores,
        measures.run_queue ? fmt::format("{:.1f} %", 100 * *measures.run_queue) : "an unknown part",
        fmt::format("{:.0f}", double(steps.thread.switches) / steps.thread.seconds));
  }
  return text;
}

Value cores_value(const Profile& profile, const Measures& measures) {
  return Value::Map{{"busy", number_or_nil(measures.cores_busy)},
                    {"usable", profile.cores},
                    {"others", measures.core_use ? Value(measures.core_use->others) : Value()},
                    {"run_queue", number_or_nil(measures.run_queue)},
                    {"switches", profile.steps.thread.switches}};
}

Value profile_value(const Profile& profile, const Measures& measures) {
  const StepFigures& steps = profile.steps;
  const StepVerdict verdict = judge(measures);
  Value::List evidence(verdict.evidence.begin(), verdict.evidence.end());
  Value::Map shares, phases;
  for (const auto& [name, share] : listed(measures.shares)) shares.emplace(name, number_or_nil(share));
  for (std::size_t i = 0; i < phase_count; ++i) {
    if (steps.self[i] > 0) phases.emplace(std::string(phase_name(static_cast<Phase>(i))), steps.self[i]);
  }
  const std::optional<MedianInterval> speed = samples_per_second(profile);
  // Without a timed step, validations and checkpoints are known at most, and a step is not.
  const auto of_step = [&](Value value) { return steps.steps > 0 ? std::move(value) : Value(); };
  return Value::Map{
      {"kind", "profile"},
      {"status", "done"},
      {"stage", profile.stage},
      {"stage_kind", profile.kind},
      {"verdict", bottleneck_name(verdict.bottleneck)},
      {"otherwise", bottleneck_name(verdict.otherwise)},
      {"plain", verdict.plain},
      {"share", verdict.bottleneck == Bottleneck::unknown ? Value() : of_step(verdict.share)},
      {"confidence", verdict.confidence},
      {"evidence", std::move(evidence)},
      {"step_seconds", of_step(steps.step.to_value())},
      {"samples_per_second", speed ? speed->to_value() : Value()},
      {"has_interval", steps.has_interval},
      {"is_precise", steps.is_precise},
      {"allowed_seconds", profile.allowed},
      {"is_steady", steps.drift ? Value(steps.is_steady()) : Value()},
      {"steps", steps.steps},
      {"cold_steps", steps.cold},
      {"wall_seconds", of_step(profile.wall())},
      {"shares", of_step(std::move(shares))},
      {"phase_seconds", std::move(phases)},
      {"validation", rhythm_value(profile.validation)},
      {"checkpoint", rhythm_value(profile.checkpoint)},
      {"operators", Value::Map{{"per_step", number_or_nil(measures.operators)},
                               {"seconds", number_or_nil(measures.operator_seconds)},
                               {"call_seconds", profile.call_seconds}}},
      {"flops_per_second", number_or_nil(measures.flops)},
      {"cores", cores_value(profile, measures)},
  };
}

}  // namespace trainlab

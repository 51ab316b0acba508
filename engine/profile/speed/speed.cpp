#include "profile/speed.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "core/file_of_flag.h"
#include "core/host.h"
#include "run/version.h"
#include "taken_cores.h"

namespace trainlab {

namespace {

MedianInterval interval_of(const Value& value) {
  return {.median = value["median"].number(), .low = value["low"].number(), .high = value["high"].number()};
}

// The unit of the speeds: samples where both speeds have them, else steps. A task's speed has steps alone.
std::string unit_of(const Value& now, const Value& before) {
  return now["samples_per_second"].is_map() && before["samples_per_second"].is_map() ? "samples" : "steps";
}

bool is_interval(const Value& value) {
  for (const char* name : {"median", "low", "high"})
    if (!value[name].is_number() || value[name].number() <= 0) return false;
  return true;
}

Error no_speed(const std::string& file, const std::string& found) {
  return usage_error("--against " + file + ": expected what `trainlab bench --json` prints" + found)
      .hint("a file that this command writes: trainlab bench RECIPE.lua --json > speed.json");
}

void check_speed(const Value& speed, const std::string& file) {
  const Value& samples = speed["samples_per_second"];  // nil of a task
  if (speed["kind"] == Value("bench") && is_interval(speed["steps_per_second"]) &&
      (samples.is_nil() || is_interval(samples)) && speed["stage"].is_string() && speed["machine"].is_map()) {
    return;
  }
  throw no_speed(file, speed["kind"].is_string() ? ", found an object of the kind " + speed["kind"].string()
                       : speed.is_map()          ? ""
                                                 : ", found " + speed.brief());
}

// Few a second have digits behind the point.
std::string rate_text(double rate) { return rate < 100 ? figure_text(rate, 3) : count_text(std::round(rate)); }

}  // namespace

Value speed_value(const Profile& profile, const Options& stage, const RunSettings& settings) {
  check_timed(profile);
  const MedianInterval& step = profile.steps.step;
  return Value::Map{
      {"kind", "bench"},
      {"status", "done"},
      {"stage", profile.stage},
      {"options", fingerprint(stage.value())},
      {"steps_per_second", step.inverse(1).to_value()},
      {"samples_per_second", profile.samples > 0 ? step.inverse(profile.samples).to_value() : Value()},
      {"has_interval", profile.steps.has_interval},
      {"is_precise", profile.steps.is_precise},
      {"steps", profile.steps.steps},
      {"cut_short", profile.steps.cut_short ? Value(profile.steps.why_cut_short()) : Value()},
      {"machine", Value::Map{{"processor", processor_name()},
                             {"cores", profile.cores},
                             {"device", settings.device},
                             {"threads", settings.threads}}},
      {"cores", cores_value(profile, measures_of(profile))},
      {"trainlab", std::string(version())},
  };
}

std::string speed_text(const Value& speed) {
  const std::string unit = unit_of(speed, speed);
  const MedianInterval one = interval_of(speed[unit + "_per_second"]);
  const std::string trial = speed["note"].is_string() ? ", " + speed["note"].string() : "";
  std::string text = fmt::format(
      "{} {} a second ({} to {}{}), stage {}{}\n", rate_text(one.median), unit, rate_text(one.low), rate_text(one.high),
      speed["has_interval"].boolean() ? " with 95 % probability" : ", too few steps for an interval",
      speed["stage"].string(), trial);
  if (speed["cut_short"].is_string())
    text += "further runs of the stage were not measured: " + speed["cut_short"].string() + "\n";
  if (const std::string taken = taken_cores(speed["cores"]); !taken.empty())
    text += "other work had " + taken + " meanwhile: the stage alone is faster\n";
  if (!speed["has_interval"].boolean()) {
    text += "more steps are needed: a longer stage, or more --seconds\n";
  } else if (!speed["is_precise"].boolean()) {
    text += "the interval is wide: measure longer (--seconds), on a quiet machine\n";
  }
  return text;
}

Value Comparison::value() const {
  return Value::Map{{"ratio", ratio.to_value()}, {"is_judged", is_judged}, {"is_slower", is_slower}, {"text", text}};
}

Value read_speed(const std::filesystem::path& file) {
  const std::string text = read_file_of("--against", file);
  Value speed;
  try {
    speed = parse_json(text, "found text");
  } catch (const Error& error) {
    throw no_speed(file.string(), ", " + error.message());
  }
  check_speed(speed, file.string());
  return speed;
}

Comparison compare_speed(const Value& now, const Value& before, double tolerance, const std::string& file) {
  check_speed(before, file);
  if (now["stage"] != before["stage"]) {
    throw usage_error("--against " + file + ": expected the speed of stage \"" + now["stage"].string() +
                      "\", found that of \"" + before["stage"].string() + "\"");
  }
  const std::string member = unit_of(now, before) + "_per_second";
  const MedianInterval mine = interval_of(now[member]), theirs = interval_of(before[member]);
  Comparison result{
      .ratio = {.median = mine.median / theirs.median, .low = mine.low / theirs.high, .high = mine.high / theirs.low}};
  result.text = fmt::format("{:.3f} of the speed in {} ({:.3f} to {:.3f})", result.ratio.median, file, result.ratio.low,
                            result.ratio.high);
  std::string notes;
  const auto leave_open = [&](const std::string& why) {
    result.is_judged = false;
    notes += "\nnot judged: " + why;
  };
  for (const auto& [name, value] : now["machine"].map()) {
    const Value& other = before["machine"][name];
    if (other != value) leave_open(fmt::format("{} is {}, and was {}", name, value.brief(), other.brief()));
  }
  for (const Value* one : {&now, &before}) {
    if ((*one)["has_interval"] != Value(true))
      leave_open("too few steps were timed " + std::string(one == &now ? "now" : "then"));
  }
  for (const Value* one : {&now, &before}) {
    const std::string taken = taken_cores((*one)["cores"]);
    if (!taken.empty()) leave_open("other work had " + taken + (one == &now ? " now" : " then"));
  }
  result.is_slower = result.is_judged && result.ratio.high < 1 - tolerance;
  if (result.is_slower) {
    result.text += fmt::format(": slower by more than {:g} %", 100 * tolerance);
  } else if (result.is_judged && result.ratio.median < 1 - tolerance) {
    result.text += fmt::format(": perhaps slower by more than {:g} %, the intervals leave it open", 100 * tolerance);
  }
  result.text += notes;
  if (now["options"] != before["options"])
    result.text += "\nthe options of the stage differ from those of the earlier measurement";
  result.text += "\n";
  return result;
}

}  // namespace trainlab

#include "journal/speed.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <limits>
#include <memory>
#include <utility>

#include "core/number_or_nil.h"

namespace trainlab {
namespace {

// Less than this much training says nothing about the rest of it.
constexpr double first_look = 5, look_every = 5;  // seconds
// A share above this one is told. TensorFlow's profiler calls a step that waits for 20 % of its time highly input-bound
// (openxla/xprof, op_stats_to_input_pipeline_analysis.cc).
constexpr double told_share = 0.2;
// Who has the cores is known of trainings that fill at least this share of the time between two looks.
constexpr double least_trained = 0.5;

std::string whole_percent(double share) { return std::to_string(static_cast<int>(std::lround(100 * share))) + " %"; }

std::string said_by(const std::string& text, const std::string& command) {
  return command.empty() ? "" : text + command;
}

// Whether the recipe's own transforms take the larger part of the steps' wait for data.
bool waits_for_recipe(const SpeedFigures& figures) { return figures.transform > figures.input / 2; }

double share_of_training(double seconds, const SpeedFigures& figures) {
  return seconds / (figures.input + figures.training);
}

// How long getting the data takes. Waiting for them and the recipe's own transforms are told apart, as the shares are.
std::string input_text(const SpeedFigures& figures) {
  const auto part = [&](double seconds) { return whole_percent(share_of_training(seconds, figures)); };
  const std::string whole = " takes " + part(figures.input) + " of the training time";
  if (waits_for_recipe(figures))
    return "getting the data" + whole +
           ", most of it in the recipe's own functions (data:transform), which run on the thread that trains";
  constexpr double shown = 0.005;  // a smaller share is 0 %
  if (!(share_of_training(figures.transform, figures) >= shown)) return "waiting for data" + whole;
  return "getting the data" + whole + ": waiting for them " + part(figures.input - figures.transform) +
         ", and the recipe's own functions (data:transform) " + part(figures.transform);
}

double share_without_core(const SpeedFigures& figures) {
  return figures.wall > 0 ? figures.without_core / figures.wall : std::nan("");
}

// The sums of seconds by their names.
constexpr std::array seconds_by_name{
    std::pair("wall", &SpeedFigures::wall),
    std::pair("training", &SpeedFigures::training),
    std::pair("input", &SpeedFigures::input),
    std::pair("transform", &SpeedFigures::transform),
    std::pair("evaluation", &SpeedFigures::evaluation),
    std::pair("checkpoint", &SpeedFigures::checkpoint),
    std::pair("without_core", &SpeedFigures::without_core),
    std::pair("for_others", &SpeedFigures::for_others),
    std::pair("for_own", &SpeedFigures::for_own),
};

}  // namespace

std::optional<double> seconds_without_core() {
  // Nanoseconds on a core, nanoseconds of waiting for one, time slices.
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen("/proc/thread-self/schedstat", "re"),
                                                             std::fclose);
  unsigned long long on_core = 0, waited = 0;
  if (!file || std::fscanf(file.get(), "%llu %llu", &on_core, &waited) != 2) return std::nullopt;
  return static_cast<double>(waited) * 1e-9;
}

// ------------------------------------------------------------------------------------------------------------ figures

void SpeedFigures::add(const SpeedFigures& other) {
  for (const auto& [name, seconds] : seconds_by_name) this->*seconds += other.*seconds;
  samples += other.samples;
  peak_memory = std::max(peak_memory, other.peak_memory);
  steps.add(other.steps);
}

Value SpeedFigures::to_value(const SpeedWords& words) const {
  Value speed, times, shares;
  if (steps.steps() > 0) {
    times.set("median", steps.quantile(0.5));
    times.set("p95", steps.quantile(0.95));
  }
  speed.set("step_seconds", std::move(times));
  const double stepping = training + input;
  if (wall > 0) {
    shares.set("training", training / wall);
    shares.set("input", input / wall);
    shares.set("evaluation", evaluation / wall);
    shares.set("checkpoint", checkpoint / wall);
    shares.set("other", std::max(wall - stepping - evaluation - checkpoint, 0.0) / wall);
  }
  speed.set("shares", std::move(shares));
  const bool has_rate = samples > 0 && stepping > 0;
  speed.set("samples_per_second", has_rate ? Value(static_cast<double>(samples) / stepping) : Value());
  speed.set("transform", wall > 0 ? finite_or_nil(transform / wall) : Value());
  speed.set("without_core", finite_or_nil(share_without_core(*this)));
  speed.set("peak_memory", peak_memory);
  Value::List notes;
  for (const SpeedNote& note : speed_notes(*this, words)) notes.emplace_back(note.text);
  speed.set("notes", std::move(notes));
  return speed;
}

Value SpeedFigures::sums() const {
  Value sums;
  for (const auto& [name, seconds] : seconds_by_name) sums.set(name, finite_or_nil(this->*seconds));
  sums.set("samples", samples);
  sums.set("peak_memory", peak_memory);
  sums.set("steps", steps.to_value());
  return sums;
}

bool SpeedFigures::add(const Value& sums) {
  if (!sums.is_map() || !sums["samples"].is_integer() || !sums["peak_memory"].is_integer()) return false;
  SpeedFigures other;
  for (const auto& [name, seconds] : seconds_by_name)
    other.*seconds = sums[name].is_number() ? sums[name].number() : std::nan("");
  if (!std::isfinite(other.wall + other.training + other.input + other.evaluation + other.checkpoint)) return false;
  other.samples = sums["samples"].integer();
  other.peak_memory = sums["peak_memory"].integer();
  other.steps.add(sums["steps"]);
  add(other);
  return true;
}

// -------------------------------------------------------------------------------------------------------------- notes

std::vector<SpeedNote> speed_notes(const SpeedFigures& figures, const SpeedWords& words) {
  std::vector<SpeedNote> notes;
  if (figures.wall < first_look) return notes;
  if (share_of_training(figures.input, figures) > told_share) {
    notes.push_back({SpeedNote::Cause::input,
                     input_text(figures) + said_by(waits_for_recipe(figures) ? "; what its steps wait for is said by: "
                                                                             : "; what limits the input is said by: ",
                                                   words.on_input)});
  }
  const double without = share_without_core(figures);
  const bool others = figures.for_others > figures.for_own;
  const double known = figures.for_others + figures.for_own, reason = others ? figures.for_others : figures.for_own;
  if (known > 0 && without * reason / known > told_share) {
    notes.push_back({SpeedNote::Cause::cores,
                     (others ? "other work has the cores: for " : "the run has more threads than cores: for ") +
                         whole_percent(without) + " of the time the training was ready to go on and waited for a core" +
                         (others ? "" : std::string("; ") + fewer_threads) +
                         said_by("; what its steps wait for is said by: ", words.on_cores)});
  }
  return notes;
}

SpeedWords words_while_training(const StageContext& stage) {
  return {.on_input = stage.profile_recipe, .on_cores = stage.profile_run};
}

SpeedWords words_at_end(const StageContext& stage) {
  const std::string command = stage.profile_recipe == stage.profile_run ? "" : stage.profile_recipe;
  return {.on_input = command, .on_cores = command};
}

SpeedTotal::SpeedTotal(Say say, SpeedWords words, Cores cores)
    : say_(std::move(say)),
      words_(std::move(words)),
      cores_(std::move(cores)),
      next_look_(say_ ? first_look : std::numeric_limits<double>::infinity()) {}

double SpeedTotal::seconds_to_look() const { return next_look_ - ended_.wall; }

WaitReasons SpeedTotal::look(const SpeedFigures& present, double now) {
  SpeedFigures all = ended_;
  all.add(present);
  next_look_ = all.wall + look_every;
  const WaitReasons seconds = look_at_cores(all, now);
  all.for_others += seconds.for_others;
  all.for_own += seconds.for_own;
  for (const SpeedNote& note : speed_notes(all, words_)) {
    if (told_.insert(note.cause).second) say_("note: " + note.text);
  }
  return seconds;
}

WaitReasons SpeedTotal::look_at_cores(const SpeedFigures& all, double now) {
  const auto now_cores = share_without_core(all) > told_share ? cores_() : std::nullopt;
  std::optional<CoreLook> look;
  if (now_cores) look = {.at = now, .trained = all.wall, .without_core = all.without_core, .cores = *now_cores};
  const std::optional<CoreLook> before = std::exchange(core_look_, look);
  if (!before || !look || now <= before->at) return {};
  const double seconds = now - before->at, trained = look->trained - before->trained;
  // The wait is that of trainings, and the cores were counted in the pauses between them as well.
  if (trained < least_trained * seconds) return {};
  const double waited = std::clamp((look->without_core - before->without_core) / trained, 0.0, 1.0);
  const CoreUse use = core_use(look->cores - before->cores, seconds);
  const WaitReasons shares = reasons_of_wait(waited, use).value_or(WaitReasons());
  return {.for_others = shares.for_others * trained, .for_own = shares.for_own * trained};
}

void SpeedTotal::add(const SpeedFigures& training) {
  ended_.add(training);
  untaken_.add(training);
}

SpeedFigures SpeedTotal::take() { return std::exchange(untaken_, {}); }

// -------------------------------------------------------------------------------------------------------------- meter

SpeedMeter::SpeedMeter(CoreWait core_wait) : core_wait_(std::move(core_wait)) {}

void SpeedMeter::begin(double now, SpeedTotal& total) {
  total_ = &total;
  begin_ = now;
  next_look_ = now + total.seconds_to_look();
  wait_at_begin_ = core_wait_();
}

void SpeedMeter::look(double now) {
  const WaitReasons seconds = total_->look(figures(now, 0), now);
  figures_.for_others += seconds.for_others;
  figures_.for_own += seconds.for_own;
  next_look_ = now + look_every;
}

void SpeedMeter::end(double now, std::int64_t peak_memory) {
  if (SpeedTotal* const total = std::exchange(total_, nullptr)) total->add(figures(now, peak_memory));
  next_look_ = std::numeric_limits<double>::infinity();
}

SpeedFigures SpeedMeter::figures(double now, std::int64_t peak_memory) const {
  SpeedFigures all = figures_;
  all.wall = now - begin_;
  const std::optional<double> waited = core_wait_();
  all.without_core = waited && wait_at_begin_ ? *waited - *wait_at_begin_ : std::nan("");
  all.peak_memory = peak_memory;
  return all;
}

}  // namespace trainlab

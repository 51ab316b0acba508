#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <map>
#include <span>
#include <system_error>

#include "core/clock.h"
#include "core/trace.h"
#include "layers/few_steps.h"
#include "listening_to_loader.h"
#include "profile/pipeline.h"

namespace trainlab {
namespace {

constexpr std::int64_t fewest_batches = 2;
constexpr std::int64_t files_read = 512;
// Steps that touch memory and code for the first time, and wait for a loader that has nothing ready yet.
constexpr std::int64_t cold_steps = 3;

bool in_loader(InputStage stage) { return stage != InputStage::transform && stage != InputStage::wait; }

const RowSource* source_of(const Dataset& data) {
  for (const Column& column : data.columns)
    if (column.source) return column.source.get();
  return nullptr;
}

// The samples that took most time. A sample that was made in several epochs counts once, with its fastest time: what
// disturbed one of the others is no property of the sample.
std::vector<SlowSample> slowest_of(const Dataset& data, const std::vector<SampleCost>& costs, std::size_t count) {
  std::map<std::int64_t, double> seconds_of_row;
  for (const SampleCost& one : costs) {
    const auto [found, is_new] = seconds_of_row.emplace(one.row, one.seconds);
    if (!is_new) found->second = std::min(found->second, one.seconds);
  }
  std::vector<std::pair<std::int64_t, double>> slowest(std::min(count, seconds_of_row.size()));
  std::ranges::partial_sort_copy(seconds_of_row, slowest, std::ranges::greater{},
                                 &std::pair<const std::int64_t, double>::second,
                                 &std::pair<std::int64_t, double>::second);
  const RowSource* const source = source_of(data);
  std::vector<SlowSample> all;
  for (const auto& [row, seconds] : slowest)
    all.push_back({.row = row, .name = source ? source->place(row).name : "", .seconds = seconds});
  return all;
}

// The bytes of the files from which these samples were made.
double bytes_of(const Dataset& data, const std::vector<SampleCost>& costs) {
  const RowSource* const source = source_of(data);
  double sum = 0;
  for (const SampleCost& one : costs) {
    const FilePlace place = source ? source->place(one.row) : FilePlace{};
    if (place.path.empty()) continue;
    std::error_code is_gone;
    const auto to_end = [&] { return static_cast<double>(std::filesystem::file_size(place.path, is_gone)); };
    const double bytes = place.size >= 0 ? static_cast<double>(place.size) : to_end();
    if (!is_gone) sum += bytes;
  }
  return sum;
}

// The places of some rows in files, spread evenly over the part.
std::vector<FilePlace> places_of(const Part& part) {
  const RowSource* const source = source_of(*part.data);
  std::vector<FilePlace> places;
  if (!source) return places;
  const std::int64_t count = std::min(part.size(), files_read);
  for (std::int64_t i = 0; i < count; ++i) {
    FilePlace place = source->place(part.row(i * part.size() / count));
    if (!place.path.empty()) places.push_back(std::move(place));
  }
  return places;
}

// Measures the seconds of steps on one thread, and the seconds of fetching batches within these steps. What the
// recorder hears of the loader during cold steps is forgotten.
class StepSeconds final : public TraceListener {
 public:
  explicit StepSeconds(PipelineRecorder& loader) : loader_(loader) {}

  void began(Phase phase, std::string_view) override { at(phase) -= steady_seconds(); }
  void ended(Phase phase, std::string_view) noexcept override {
    at(phase) += steady_seconds();
    if (phase != Phase::step || ++steps_ != cold_steps) return;
    step_ = fetch_ = 0;
    loader_.forget();
  }

  // The seconds of a step without fetching. The fetch includes a transform of the recipe's own.
  double without_fetch() const {
    return steps_ > cold_steps ? (step_ - fetch_) / warm_steps() : PipelineTable::unknown;
  }
  double warm_steps() const { return static_cast<double>(steps_ - cold_steps); }

 private:
  // The sum to which a phase's time is added. Batches of validations, which are fetched outside of steps, do not count.
  // No other phase is nested in itself.
  double& at(Phase phase) {
    if (phase == Phase::validate) is_validating_ = !is_validating_;
    if (phase == Phase::step) return step_;
    return phase == Phase::fetch && !is_validating_ ? fetch_ : others_;
  }

  PipelineRecorder& loader_;
  double step_ = 0, fetch_ = 0, others_ = 0;
  bool is_validating_ = false;
  std::int64_t steps_ = 0;
};

}  // namespace

std::optional<double> PipelineTable::sample_seconds() const {
  if (costs.empty()) return std::nullopt;
  double sum = 0;
  for (const SampleCost& one : costs) sum += one.seconds;
  return sum / static_cast<double>(costs.size());
}

double PipelineTable::epoch_seconds(const StageCost& one) const {
  const bool is_read_cold = one.stage == InputStage::read && files && files->are_read_cold();
  if (!is_read_cold || !storage || storage->files == 0 || !storage->is_cold.value_or(false)) return one.seconds;
  return std::max(one.seconds,
                  storage->seconds / static_cast<double>(storage->files) * static_cast<double>(one.samples));
}

double PipelineTable::loader_seconds() const {
  double sum = 0;
  for (const StageCost& one : stages) sum += in_loader(one.stage) ? epoch_seconds(one) : 0;
  return sum / static_cast<double>(made) * step_samples;
}

double PipelineTable::transform_seconds() const {
  const auto found = std::ranges::find(stages, InputStage::transform, &StageCost::stage);
  if (found == stages.end()) return 0;
  return found->seconds / static_cast<double>(found->samples) * step_samples;
}

std::optional<int> PipelineTable::threads_needed() const {
  if (std::isnan(step_seconds)) return {};
  // While a function of the recipe works on a batch, the loader makes other batches.
  return static_cast<int>(std::max(1.0, std::ceil(loader_seconds() / (step_seconds + transform_seconds()))));
}

InputStage PipelineTable::slowest_stage() const {
  const auto cost = [&](const StageCost& one) { return one.stage == InputStage::wait ? -1 : epoch_seconds(one); };
  return std::ranges::max_element(stages, {}, cost)->stage;
}

PipelineTable drain_pipeline(const Part& part, LoaderOptions options, const PipelineWork& work,
                             const std::function<double()>& clock) {
  PipelineRecorder recorder(clock);
  options.listener = &recorder;
  PipelineTable table;
  table.batch = options.batch;
  table.threads = options.threads;
  {
    Loader loader(part, options, {Key(0)}, false);
    const double begin = steady_seconds();
    for (std::int64_t i = 0; i < fewest_batches || table.samples < work.samples; ++i) {
      if (i >= fewest_batches && steady_seconds() - begin > work.seconds) break;
      table.samples += loader.next().size;
    }
    table.seconds = steady_seconds() - begin;
  }
  // Threads may have made batches that nobody has taken: their work is counted, and so are their samples.
  table.stages = recorder.stages();
  for (const StageCost& one : table.stages)
    if (one.stage == InputStage::gather) table.made = one.samples;
  table.costs = recorder.samples();
  table.read_bytes = bytes_of(*part.data, table.costs);
  table.slowest = slowest_of(*part.data, table.costs, work.slowest);
  return table;
}

PipelineTable measure_pipeline(FitPlan& plan, const PipelineWork& work) {
  PipelineRecorder recorder(steady_seconds);
  StepSeconds clock(recorder);
  {
    const ListeningToLoader loader(plan, recorder);
    const Listening listening(clock);
    run_few_steps(plan, cold_steps + work.steps);
  }
  const std::vector<FilePlace> places = places_of(plan.data.train);
  std::optional<FilesOfData> files;
  if (!places.empty()) files = look_at_files(places, plan.data.train.size());
  PipelineTable table = drain_pipeline(plan.data.train, plan.loader, work, steady_seconds);
  table.files = files;
  table.fill = recorder.fill();
  for (const StageCost& one : recorder.stages()) {
    if (one.stage == InputStage::wait && clock.warm_steps() > 0) table.wait_seconds = one.seconds / clock.warm_steps();
  }
  table.step_seconds = clock.without_fetch();
  table.step_samples = plan.step_samples();
  if (files) table.storage = measure_storage(places);
  return table;
}

}  // namespace trainlab

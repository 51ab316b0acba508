// How fast the input pipeline of a fit is, stage by stage: what its threads do for a batch, which stage takes longest,
// how many threads would feed the step, which samples are slow.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "core/input_trace.h"
#include "core/value.h"
#include "train/fit_plan.h"

namespace trainlab {

struct StageCost {
  InputStage stage = InputStage::read;
  double seconds = 0;        // sum over all threads, without the stages inside
  std::int64_t samples = 0;  // samples that have passed the stage
};

struct SampleCost {
  std::int64_t row = 0;  // row of the dataset
  double seconds = 0;
};

// How many batches were ready at a moment when the consumer asked for one.
struct QueueFill {
  double seconds = 0;  // since the consumer asked for the first time
  std::int64_t ready = 0, capacity = 0;
};

// Adds up the input spans of all threads. Thread-safe.
class PipelineRecorder final : public InputListener {
 public:
  // `clock` returns the time in seconds on the calling thread.
  explicit PipelineRecorder(std::function<double()> clock) : clock_(std::move(clock)) {}

  void began(InputStage stage) noexcept override;
  void ended(InputStage stage, std::int64_t samples) noexcept override;
  void sample_began(std::int64_t row) noexcept override;
  void sample_ended(std::int64_t row) noexcept override;
  void taking(std::int64_t ready, std::int64_t capacity) noexcept override;

  // The stages that took place, in the order of the enum.
  std::vector<StageCost> stages() const;
  // Samples that were made singly, in the order in which they were done; data that lie in memory have none.
  std::vector<SampleCost> samples() const;
  std::vector<QueueFill> fill() const;

 private:
  struct Thread {
    std::vector<InputStage> open;  // stages under way, the outermost first
    double last = 0, sample_began = 0;
  };
  // Charges the time since the thread's last call to its innermost stage; returns the thread. With the lock held.
  Thread& charged();

  const std::function<double()> clock_;
  mutable std::mutex mutex_;
  std::map<std::thread::id, Thread> threads_;
  std::map<InputStage, StageCost> stages_;
  std::vector<SampleCost> samples_;
  std::vector<QueueFill> fill_;
};

struct SlowSample {
  std::int64_t row = 0;
  std::string name;  // name of the sample's file; empty where the sample has no file
  double seconds = 0;
};

// How fast one thread that does nothing else reads the files of the data.
struct StorageSpeed {
  double bytes = 0, seconds = 0;
  // Whether the files were read from storage: the system was asked to drop what it keeps of them, and did. If false,
  // the speed is that of the system's cache.
  bool is_cold = false;
};

struct PipelineTable {
  static constexpr double unknown = std::numeric_limits<double>::quiet_NaN();
  std::int64_t batch = 0;
  int threads = 0;     // the loader's threads; 0: the thread that trains makes the batches
  double seconds = 0;  // time in which the loader alone gave `samples` samples as fast as it could
  std::int64_t samples = 0;
  std::int64_t made = 0;          // samples that the loader's threads made: `samples`, and some that nobody took
  std::vector<StageCost> stages;  // the stages of all samples that were made
  std::vector<SampleCost> costs;  // costs of single samples
  std::vector<SlowSample> slowest;
  std::optional<StorageSpeed> storage;  // absent for data that are read into memory as a whole

  // Figures from steps of the fit itself: the seconds of a step without the fetching of its batches, and the seconds
  // that a step waits for its batches. NaN where no step was taken.
  double step_seconds = unknown, wait_seconds = unknown;
  double step_samples = 0;  // the mean over an epoch
  std::vector<QueueFill> fill;

  // Seconds of work by the loader's threads, or by the recipe's thread, for the samples of a step.
  double loader_seconds() const;
  double transform_seconds() const;
  // How many loader threads, each with a core of its own, have the next step's batches ready when a step ends; nullopt
  // where no step was taken.
  std::optional<int> threads_needed() const;
  // Mean seconds of the samples that were made singly; nullopt where there was none.
  std::optional<double> sample_seconds() const;
  // The stage with the most seconds for a sample.
  InputStage slowest_stage() const;

  // { pipeline = { batch, threads, threads_needed, limits = STAGE, feeds_step, step_seconds, wait_seconds,
  // loader_seconds, samples_per_second, STAGE = { items_per_second (of one thread), seconds, items, threads (busy) },
  // …, sample = { median, p95, largest }, slowest = { { index, name, seconds }, … }, queue = { capacity, mean, empty,
  // fill = { { seconds, ready }, … } }, storage = { bytes_per_second, cold } } }. A stage that did not take
  // place, and a figure that was not measured, is missing.
  Value to_value() const;
  std::string text() const;
};

struct PipelineWork {
  std::int64_t steps = 20;      // steps of the fit
  std::int64_t samples = 4096;  // samples that the loader gives alone, rounded up to whole batches
  double seconds = 5;           // limit of the loader's time, about; two batches are taken in any case
  std::size_t slowest = 10;     // samples to name
};

// Takes batches of the part from a loader of its own as fast as this loader gives them. The table has no figures of a
// step. `clock` as in PipelineRecorder. Errors of the data are raised.
PipelineTable drain_pipeline(const Part& part, LoaderOptions options, const PipelineWork& work,
                             const std::function<double()>& clock);

// Takes some steps of the fit as run_few_steps does, then drains the loader alone, then reads files of the data. The
// plan is unchanged afterwards.
PipelineTable measure_pipeline(FitPlan& plan, const PipelineWork& work = {});

// Reads the bytes of these places, at most 64 MiB and about a second.
StorageSpeed measure_storage(const std::vector<FilePlace>& places);

}  // namespace trainlab

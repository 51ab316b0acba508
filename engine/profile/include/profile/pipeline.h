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

#include "core/clock.h"
#include "core/input_trace.h"
#include "core/value.h"
#include "train/fit_plan.h"

namespace trainlab {

struct StageCost {
  InputStage stage = InputStage::read;
  double seconds = 0;        // of all threads together, without the stages inside
  std::int64_t samples = 0;  // that have passed the stage
};

struct SampleCost {
  std::int64_t row = 0;  // of the dataset
  double seconds = 0;
};

// When the consumer asked for a batch: the batches that were there.
struct QueueFill {
  double seconds = 0;  // since the first time
  std::int64_t ready = 0, capacity = 0;
};

// Adds up the input spans of all threads. Thread-safe.
class PipelineRecorder final : public InputListener {
 public:
  // `clock`: seconds, as the calling thread sees them.
  explicit PipelineRecorder(std::function<double()> clock = steady_seconds) : clock_(std::move(clock)) {}

  void began(InputStage stage) noexcept override;
  void ended(InputStage stage, std::int64_t samples) noexcept override;
  void sample_began(std::int64_t row) noexcept override;
  void sample_ended(std::int64_t row) noexcept override;
  void taking(std::int64_t ready, std::int64_t capacity) noexcept override;

  // The stages that were met, in their order.
  std::vector<StageCost> stages() const;
  // Samples that were made by themselves, in the order of their ends; data that lie in memory have none.
  std::vector<SampleCost> samples() const;
  std::vector<QueueFill> fill() const;

 private:
  struct Thread {
    std::vector<InputStage> open;  // from the outermost on
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
  std::string name;  // of the file; empty where a sample has none
  double seconds = 0;
};

// Reading of the files of the data by one thread, with nothing else to do.
struct StorageSpeed {
  double bytes = 0, seconds = 0;
  // Whether the files were read from storage: the system was asked to drop what it keeps of them, and did. If false,
  // the speed is that of the system's cache.
  bool is_cold = false;
};

struct PipelineTable {
  static constexpr double unknown = std::numeric_limits<double>::quiet_NaN();
  std::int64_t batch = 0;
  int threads = 0;                // of the loader; 0: the thread that trains makes the batches
  double seconds = 0;             // in which the loader alone gave `samples` samples as fast as it could
  std::int64_t samples = 0;
  std::int64_t made = 0;          // by the loader's threads: these samples, and others that nobody took any more
  std::vector<StageCost> stages;  // of all that was made
  std::vector<SampleCost> costs;  // of single samples
  std::vector<SlowSample> slowest;
  std::optional<StorageSpeed> storage;  // of data that lie in files while they are used

  // From steps of the fit itself: the seconds of a step without the fetching of its batches; the waiting for them; the
  // queue. NaN where no step was taken.
  double step_seconds = unknown, wait_seconds = unknown;
  std::int64_t step_samples = 0;
  std::vector<QueueFill> fill;

  // Seconds that the loader's threads, or a thread of the recipe, work for a step's samples.
  double loader_seconds() const;
  double transform_seconds() const;
  // Loader threads that have the next step's batches ready when a step ends, if each has a core of its own; nullopt
  // where no step was taken.
  std::optional<int> threads_needed() const;
  // The stage with the most seconds for a sample.
  InputStage slowest_stage() const;

  // { pipeline = { batch, threads, threads_needed, limits = STAGE, feeds_step, step_seconds, wait_seconds,
  // loader_seconds, samples_per_second, STAGE = { items_per_second (of one thread), seconds, items, threads (busy) },
  // …, sample = { median, p95, largest }, slowest = { { index, name, seconds }, … }, queue = { capacity, mean, empty,
  // fill = { { seconds, ready }, … } }, storage = { bytes_per_second, cold } } }. What was not met or not measured is
  // missing.
  Value to_value() const;
  std::string text() const;
};

struct PipelineWork {
  std::int64_t steps = 20;      // of the fit
  std::int64_t samples = 4096;  // that the loader gives alone, or a little more: whole batches
  double seconds = 5;           // at most about so long, but two batches at least
  std::size_t slowest = 10;     // samples to name
};

// Gives batches of the part from a loader of its own, as fast as the loader can. The table has no figures of a step.
// `clock` as PipelineRecorder's. Errors of the data are raised.
PipelineTable drain_pipeline(const Part& part, LoaderOptions options, const PipelineWork& work = {},
                             const std::function<double()>& clock = steady_seconds);

// Takes some steps of the fit as run_few_steps does, then drains the loader alone, then reads files of the data. The
// plan is as before when the function returns.
PipelineTable measure_pipeline(FitPlan& plan, const PipelineWork& work = {});

// The stages of opening data: `open` opens them on the calling thread. "decode" has what is not reading or inflating.
std::vector<StageCost> measure_opening(const std::function<void()>& open);

// Reads the bytes of these places, at most 64 MiB and about a second.
StorageSpeed measure_storage(const std::vector<FilePlace>& places);

}  // namespace trainlab

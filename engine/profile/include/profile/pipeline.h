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
  // Begins anew: what was told before is left out of all figures.
  void forget() noexcept;

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

// How fast one thread that does nothing else reads files of the data.
struct StorageSpeed {
  double bytes = 0, seconds = 0;
  std::int64_t files = 0;  // samples that were read
  // Whether they came from storage: the system had dropped what it kept of the files, or its cache was passed by
  // (O_DIRECT). False: from the system's cache. nullopt: the system does not tell this user which of the two it was.
  std::optional<bool> is_cold = {};
};

// The files of all samples of a part.
struct FilesOfData {
  double bytes = 0;                 // of all of them; from the mean of some
  double room = 0;                  // memory in which the system may keep files
  std::optional<double> kept = {};  // share of the bytes that it keeps; nullopt: it does not tell this user
  // Whether an epoch reads most files from storage: they do not fit in memory, or the system has not kept them.
  bool are_read_cold() const { return bytes > room || (kept && *kept < 0.9); }
};

// The threads with which a loader would have the batches of each step ready in time.
struct LoaderNeeds {
  std::optional<int> threads = {};  // nullopt: not measured
  bool wait = false;                // whether they mostly wait for files, so that more of them than cores are of use
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
  double read_bytes = 0;  // of the files of `costs`
  // Absent for data that are read into memory as a whole: the files before the loader gave its samples, and how they
  // are read afterwards.
  std::optional<FilesOfData> files = {};
  std::optional<StorageSpeed> storage = {};

  // Figures from steps of the fit itself, without the first ones, which wait for the loader to start: the seconds of a
  // step without the fetching of its batches, and the seconds that a step waits for its batches. NaN where no step was
  // taken.
  double step_seconds = unknown, wait_seconds = unknown;
  double step_samples = 0;  // the mean over an epoch
  std::vector<QueueFill> fill;

  // Seconds of a stage as an epoch of the fit needs them: those that were measured, but for reads of files that an
  // epoch finds in storage, while the loader may have found them in the system's cache.
  double epoch_seconds(const StageCost& stage) const;
  // Seconds of work by the loader's threads, or by the recipe's thread, for the samples of a step.
  double loader_seconds() const;
  double transform_seconds() const;
  // How many loader threads, each with a core of its own, have the next step's batches ready when a step ends; nullopt
  // where no step was taken.
  std::optional<int> threads_needed() const;
  LoaderNeeds needs() const { return {threads_needed(), slowest_stage() == InputStage::read}; }
  // Mean seconds of the samples that were made singly; nullopt where there was none.
  std::optional<double> sample_seconds() const;
  // The stage with the most seconds for a sample.
  InputStage slowest_stage() const;

  // { pipeline = { batch, threads, threads_needed, limits = STAGE, feeds_step, step_seconds, wait_seconds,
  // loader_seconds, samples_per_second, STAGE = { items_per_second (of one thread), seconds, items, threads (busy) },
  // …, sample = { median, p95, largest }, slowest = { { index, name, seconds }, … }, queue = { capacity, mean, empty,
  // fill = { { seconds, ready }, … } }, storage = { bytes_per_second, cold, loader_bytes_per_second, kept, data_bytes,
  // room, cold_epochs } } }. A stage that did not take place, and a figure that was not measured, is missing; `cold`
  // and `kept` are nil where the system does not tell.
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

// Looks at the files of some of `samples` samples, at least one. Error{recipe} where a file cannot be read.
FilesOfData look_at_files(const std::vector<FilePlace>& places, std::int64_t samples);

// Reads the bytes of these places, at most 64 MiB and about a second, from storage where the system lets it. Errors as
// look_at_files.
StorageSpeed measure_storage(const std::vector<FilePlace>& places);

}  // namespace trainlab

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/statistics.h"
#include "core/words.h"
#include "profile/pipeline.h"
#include "tensor/free_memory.h"

namespace trainlab {
namespace {

// The seconds that the samples took: in the middle, more than 95 % of the samples, and most.
struct SampleSeconds {
  double median = 0, p95 = 0, largest = 0;
};

SampleSeconds seconds_of(const std::vector<SampleCost>& costs) {
  std::vector<double> sorted;
  sorted.reserve(costs.size());
  for (const SampleCost& one : costs) sorted.push_back(one.seconds);
  std::ranges::sort(sorted);
  return {.median = nearest_quantile(sorted, 0.5), .p95 = nearest_quantile(sorted, 0.95), .largest = sorted.back()};
}

// How many batches were ready on average when the consumer asked for one.
double mean_ready(const std::vector<QueueFill>& fill) {
  double sum = 0;
  for (const QueueFill& one : fill) sum += static_cast<double>(one.ready);
  return sum / static_cast<double>(fill.size());
}

Value queue_value(const std::vector<QueueFill>& fill) {
  Value::List times;
  for (const QueueFill& one : fill) times.push_back(Value::Map{{"seconds", one.seconds}, {"ready", one.ready}});
  const auto empty = std::ranges::count(fill, std::int64_t{0}, &QueueFill::ready);
  return Value::Map{{"capacity", fill.front().capacity},
                    {"mean", mean_ready(fill)},
                    {"empty", static_cast<double>(empty) / static_cast<double>(fill.size())},
                    {"fill", std::move(times)}};
}

// Bytes of files a second that the loader's threads read, in the time that they spend on reading.
std::optional<double> loader_rate(const PipelineTable& table) {
  const auto read = std::ranges::find(table.stages, InputStage::read, &StageCost::stage);
  if (read == table.stages.end() || read->seconds <= 0 || table.read_bytes <= 0) return std::nullopt;
  return table.read_bytes / read->seconds;
}

// "cold: …", "warm: …": where the loader found the files.
std::string kept_text(const FilesOfData& files) {
  if (!files.kept) return "whether cold or warm is unknown: the system does not tell this user what it keeps of them";
  const std::string kept = fmt::format("the system kept {:.0f} % of the files in memory", 100 * *files.kept);
  return (*files.kept >= 0.9 ? "warm: " : *files.kept <= 0.1 ? "cold: " : "partly cold: ") + kept;
}

std::string storage_text(const PipelineTable& table) {
  if (!table.storage || !table.files || table.storage->seconds <= 0) return "";
  const StorageSpeed& storage = *table.storage;
  const FilesOfData& files = *table.files;
  std::string text;
  if (const std::optional<double> rate = loader_rate(table))
    text += fmt::format("a thread of the loader reads files at {:.1f} MB/s; {}\n", *rate / 1e6, kept_text(files));
  text += fmt::format("a thread that only reads has them at {:.1f} MB/s{}\n", storage.bytes / storage.seconds / 1e6,
                      !storage.is_cold   ? "; whether from storage or from the system's cache is unknown"
                      : *storage.is_cold ? " from storage (cold)"
                                         : " from the system's cache (warm), which could not be emptied");
  if (!files.are_read_cold()) return text;
  const std::string why = files.bytes > files.room ? "and there is room for " + memory_text(files.room)
                                                   : "and the system keeps few of them";
  return text + fmt::format("the files have about {} {}: an epoch reads them from storage{}\n",
                            memory_text(files.bytes), why,
                            storage.is_cold.value_or(false) ? ", which the slowest stage takes into account" : "");
}

}  // namespace

Value PipelineTable::to_value() const {
  Value::Map all{{"batch", batch},
                 {"threads", threads},
                 {"limits", stage_name(slowest_stage())},
                 {"samples_per_second", static_cast<double>(samples) / seconds}};
  for (const StageCost& one : stages) {
    Value::Map stage{{"seconds", one.seconds}, {"items", one.samples}, {"threads", one.seconds / seconds}};
    if (one.samples > 0 && one.seconds > 0)
      stage.emplace("items_per_second", static_cast<double>(one.samples) / one.seconds);
    all.emplace(stage_name(one.stage), std::move(stage));
  }
  if (const std::optional<int> needed = threads_needed()) {
    all.emplace("threads_needed", *needed);
    all.emplace("feeds_step", threads >= *needed);
    all.emplace("step_seconds", step_seconds);
    all.emplace("loader_seconds", loader_seconds());
    if (!std::isnan(wait_seconds)) all.emplace("wait_seconds", wait_seconds);
  }
  if (!costs.empty()) {
    const SampleSeconds sample = seconds_of(costs);
    all.emplace("sample", Value::Map{{"median", sample.median}, {"p95", sample.p95}, {"largest", sample.largest}});
    Value::List named;
    for (const SlowSample& one : slowest)
      named.push_back(Value::Map{{"index", one.row}, {"name", one.name}, {"seconds", one.seconds}});
    all.emplace("slowest", std::move(named));
  }
  if (!fill.empty()) all.emplace("queue", queue_value(fill));
  if (storage && files && storage->seconds > 0) {
    Value::Map figures{{"bytes_per_second", storage->bytes / storage->seconds},
                       {"cold", storage->is_cold ? Value(*storage->is_cold) : Value()},
                       {"kept", files->kept ? Value(*files->kept) : Value()},
                       {"data_bytes", files->bytes},
                       {"room", files->room},
                       {"cold_epochs", files->are_read_cold()}};
    if (const std::optional<double> rate = loader_rate(*this)) figures.emplace("loader_bytes_per_second", *rate);
    all.emplace("storage", std::move(figures));
  }
  return Value::Map{{"pipeline", std::move(all)}};
}

std::string PipelineTable::text() const {
  std::string text = fmt::format("{:<11} {:>12} {:>10} {:>8}\n", "stage", "us/sample", "samples/s", "threads");
  for (const StageCost& one : stages) {
    const double count = static_cast<double>(one.samples > 0 ? one.samples : made);
    text += fmt::format("{:<11} {:>12.3f} {:>10.0f} {:>8.2f}\n", stage_name(one.stage), 1e6 * one.seconds / count,
                        count / one.seconds, one.seconds / seconds);
  }
  text += fmt::format("the loader alone gives {:.0f} samples/s with {}; \"{}\" takes longest\n",
                      static_cast<double>(samples) / seconds, counted(threads, "thread"), stage_name(slowest_stage()));
  if (const std::optional<int> needed = threads_needed()) {
    text += fmt::format("a step of {:.3f} ms needs {:.3f} ms of the loader: {} would feed it\n", 1e3 * step_seconds,
                        1e3 * loader_seconds(), counted(*needed, "thread"));
  }
  if (!std::isnan(wait_seconds)) text += fmt::format("a step waits {:.3f} ms for its batches\n", 1e3 * wait_seconds);
  if (!fill.empty()) {
    text += fmt::format("when a step asks for a batch, {:.1f} of at most {} are ready\n", mean_ready(fill),
                        fill.front().capacity);
  }
  if (!costs.empty()) {
    const SampleSeconds sample = seconds_of(costs);
    text += fmt::format("a sample takes {:.3f} ms (median), {:.3f} ms (95 %), {:.3f} ms (largest)\n",
                        1e3 * sample.median, 1e3 * sample.p95, 1e3 * sample.largest);
    for (const SlowSample& one : slowest)
      text += fmt::format("  {:>9.3f} ms  sample {}{}\n", 1e3 * one.seconds, one.row,
                          one.name.empty() ? "" : ", " + one.name);
  }
  return text + storage_text(*this);
}

}  // namespace trainlab

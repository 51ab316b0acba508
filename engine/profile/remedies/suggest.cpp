// The changes that suit each verdict, and those that are worth having together.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>

#include "core/words.h"
#include "profile/remedies.h"

namespace trainlab {

namespace {

// A change of the recipe's code, which no option can make.
Remedy in_code(const char* name, const char* where) {
  return {.name = name, .reason = std::string("no option: ") + where};
}

constexpr std::int64_t most_prefetch = 1024;  // that the option takes
constexpr std::int64_t most_waiting = 16;     // threads that wait for storage; each has a batch's memory

class Suggestions {
 public:
  explicit Suggestions(const FitFacts& facts) : facts_(facts) {}

  void loader_threads() {
    const std::string name = "more loader threads";
    const std::int64_t now = facts_.loader_threads;
    const std::int64_t most =
        facts_.loader_needs.wait ? std::max<std::int64_t>(facts_.cores, most_waiting) : facts_.cores;
    const std::int64_t wanted = facts_.loader_needs.threads ? *facts_.loader_needs.threads : 2 * now;
    if (now >= most) {
      add({.name = name,
           .reason = fmt::format("the loader has {}, and the process {}", counted(now, "thread"),
                                 counted(facts_.cores, "core"))});
    } else {
      add({.name = name, .set = {fmt::format("loader.threads={}", std::clamp(wanted, now + 1, most))}});
    }
  }
  // Where there are too few cores for all threads that could run.
  void fewer_loader_threads() {
    if (facts_.loader_threads > 1)
      add({.name = "half the loader threads", .set = {fmt::format("loader.threads={}", facts_.loader_threads / 2)}});
    no_loader_threads();
  }
  void no_loader_threads() {
    const std::string name = "no loader threads";
    if (facts_.loader_threads > 0) return add({.name = name, .set = {"loader.threads=0"}});
    add({.name = name, .reason = "the loader has none"});
  }
  void prefetch() {
    const std::string name = "more batches ahead";
    if (facts_.loader_threads == 0)
      return add({.name = name, .reason = "without loader threads no batch is made ahead"});
    if (facts_.prefetch >= most_prefetch)
      return add({.name = name,
                  .reason = fmt::format("the loader makes {} batches ahead, the most there is", facts_.prefetch)});
    add({.name = name, .set = {fmt::format("loader.prefetch={}", std::min(4 * facts_.prefetch, most_prefetch))}});
  }
  void batch(std::int64_t factor) {
    const std::int64_t larger = factor * facts_.batch;
    const std::string name = fmt::format("a batch {} times as large", factor);
    if (larger > facts_.samples) {
      add({.name = name, .reason = fmt::format("the training part has {} samples", facts_.samples)});
    } else {
      add({.name = name, .set = {fmt::format("batch={}", larger)}, .always_changes = true});
    }
  }
  // Alone, and with twice as many batches in a step, which keep the samples of a step.
  void smaller_batch() {
    const std::string name = "a batch half as large";
    if (facts_.batch < 2) return add({.name = name, .reason = "a batch is one sample"});
    const std::string half = fmt::format("batch={}", facts_.batch / 2);
    if (facts_.batch % 2 == 0 && !facts_.drops_last)
      add({.name = "two halves of a batch in a step",
           .set = {half, fmt::format("accumulate={}", 2 * facts_.accumulate)}});
    add({.name = name, .set = {half}, .always_changes = true});
  }
  // Segments of about the root of the number of layers: that many inputs of segments are kept, and as many activations
  // within one segment.
  void recompute() {
    const auto size = static_cast<std::int64_t>(std::lround(std::sqrt(static_cast<double>(facts_.chain))));
    add({.name = "activations computed again",
         .set = {fmt::format("memory.recompute=\"every {}\"", std::max<std::int64_t>(size, 1))}});
  }
  void stack() {
    if (facts_.why_alone.empty()) {
      add({.name = fmt::format("{} repeats or trials in one stack", facts_.stack), .stack = facts_.stack});
    } else {
      add({.name = "repeats or trials in one stack", .reason = facts_.why_alone});
    }
  }
  void layout_of_images() {
    if (facts_.has_convolutions)
      add(in_code("another layout of images", "convolutions have the layout that their library is fastest with"));
  }
  void layout_of_data() {
    if (facts_.decodes_files) {
      add({.name = "decoded images in a packed file", .packs = true});
    } else {
      add(in_code("another layout of the data", "samples lie in memory, each in one piece"));
    }
  }
  void fewer_features() {
    if (!facts_.model) return add(in_code("a smaller model", "the recipe has several models, or a loop of its own"));
    const std::vector<std::string> half = facts_.model->features(0.5);
    if (half.empty()) return add({.name = "a smaller model", .reason = "no hidden layer has a number of features"});
    add({.name = "half the features of hidden layers", .set = half, .always_changes = true});
  }
  void fewer_layers() {
    const std::vector<std::string> half = facts_.model ? facts_.model->half_repeats() : std::vector<std::string>();
    if (!half.empty()) add({.name = "half as many repeated layers", .set = half, .always_changes = true});
  }
  void cheaper_activation() {
    if (!facts_.model || facts_.model->replaced().empty()) return;
    add({.name = "ReLU in place of " + listed(facts_.model->replaced(), "and"),
         .set = facts_.model->rectifiers(),
         .always_changes = true});
  }
  // Half the threads and one, which are the same with two.
  void fewer_threads() {
    if (facts_.threads > 3) threads(facts_.threads / 2);
    threads(1);
  }
  void threads(int count) {
    if (count == facts_.threads) {
      add_of_any({.name = "other threads of operators",
                  .reason = fmt::format("operators use {} of {}", count, counted(facts_.cores, "core"))});
    } else {
      add_of_any({.name = counted(count, "thread") + " of operators", .set = {fmt::format("--threads {}", count)}});
    }
  }
  void graphs() {
    add_of_any(in_code("graphs of whole steps",
                       facts_.is_synchronous ? "they save launches of a GPU's kernels, and this trains on the CPU"
                                             : "each kernel is launched by itself"));
  }
  void fewer_steps() {
    add({.name = "fewer steps", .reason = "no step is faster; stop.forecast ends a fit that will not improve enough"});
  }
  void precision() {
    constexpr double notable = 0.9;
    if (facts_.is_double) add({.name = "single precision", .set = {"precision=\"float32\""}, .always_changes = true});
    if (facts_.own_time) {
      Remedy single{.name = "single precision", .always_changes = true};
      if (*facts_.own_time > 1 / notable) {
        single.set = {"precision=\"float32\""};
      } else {
        single.reason = fmt::format("products in the type of the fit take {:.2f} times as long", *facts_.own_time);
      }
      return add(std::move(single));
    }
    const std::string name = "products in bfloat16";
    if (!facts_.bfloat16_time) return add({.name = name, .reason = "they are timed for a fit in float32 on the CPU"});
    if (*facts_.bfloat16_time < notable)
      return add({.name = name, .set = {"precision=\"bfloat16\""}, .always_changes = true});
    add({.name = name, .reason = fmt::format("on this machine they take {:.2f} times as long", *facts_.bfloat16_time)});
  }
  void accumulate() {
    add({.name = "twice as many batches in a step",
         .set = {fmt::format("accumulate={}", 2 * facts_.accumulate)},
         .always_changes = true});
  }
  void validate() {
    const std::string& decided = facts_.decided_by_validations;
    add({.name = "validations a quarter as often",
         .set = {fmt::format("validate=\"{} steps\"", 4 * facts_.validate_every)},
         .same_weights = decided.empty() ? "" : "may change the result: fewer validations decide " + decided});
  }
  void metrics() {
    const std::string name = "no metrics beside the loss";
    if (!facts_.has_metrics) return add({.name = name, .reason = "the fit has none"});
    add({.name = name, .set = {"metrics=nil"}, .same_weights = "changes what the run reports"});
  }
  void checkpoint() {
    add({.name = "checkpoints a tenth as often",
         .set = {fmt::format("checkpoint=\"{:.0f} steps\"", std::max(10.0, 10 * facts_.checkpoint_every))},
         .same_weights = facts_.calls_at_checkpoints
                             ? "may change the result: fewer checkpoints decide when on.checkpoint is called"
                             : ""});
  }
  // A change of a fit's options, or of a fit that is known: a task has neither.
  void add(Remedy one) {
    if (!facts_.is_task) add_of_any(std::move(one));
  }
  // A change that a task's loop may have too. A verdict may suggest what suits the competition of the run's own threads
  // as well.
  void add_of_any(Remedy one) {
    if (std::ranges::count(all, one.name, &Remedy::name) == 0) all.push_back(std::move(one));
  }

  std::vector<Remedy> all;

 private:
  const FitFacts& facts_;
};

}  // namespace

// Remedies that promise most and keep the result come first, because the time may not be enough for all.
std::vector<Remedy> remedies_for(Bottleneck verdict, const FitFacts& facts) {
  Suggestions suggestions(facts);
  if (facts.own_threads_compete || verdict == Bottleneck::contention) {
    suggestions.fewer_threads();
    suggestions.fewer_loader_threads();
  }
  switch (verdict) {
    case Bottleneck::input:
      suggestions.loader_threads();
      suggestions.prefetch();
      suggestions.layout_of_data();
      break;
    case Bottleneck::transfer:
      suggestions.batch(2);
      suggestions.add_of_any(
          in_code("pinned transfers", "batches are copied from pinned memory already, beside the steps"));
      break;
    case Bottleneck::synchronisation:
      suggestions.add_of_any(
          in_code("fewer reads of tensors",
                  "t:item() stands in functions of the recipe; run:log takes a tensor and reads it later"));
      break;
    case Bottleneck::host:
      if (facts.functions_at_validations) suggestions.validate();
      if (facts.functions_at_checkpoints) suggestions.checkpoint();
      suggestions.batch(2);
      suggestions.accumulate();
      if (facts.has_transforms) {
        suggestions.add(in_code("augment and map instead of transform",
                                "a transform runs on the training thread, entries of the data on the loader's"));
      }
      suggestions.add_of_any(in_code("less work in functions", "functions are code of the recipe"));
      break;
    case Bottleneck::launch:
      suggestions.threads(1);
      suggestions.stack();
      suggestions.batch(2);
      suggestions.batch(4);
      suggestions.graphs();
      break;
    case Bottleneck::compute:
      suggestions.threads(facts.cores);
      suggestions.precision();
      suggestions.fewer_steps();
      suggestions.layout_of_images();
      suggestions.fewer_features();
      suggestions.fewer_layers();
      break;
    case Bottleneck::bandwidth:
      suggestions.threads(facts.cores);
      suggestions.smaller_batch();  // whose tensors may fit the caches
      suggestions.batch(2);
      suggestions.precision();
      suggestions.fewer_steps();
      suggestions.layout_of_images();
      suggestions.cheaper_activation();
      suggestions.fewer_features();
      suggestions.fewer_layers();
      break;
    case Bottleneck::optimizer:
      suggestions.threads(facts.cores);
      suggestions.batch(2);
      suggestions.accumulate();
      suggestions.fewer_features();
      suggestions.add_of_any(in_code(
          "a fused optimizer", "elementwise updates are one pass over a tensor already; others need whole matrices"));
      break;
    case Bottleneck::evaluation:
      suggestions.threads(facts.cores);
      suggestions.validate();
      suggestions.metrics();
      break;
    case Bottleneck::checkpoint: suggestions.checkpoint(); break;
    case Bottleneck::communication: suggestions.accumulate(); break;
    case Bottleneck::capacity:
      suggestions.add({.name = "the largest batch that fits", .set = {"batch=\"auto\""}});
      suggestions.add({.name = "activations computed again", .set = {"memory.recompute=\"auto\""}});
      suggestions.add({.name = "parameters stepped one by one", .set = {"memory.fuse_step=true"}});
      suggestions.add({.name = "the optimizer's state in a file", .set = {"memory.offload=\"optimizer\""}});
      suggestions.add({.name = "no loader threads", .set = {"loader.threads=0"}});
      break;
    case Bottleneck::contention:
    case Bottleneck::none:
    case Bottleneck::unknown: break;
  }
  if (facts.keeps_much) {
    if (verdict != Bottleneck::bandwidth) suggestions.smaller_batch();
    suggestions.recompute();
  }
  return std::move(suggestions.all);
}

std::vector<Remedy> in_turn(std::vector<Remedy> first, std::vector<Remedy> second) {
  std::vector<Remedy> all;
  const auto add = [&](std::vector<Remedy>& some, std::size_t place) {
    if (place < some.size() && std::ranges::count(all, some[place].name, &Remedy::name) == 0)
      all.push_back(std::move(some[place]));
  };
  for (std::size_t place = 0; place < std::max(first.size(), second.size()); ++place) {
    add(first, place);
    add(second, place);
  }
  return all;
}

JoinedRemedies join_remedies(const std::vector<Remedy>& remedies, const RatioOfChanges& ratio) {
  std::vector<Remedy> winners;
  std::ranges::copy_if(remedies, std::back_inserter(winners),
                       [](const Remedy& one) { return one.wins() && one.keeps_result() && !one.set.empty(); });
  std::ranges::stable_sort(winners, std::greater(), [](const Remedy& one) { return one.ratio.median; });
  JoinedRemedies joined;
  for (const Remedy& one : winners) {
    std::vector<std::string> with = joined.set;
    with.insert(with.end(), one.set.begin(), one.set.end());
    const std::optional<MedianInterval> gain = joined.set.empty() ? one.ratio : ratio(joined.set, with);
    if (!gain || !is_gain(*gain)) continue;
    joined.ratio = *gain;
    joined.set = std::move(with);
  }
  if (winners.empty()) return joined;
  // A choice among measurements favours those that were lucky. This measurement comes after the choice.
  const std::optional<MedianInterval> whole = ratio({}, joined.set);
  const Remedy& first = winners.front();
  if (!whole) return {.set = first.set, .ratio = first.ratio};  // no time is left
  if (is_gain(*whole)) return {.set = joined.set, .ratio = *whole};
  if (joined.set == first.set) return {};
  const std::optional<MedianInterval> alone = ratio({}, first.set);
  return alone && is_gain(*alone) ? JoinedRemedies{.set = first.set, .ratio = *alone} : JoinedRemedies();
}

}  // namespace trainlab

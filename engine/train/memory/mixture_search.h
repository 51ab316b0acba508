// MixtureSearch: the cheapest mixture of options with which a training fits into a number of bytes, and the fewest
// bytes into which it fits at all.
#pragma once

#include <cstdint>
#include <optional>

#include "budget_variants.h"
#include "searching.h"
#include "train/memory_prediction.h"

namespace trainlab {

struct BudgetMixture {
  Lines lines;
  double price = 0;
  std::int64_t bytes = 0;  // of the training
};

// The least memory that was found.
struct LeastMemory {
  std::int64_t bytes = 0;
  std::int64_t batches = 0;  // of these, in the loader's buffers
  Lines lines = {};          // with memory.recompute = "auto" where layers are computed again
};

// Not thread-safe.
class MixtureSearch {
 public:
  // `fit`: the options without a budget. `room`: the bytes. All references must outlive the object.
  MixtureSearch(const Options& fit, const RunSettings& settings, const DataParts& data, std::int64_t room,
                Searching& searching)
      : fit_(fit), settings_(settings), data_(data), room_(room), searching_(searching) {}

  // Takes a variant into account, with all ways to take a step that the recipe leaves open.
  void offer(const BudgetVariant& variant);
  const std::optional<BudgetMixture>& found() const { return found_; }

  // The least memory with the lean ones of the variants, of which `first` is the first value of memory.allow that
  // permits them and `last` the last; the search ends when something fits into the room. nullopt: no step with these
  // can be predicted.
  std::optional<LeastMemory> least(const std::vector<BudgetVariant>& all, Allow first, Allow last);

 private:
  struct Way;

  std::optional<Way> way_of(const BudgetVariant& variant) const;
  TrainingMemory predicted(const FitPlan& plan);
  bool is_better(double price) const { return !found_ || price < found_->price; }
  void take(const BudgetVariant& variant, Way& way, bool chunks, double price);
  void lower(LeastMemory& least, const BudgetVariant& variant);

  const Options& fit_;
  const RunSettings& settings_;
  const DataParts& data_;
  const std::int64_t room_;
  Searching& searching_;
  std::optional<BudgetMixture> found_;
};

}  // namespace trainlab

// The methods fold (k-fold cross-validation) and weighted of a data entry.
#include <algorithm>
#include <cmath>
#include <map>

#include "core/random/stream.h"
#include "set/partition.h"
#include "set/sources.h"

namespace trainlab {

namespace {

// For each fold its samples. Folds differ by at most a sample, and with classes each class does too.
std::vector<std::vector<std::int64_t>> deal(std::vector<std::int64_t> order, std::int64_t k,
                                            const std::vector<std::int64_t>& classes) {
  if (!classes.empty()) {
    std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
      return classes[static_cast<std::size_t>(a)] < classes[static_cast<std::size_t>(b)];
    });
  }
  std::vector<std::vector<std::int64_t>> folds(static_cast<std::size_t>(k));
  for (std::size_t i = 0; i < order.size(); ++i) folds[i % folds.size()].push_back(order[i]);
  return folds;
}

// The largest group first, each to the fold that has the fewest samples; equal ones in random order.
std::vector<std::vector<std::int64_t>> deal_groups(const std::vector<std::int64_t>& groups, std::int64_t k, Key key) {
  const std::vector<std::vector<std::int64_t>> members = members_of(groups);
  std::vector<std::int64_t> order = permutation(key, static_cast<std::int64_t>(members.size()));
  const auto of = [&](std::int64_t group) -> const auto& { return members[static_cast<std::size_t>(group)]; };
  std::stable_sort(order.begin(), order.end(),
                   [&](std::int64_t a, std::int64_t b) { return of(a).size() > of(b).size(); });
  std::vector<std::vector<std::int64_t>> folds(static_cast<std::size_t>(k));
  for (const std::int64_t group : order) {
    auto& fold =
        *std::min_element(folds.begin(), folds.end(), [](const auto& a, const auto& b) { return a.size() < b.size(); });
    fold.insert(fold.end(), of(group).begin(), of(group).end());
  }
  return folds;
}

DataParts fold(const Options& spec, const DataContext& context) {
  DataParts parts = open_source(spec.child("source"), context);
  require_unweighted(spec, parts);
  if (parts.val) throw spec.error("source", "the data has a validation part already");
  if (parts.cut) throw spec.error("source", "windows of a text cannot be folded: neighbouring windows share text");
  require_unshaped(spec, parts);
  const std::int64_t k = spec.integer("k"), index = spec.integer("index"), size = parts.train.size();
  if (index >= k)
    throw spec.error("index", "expected one of 0 … " + std::to_string(k - 1) + ", found " + std::to_string(index));
  const bool stratify = spec.boolean("stratify");
  const Key key = Key(static_cast<std::uint64_t>(seed_of(spec, context))).fold("data:fold");

  std::vector<std::vector<std::int64_t>> folds;
  const auto require = [&](std::int64_t count, const char* what) {
    if (count < k) throw spec.error("k", "expected at most " + std::to_string(count) + ", the number of " + what);
  };
  if (spec.has("groups")) {
    if (stratify) throw spec.error("groups", "either groups or shares can be kept, not both");
    const std::vector<std::int64_t> groups = groups_of(spec, parts);
    require(*std::max_element(groups.begin(), groups.end()) + 1, "groups");
    folds = deal_groups(groups, k, key);
  } else {
    require(size, "samples");
    folds = deal(permutation(key, size), k,
                 stratify ? classes_of(spec, "stratify", parts.train) : std::vector<std::int64_t>{});
  }

  const Part source = parts.train;
  std::vector<std::int64_t> train;
  for (std::int64_t i = 0; i < k; ++i) {
    auto& samples = folds[static_cast<std::size_t>(i)];
    if (i == index) {
      parts.val = rows_of(source, std::move(samples));
    } else {
      train.insert(train.end(), samples.begin(), samples.end());
    }
  }
  parts.train = rows_of(source, std::move(train));
  return parts;
}

DataParts weighted(const Options& spec, const DataContext& context) {
  DataParts parts = open_source(spec.child("source"), context);
  if (parts.train.draws)
    throw spec.error("source", "the training samples are drawn already")
        .hint("either :weighted, once, or the share of :append");
  if (spec.given("column") == spec.boolean("balanced"))
    throw spec.error("", "expected a column of weights, or balanced = true");
  std::vector<double> weights;
  if (spec.given("column")) {
    weights = numbers_of(spec, "column", parts);
  } else {
    const std::vector<std::int64_t> classes = classes_of(spec, "balanced", parts.train);
    std::map<std::int64_t, std::int64_t> counts;
    for (const std::int64_t label : classes) ++counts[label];
    for (const std::int64_t label : classes) weights.push_back(1 / static_cast<double>(counts[label]));
  }
  Draws draws{parts.train.size(), {}};
  double sum = 0;
  for (const double weight : weights) {
    if (!(weight >= 0) || std::isinf(weight))
      throw spec.error("column", "expected weights of at least 0, found " + number_text(weight));
    draws.cumulative.push_back(sum += weight);
  }
  if (!(sum > 0) || std::isinf(sum))
    throw spec.error("column", "the weights add up to " + number_text(sum) + ": nothing could be drawn");
  parts.train.draws = std::make_shared<const Draws>(std::move(draws));
  return parts;
}

}  // namespace

void register_folds(Registry& registry) {
  registry.add(
      Entry("data:fold", "data",
            "One fold of k-fold cross-validation: part `index` of k is the validation part, the other parts are the "
            "training part.")
          .with(Option("k", "number of folds").integer().at_least(2).required())
          .with(Option("index", "number of the validation fold, from 0").integer().at_least(0).required())
          .with(seed_option())
          .with(Option("stratify", "give each fold the same share of every class, to within one sample")
                    .boolean()
                    .or_default(false))
          .with(groups_option())
          .returns("data")
          .example("lab.data.digits():fold { k = 5, index = 0, seed = 7 }")
          .note("With the same seed the k folds are a partition: each sample is in the validation part of exactly one "
                "fold. A test part stays as it is. The sizes of folds differ by at most one sample; with groups, the "
                "largest group is dealt first, and each group goes to the fold that is smallest so far."),
      DataFactory{fold});
  registry.add(Entry("data:weighted", "data",
                     "Draws training samples with replacement, each with a probability in proportion to its weight.")
                   .with(Option("column", "a column of weights, at least 0, in any unit").string().positional())
                   .with(Option("balanced",
                                "give every class the same probability: the weight of a sample is 1 / (number of "
                                "samples of its class)")
                             .boolean()
                             .or_default(false))
                   .returns("data")
                   .example("lab.data.digits():split { val = 0.1 }:weighted { balanced = true }")
                   .note("An epoch has as many draws as the training part has samples. The draws are a function of the "
                         "run's seed and the epoch. Comes after :split and :fold; validation and test parts stay as "
                         "they are. The column of a CSV file may be excluded from the inputs (`exclude`)."),
               DataFactory{weighted});
}

}  // namespace trainlab

// The methods of a data entry that choose samples: split, take.

#include <algorithm>
#include <cmath>
#include <map>

#include "core/random/stream.h"
#include "core/value.h"
#include "set/partition.h"
#include "set/sources.h"

namespace trainlab {

namespace {

// Fractions as the places of two cuts: training samples lie before the first, validation between the two, test from
// the second to `end`; samples after `end` are not used.
struct Cuts {
  double train = 0, val = 0, end = 0;

  // The part (0, 1, 2; 3: none) of the k-th of n samples.
  int part_of(std::int64_t k, std::int64_t n) const {
    const auto place = [n](double cut) { return std::llround(cut * static_cast<double>(n)); };
    return k < place(train) ? 0 : k < place(val) ? 1 : k < place(end) ? 2 : 3;
  }
};

Cuts read_cuts(const Options& spec, const DataParts& parts) {
  const double val = spec.has("val") ? spec.number("val") : 0, test = spec.has("test") ? spec.number("test") : 0;
  if (parts.val) throw spec.error("source", "the data has a validation part already");
  if (parts.test && spec.given("test")) {
    throw spec.error("test", "the data already has a test part (" + std::to_string(parts.test->size()) + " samples)")
        .hint("leave `test` out: that part is kept");
  }
  constexpr double rounding = 1e-9;  // of sums such as 0.8 + 0.1 + 0.1
  const double given = spec.has("train") ? spec.number("train") : 0;
  if (given + val + test > 1 + rounding)
    throw spec.error("", "the fractions add up to " + figure_text(given + val + test) + ", which is more than 1");
  const double train = spec.has("train") ? given : 1 - val - test;
  if (train < rounding)
    throw spec.error("", "nothing is left for training").hint("val and test together must be below 1");
  return {train, std::min(1.0, train + val), std::min(1.0, train + val + test)};
}

// By groups: in a random order of them, each goes where its middle lies, whole.
void split_groups(const Cuts& cuts, const std::vector<std::int64_t>& groups, Key key,
                  std::vector<std::int64_t> (&samples)[4]) {
  const auto size = static_cast<std::int64_t>(groups.size());
  std::vector<std::vector<std::int64_t>> members = members_of(groups);
  std::int64_t before = 0;
  for (const std::int64_t group : permutation(key, static_cast<std::int64_t>(members.size()))) {
    const std::vector<std::int64_t>& all = members[static_cast<std::size_t>(group)];
    const auto count = static_cast<std::int64_t>(all.size());
    std::vector<std::int64_t>& part = samples[cuts.part_of(before + count / 2, size)];
    part.insert(part.end(), all.begin(), all.end());
    before += count;
  }
}

// Splits samples that follow each other (a text).
DataParts cut(const Options& spec, DataParts parts, const Cuts& cuts) {
  for (const char* option : {"groups", "stratify"}) {
    if (spec.given(option))
      throw spec.error(option, "these samples follow each other: they are cut into parts, not drawn");
  }
  const auto work = parts.cut;
  placed_at(spec, "", [&] { work(parts, cuts.train, cuts.val, cuts.end); });
  cut_no_more(parts);
  return parts;
}

DataParts split(const Options& spec, const DataContext& context) {
  DataParts parts = open_source(spec.child("source"), context);
  require_unshaped(spec, parts);
  require_unweighted(spec, parts);
  if (parts.train.augmentation || !parts.train.transforms.empty()) {
    throw spec.error("source", "the data is split after it is augmented or transformed, which is for the training part")
        .hint("write :split { … }:augment { … }");
  }
  const Cuts cuts = read_cuts(spec, parts);
  if (parts.cut) return cut(spec, std::move(parts), cuts);
  const std::int64_t size = parts.train.size();
  const Key key = Key(static_cast<std::uint64_t>(seed_of(spec, context))).fold("data:split");

  std::vector<std::int64_t> samples[4];
  std::vector<std::int64_t> order = permutation(key, size);
  if (spec.has("groups")) {
    if (spec.boolean("stratify")) throw spec.error("groups", "either groups or shares can be kept, not both");
    split_groups(cuts, groups_of(spec, parts), key, samples);
  } else if (spec.boolean("stratify")) {
    const std::vector<std::int64_t> labels = classes_of(spec, "stratify", parts.train);
    std::map<std::int64_t, std::int64_t> counts, seen;
    for (const std::int64_t label : labels) ++counts[label];
    for (const std::int64_t sample : order) {
      const std::int64_t label = labels[static_cast<std::size_t>(sample)];
      samples[cuts.part_of(seen[label]++, counts[label])].push_back(sample);
    }
  } else {
    for (std::int64_t k = 0; k < size; ++k)
      samples[cuts.part_of(k, size)].push_back(order[static_cast<std::size_t>(k)]);
  }

  const auto require = [&](const char* option, int part) {
    if (!samples[part].empty()) return;
    throw spec.error(option, "no sample is left for this part: the data has " + std::to_string(size) + " samples");
  };
  const Part source = parts.train;
  require("train", 0);
  parts.train = rows_of(source, std::move(samples[0]));
  if (spec.has("val") && spec.number("val") > 0) {
    require("val", 1);
    parts.val = rows_of(source, std::move(samples[1]));
  }
  if (spec.has("test") && spec.number("test") > 0) {
    require("test", 2);
    parts.test = rows_of(source, std::move(samples[2]));
  }
  return parts;
}

DataParts take_samples(const Options& spec, const DataContext& context) {
  DataParts parts = open_source(spec.child("source"), context);
  require_unweighted(spec, parts);
  cut_no_more(parts);
  const Key key = Key(static_cast<std::uint64_t>(seed_of(spec, context))).fold("data:take");
  const auto shorten = [&](Part& part, std::string_view name) {
    std::vector<std::int64_t> samples = permutation(key.fold(name), part.size());
    samples.resize(static_cast<std::size_t>(std::min(spec.integer("n"), part.size())));
    part = rows_of(part, std::move(samples));
  };
  shorten(parts.train, "train");
  if (parts.val) shorten(*parts.val, "val");
  if (parts.test) shorten(*parts.test, "test");
  return parts;
}

}  // namespace

void register_methods(Registry& registry) {
  registry.add(
      Entry("data:split", "data", "Cuts the training part into training, validation and test parts.")
          .with(Option("train", "fraction for the training part (default: what `val` and `test` leave)")
                    .number()
                    .more_than(0)
                    .at_most(1))
          .with(Option("val", "fraction for the validation part").number().at_least(0).less_than(1).or_default(0))
          .with(Option("test", "fraction for the test part; refused where the source has a test part, which is kept")
                    .number()
                    .at_least(0)
                    .less_than(1)
                    .or_default(0))
          .with(seed_option())
          .with(Option("stratify", "give each part the same share of every class, to within one sample")
                    .boolean()
                    .or_default(false))
          .with(groups_option())
          .returns("data")
          .example("lab.data.digits():split { train = 0.8, val = 0.1, test = 0.1, seed = 7 }")
          .note("Samples are drawn by a keyed permutation: the same seed and number of samples give the same parts. "
                "Fractions add up to at most 1, and samples beyond their sum are not used. With groups, the sizes of "
                "the parts are as close to the fractions as whole groups allow. A text is cut in order instead: "
                "training, validation, test."),
      DataFactory{split});
  registry.add(Entry("data:take", "data",
                     "Keeps n samples of each part, drawn at random; a part with fewer samples is kept whole.")
                   .with(Option("n", "samples to keep of each part").integer().at_least(1).required().positional())
                   .with(seed_option())
                   .returns("data")
                   .example("lab.data.mnist(\"mnist\"):take(1000)")
                   .note("The samples are the first n of a keyed permutation: what a smaller n keeps is a subset of "
                         "what a larger n keeps."),
               DataFactory{take_samples});
}

}  // namespace trainlab

// The methods of a data entry: split, take, normalize.
#include <ATen/ops/empty.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "partition.h"
#include "row_gather.h"
#include "sources.h"

namespace trainlab {

namespace {

// Fractions as the places of two cuts: training samples lie before the first, validation between the two, test from
// the second to `end`; what is left after `end` is not used.
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
    throw spec
        .error("test", "the data brings a test part of its own (" + std::to_string(parts.test->size()) + " samples)")
        .hint("leave `test` out: that part is kept");
  }
  constexpr double rounding = 1e-9;  // of sums such as 0.8 + 0.1 + 0.1
  const double given = spec.has("train") ? spec.number("train") : 0;
  if (given + val + test > 1 + rounding)
    throw spec.error("", "the fractions add up to " + number_text(given + val + test) + ", which is more than 1");
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

// Of samples that follow each other.
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
  if (parts.state.contains("x.mean")) {
    throw spec
        .error("source",
               "the data is normalised before it is split, so that the other parts would shape the "
               "training part's mean and deviation")
        .hint("write :split { … }:normalize()");
  }
  require_unweighted(spec, parts);
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

DataParts take(const Options& spec, const DataContext& context) {
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

// Mean and standard deviation of each channel ([C, …]) or feature ([F]), as [C, 1, …] or [F].
struct Moments {
  at::Tensor mean, std;
};

Moments moments_of(const Part& part, const Column& column) {
  constexpr std::int64_t rows_at_once = 1024;
  Shape shape = column.sample_shape();
  const std::int64_t elements = element_count(shape);
  const std::int64_t channels = shape.empty() ? 1 : shape[0], block = elements / channels;
  for (std::size_t i = 1; i < shape.size(); ++i) shape[i] = 1;

  // Sums of the distance from the first sample's value: exact zeros for a constant, no cancellation otherwise.
  std::vector<double> origin(static_cast<std::size_t>(channels)), sum(origin), squares(origin);
  const RowGather numbers(column, at::kFloat);
  std::vector<float> values;
  std::vector<std::int64_t> rows;
  for (std::int64_t first = 0; first < part.size(); first += rows_at_once) {
    rows.clear();
    for (std::int64_t i = first; i < std::min(first + rows_at_once, part.size()); ++i) rows.push_back(part.row(i));
    values.resize(rows.size() * static_cast<std::size_t>(elements));
    numbers.copy(rows, reinterpret_cast<std::byte*>(values.data()));
    const float* value = values.data();
    for (std::size_t row = 0; row < rows.size(); ++row) {
      for (std::int64_t c = 0; c < channels; ++c, value += block) {
        const auto at = static_cast<std::size_t>(c);
        if (first == 0 && row == 0) origin[at] = value[0];
        double s = 0, q = 0;
        for (std::int64_t i = 0; i < block; ++i) {
          const double distance = value[i] - origin[at];
          s += distance;
          q += distance * distance;
        }
        sum[at] += s;
        squares[at] += q;
      }
    }
  }
  Moments moments{at::empty(shape, at::kDouble), at::empty(shape, at::kDouble)};
  const double count = static_cast<double>(part.size()) * static_cast<double>(block);
  for (std::size_t c = 0; c < origin.size(); ++c) {
    const double distance = sum[c] / count;
    const double variance = std::max(0.0, squares[c] / count - distance * distance);
    moments.mean.mutable_data_ptr<double>()[c] = origin[c] + distance;
    moments.std.mutable_data_ptr<double>()[c] = variance > 0 ? std::sqrt(variance) : 1;
  }
  return moments;
}

DataParts normalize(const Options& spec, const DataContext& context) {
  DataParts parts = open_source(spec.child("source"), context);
  if (parts.state.contains("x.mean")) throw spec.error("source", "the data is normalised already");
  settle(parts);
  const Column* x = parts.train.data->find("x");
  if (!x || x->batch_type() != at::kFloat) throw spec.error("source", "the data has no x of numbers to normalise");
  const Moments moments = moments_of(parts.train, *x);

  // The parts may share one dataset, or not (a test part that the source brings).
  std::map<const Dataset*, std::shared_ptr<const Dataset>> changed;
  const auto apply = [&](Part& part) {
    std::shared_ptr<const Dataset>& result = changed[part.data.get()];
    if (!result) {
      Dataset dataset = *part.data;
      for (Column& column : dataset.columns) {
        if (column.name != "x") continue;
        const auto in_double = [](const at::Tensor& t) { return t.defined() ? t.to(at::kDouble) : t; };
        const at::Tensor scale = in_double(column.scale), shift = in_double(column.shift);
        column.scale = (scale.defined() ? scale.div(moments.std) : moments.std.reciprocal()).to(at::kFloat);
        column.shift = (shift.defined() ? shift.sub(moments.mean) : moments.mean.neg()).div(moments.std).to(at::kFloat);
      }
      result = std::make_shared<const Dataset>(std::move(dataset));
    }
    part.data = result;
  };
  apply(parts.train);
  if (parts.val) apply(*parts.val);
  if (parts.test) apply(*parts.test);
  parts.state["x.mean"] = moments.mean;
  parts.state["x.std"] = moments.std;
  return parts;
}

}  // namespace

void register_methods(Registry& registry) {
  registry.add(
      Entry("data:split", "data", "Cuts the training part into training, validation and test parts.")
          .with(Option("train", "fraction for training; what the others leave unless given")
                    .number()
                    .more_than(0)
                    .at_most(1))
          .with(Option("val", "fraction for validation").number().at_least(0).less_than(1).or_default(0))
          .with(Option("test", "fraction for the test part; not where the source brings one, which is kept")
                    .number()
                    .at_least(0)
                    .less_than(1)
                    .or_default(0))
          .with(seed_option())
          .with(Option("stratify", "keep the classes' shares in every part, to a sample for each class")
                    .boolean()
                    .or_default(false))
          .with(groups_option())
          .returns("data")
          .example("lab.data.digits():split { train = 0.8, val = 0.1, test = 0.1, seed = 7 }")
          .note("Samples are drawn by a keyed permutation: the same seed and number of samples give the same parts. "
                "Fractions add up to at most 1; what they leave is not used. With groups the parts have as many samples "
                "as whole groups allow. A text is cut in order instead: training, validation, test."),
      DataFactory{split});
  registry.add(
      Entry("data:take", "data", "Keeps n samples of each part, drawn at random; all of a part that has fewer.")
          .with(Option("n", "samples to keep of each part").integer().at_least(1).required().positional())
          .with(seed_option())
          .returns("data")
          .example("lab.data.mnist(\"mnist\"):take(1000)")
          .note("They are the first n of a keyed permutation: a smaller n keeps a subset of what a larger one keeps."),
      DataFactory{take});
  registry.add(
      Entry("data:normalize", "data", "Shifts and scales x to mean 0 and standard deviation 1 over the training part.")
          .returns("data")
          .example("lab.data.mnist(\"mnist\"):split { val = 0.1 }:normalize()")
          .note(
              "For each channel of images [C, H, W], for each feature of flat samples. After split(): the other parts "
              "are shifted and scaled alike and have no say in it. A constant feature is only shifted. Costs nothing "
              "in training; mean and deviation are stored in the checkpoint."),
      DataFactory{normalize});
}

}  // namespace trainlab

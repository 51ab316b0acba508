// data:append: the training samples of two data sets as one training part.
#include <algorithm>
#include <cstring>

#include <ATen/ops/concat.h>
#include <ATen/ops/equal.h>

#include "core/words.h"
#include "set/partition.h"
#include "set/sources.h"

namespace trainlab {

namespace {

// The rows of two columns one after the other, of which at least one column makes its rows when they are asked for.
class JoinedRows final : public RowSource {
 public:
  JoinedRows(Column first, std::int64_t rows, Column second)
      : first_(std::move(first)), second_(std::move(second)), rows_(rows) {}

  at::ScalarType type() const override { return first_.stored_type(); }
  Shape shape() const override { return first_.sample_shape(); }
  void make(std::int64_t row, std::byte* out) const override {
    const auto& [column, own] = of(row);
    if (column.source) return column.source->make(own, out);
    const at::Tensor sample = column.values.select(0, own);
    std::memcpy(out, sample.const_data_ptr(), sample.nbytes());
  }
  FilePlace place(std::int64_t row) const override {
    const auto& [column, own] = of(row);
    return column.source ? column.source->place(own) : FilePlace();
  }

 private:
  std::pair<const Column&, std::int64_t> of(std::int64_t row) const {
    if (row < rows_) return {first_, row};
    return {second_, row - rows_};
  }

  Column first_, second_;
  std::int64_t rows_;  // of the first
};

bool is_same(const at::Tensor& a, const at::Tensor& b) {
  return a.defined() == b.defined() && (!a.defined() || at::equal(a, b));
}

// The type and the shape that a sample of the column has in a batch: "uint8 [3, 32, 32]".
std::string form(const Column& column) {
  return dtype_name(column.batch_type()) + " " + shape_text(column.sample_shape());
}

std::string names_of(const Dataset& data) {
  return joined(data.columns, ", ", [](const Column& column) { return column.name; });
}

Column join(const Options& spec, const Column& first, std::int64_t rows, const Column& second) {
  if (first.sample_shape() != second.sample_shape() || first.batch_type() != second.batch_type())
    throw spec.error("data",
                     "column \"" + first.name + "\" is " + form(second) + " there, and " + form(first) + " here");
  if (!is_same(first.scale, second.scale) || !is_same(first.shift, second.shift))
    throw spec.error("data", "the stored values of column \"" + first.name + "\" have another scale there");
  Column both = first;
  if (!first.source && !second.source) {
    both.values = at::concat({first.values, second.values});
    both.as_int64 = first.batch_type() == at::kLong && both.values.scalar_type() != at::kLong;
    return both;
  }
  if (first.stored_type() != second.stored_type())
    throw spec.error("data", "column \"" + first.name + "\" is stored as " + dtype_name(second.stored_type()) +
                                 " there, and as " + dtype_name(first.stored_type()) + " here");
  both.values = at::Tensor();
  both.source = std::make_shared<const JoinedRows>(first, rows, second);
  return both;
}

Dataset join(const Options& spec, const Dataset& first, const Dataset& second) {
  const auto has = [](const Dataset& data) {
    return [&](const Column& one) { return data.find(one.name) != nullptr; };
  };
  if (!std::ranges::all_of(first.columns, has(second)) || !std::ranges::all_of(second.columns, has(first)))
    throw spec.error("data", "its columns are " + names_of(second) + ", and those here are " + names_of(first));
  if ((first.classes == 0) != (second.classes == 0))
    throw spec.error("data", std::string("its y ") + (second.classes == 0 ? "is a number" : "is a class") +
                                 ", and y here " + (first.classes == 0 ? "is a number" : "is a class"));
  const auto names = [](const std::vector<std::string>& all) {
    return all.empty() ? "without names" : joined_start(all, 20);
  };
  if (!first.feature_names.empty() && !second.feature_names.empty() && first.feature_names != second.feature_names)
    throw spec.error("data", "the features of its x are " + joined_start(second.feature_names, 20) +
                                 ", and those here are " + joined_start(first.feature_names, 20));
  if (first.class_names != second.class_names)
    throw spec.error(
        "data", "its classes are " + names(second.class_names) + ", and those here are " + names(first.class_names));
  Dataset both = first;
  both.size = first.size + second.size;
  both.classes = std::max(first.classes, second.classes);
  both.lowest_label = std::min(first.lowest_label, second.lowest_label);
  both.highest_mark = std::max(first.highest_mark, second.highest_mark);
  for (Column& column : both.columns) column = join(spec, column, first.size, *second.find(column.name));
  return both;
}

void check_order(const Options& spec, const DataParts& parts, const DataParts& other) {
  if (parts.cut || other.cut)
    throw spec.error("data", "texts are cut into windows, which cannot be joined").hint("join the text files");
  if ((parts.train.draws || other.train.draws) && !spec.given("share"))
    throw spec.error(parts.train.draws ? "source" : "data", "its training samples are drawn with replacement already")
        .hint("give this :append a share too, or write it before :weighted and before an :append with a share");
  if (parts.train.augmentation || other.train.augmentation || !other.train.transforms.empty())
    throw spec.error(parts.train.augmentation ? "source" : "data", "it is augmented or transformed already")
        .hint("write :append before such methods: they then change all samples alike");
  if (parts.state.contains("x.mean") || other.state.contains("x.mean"))
    throw spec.error(parts.state.contains("x.mean") ? "source" : "data", "the data is normalised already")
        .hint("write :append before :normalize(), whose means are then those of all training samples");
}

// Without encode_as on both sides the columns are joined as they are, so that both must have learnt the same.
void check_encodings(const Options& spec, const DataParts& parts, const DataParts& other) {
  for (const char* name : {"table", "tokenizer"}) {
    const auto learnt = [name](const DataParts& data) {
      const auto found = data.state.find(name);
      return found == data.state.end() ? at::Tensor() : found->second;
    };
    if (!is_same(learnt(parts), learnt(other)))
      throw spec.error("data", "its categories, fill values or vocabulary are others than those of the data here")
          .hint("both can be tables as their files have them: write :map and :pack after :append");
  }
}

// The data set that the samples of `other` are taken from; those of a table are encoded as the table here is.
std::shared_ptr<const Dataset> samples_of(const Options& spec, DataParts& parts, DataParts& other) {
  if (parts.encode_as && other.encode_as) {
    std::vector<std::string> unknown;
    auto encoded = std::make_shared<const Dataset>(
        placed_at(spec.child("data"), "", [&] { return other.encode_as(parts.state, unknown); }));
    for (const std::string& text : unknown) parts.warnings.emplace_back(spec.error("data", text).what());
    return encoded;
  }
  settle(other);
  parts.warnings.insert(parts.warnings.end(), other.warnings.begin(), other.warnings.end());
  return other.train.data;
}

// The weights of the first i + 1 samples of a part together; each weighs 1 where all are drawn alike.
double weight_until(const Part& part, std::int64_t i) {
  const bool is_alike = !part.draws || part.draws->cumulative.empty();
  return is_alike ? static_cast<double>(i + 1) : part.draws->cumulative[static_cast<std::size_t>(i)];
}

// The samples of the first part and then those of the other, each part with its own draws and its share of the whole.
Draws shared_draws(double share, const Part& own, const Part& more) {
  Draws draws{own.epoch_size() + more.epoch_size(), {}};
  const auto add = [&](double of_part, const Part& part) {
    const double before = draws.cumulative.empty() ? 0 : draws.cumulative.back();
    const double all = weight_until(part, part.size() - 1);
    for (std::int64_t i = 0; i < part.size(); ++i)
      draws.cumulative.push_back(before + of_part * weight_until(part, i) / all);
  };
  add(1 - share, own);
  add(share, more);
  return draws;
}

DataParts append(const Options& spec, const DataContext& context) {
  DataParts parts = open_source(spec.child("source"), context);
  DataContext of_other = context;
  of_other.is_appended = true;
  DataParts other = open_source(spec.child("data"), of_other);
  check_order(spec, parts, other);
  settle(parts);
  const std::shared_ptr<const Dataset> own = parts.train.data, more = samples_of(spec, parts, other);
  const auto both = with_torch_errors([&] { return std::make_shared<const Dataset>(join(spec, *own, *more)); });
  if (!parts.encode_as || !other.encode_as) check_encodings(spec, parts, other);

  std::vector<std::int64_t> rows;
  for (std::int64_t i = 0; i < parts.train.size(); ++i) rows.push_back(parts.train.row(i));
  for (std::int64_t i = 0; i < other.train.size(); ++i) rows.push_back(own->size + other.train.row(i));
  if (spec.given("share"))
    parts.train.draws = std::make_shared<const Draws>(shared_draws(spec.number("share"), parts.train, other.train));
  parts.train.rows = std::make_shared<const std::vector<std::int64_t>>(std::move(rows));
  // The parts of one data set stay parts of one, so that the memory of the columns is there once.
  for (Part* part : {&parts.train, parts.val ? &*parts.val : nullptr, parts.test ? &*parts.test : nullptr})
    if (part && part->data == own) part->data = both;
  if (!other.encode_as) parts.encode_as = nullptr;
  if (parts.encode_as) {
    parts.encode_as = [spec, here = parts.encode_as, there = other.encode_as](const NamedTensors& state,
                                                                              std::vector<std::string>& warnings) {
      const Dataset first = here(state, warnings);
      return join(spec, first, there(state, warnings));
    };
  }
  if (parts.lookup) {
    parts.lookup = [here = parts.lookup, there = other.lookup](const std::string& column) {
      const at::Tensor first = here(column), second = there ? there(column) : at::Tensor();
      return first.defined() && second.defined() ? at::concat({first, second}) : at::Tensor();
    };
  }
  return parts;
}

}  // namespace

void register_append(Registry& registry) {
  registry.add(
      Entry("data:append", "data", "Adds the training samples of other data to the training part: old data to new.")
          .with(Option("data", "the other data; its validation and test parts are not used")
                    .entry("data")
                    .required()
                    .positional())
          .with(Option("share",
                       "share of an epoch's samples that come from the other data; the samples of an epoch are then "
                       "drawn with replacement, and data that are drawn so already keep their proportions in the rest "
                       "(default: each sample of both, once)")
                    .number()
                    .more_than(0)
                    .less_than(1))
          .returns("data")
          .example("lab.data.csv { \"today.csv\", target = \"y\" }:split { val = 0.2 }\n"
                   "  :append { lab.data.csv { \"last-week.csv\", target = \"y\" }, share = 0.3 }:normalize()")
          .note("Validation and test parts stay those of the first data, so :split and :fold come before :append; "
                ":normalize, :augment and :weighted come after it, and change all samples. Both have the same columns, "
                "of one type and shape in a batch, and the same classes. An epoch has as many samples as both have "
                "together. A table is encoded by the columns, categories and fill values of the first table's training "
                "part: of the second one only path, target, task and delimiter count, other options may not say "
                "otherwise, and a column that the first one does not use is ignored. Columns that are not decoded from "
                "files are copied, so both data sets are in memory together."),
      DataFactory{append});
}

}  // namespace trainlab

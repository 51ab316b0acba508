#include "partition.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "sources/table.h"

namespace trainlab {

Part rows_of(const Part& part, std::vector<std::int64_t> samples) {
  for (std::int64_t& sample : samples) sample = part.row(sample);
  Part some = part;
  some.rows = std::make_shared<const std::vector<std::int64_t>>(std::move(samples));
  some.draws = nullptr;
  return some;
}

void require_unweighted(const Options& spec, const DataParts& parts) {
  if (parts.train.draws && !parts.train.draws->cumulative.empty())
    throw spec.error("source", "the samples are drawn with replacement before they are divided")
        .hint("write :weighted, and the share of :append, last");
}

namespace {

// A column of text alone learns nothing: its vocabulary is that of the whole file.
bool learns_of_rows(const Value& table) { return table["inputs"].is_list() || table["more"].is_list(); }

}  // namespace

void require_unshaped(const Options& spec, const DataParts& parts) {
  if (parts.state.contains("x.mean"))
    throw spec.error("source", "the data is normalised before it is divided, by samples of the other parts too")
        .hint("write :split or :fold before :normalize()");
  if (parts.state.contains("table") && learns_of_rows(stored_table(parts.state)))
    throw spec
        .error("source",
               "the table has got its fill values and categories before it is divided, from samples of the "
               "other parts too")
        .hint("write :split or :fold directly behind lab.data.csv { … }");
}

void cut_no_more(DataParts& parts) {
  if (!parts.cut) return;
  parts.cut = [](DataParts&, double, double, double) {
    throw recipe_error("the text is divided already").hint("give train, val and test in one split, before take");
  };
}

std::vector<std::int64_t> classes_of(const Options& spec, std::string_view option, const Part& part) {
  const Column* y = part.data->find("y");
  if (!y || part.data->classes == 0 || y->values.dim() != 1 || y->values.scalar_type() != at::kLong)
    throw spec.error(option, "the data has no classes, one for each sample");
  std::vector<std::int64_t> labels;
  const auto* data = y->values.const_data_ptr<std::int64_t>();
  for (std::int64_t i = 0; i < part.size(); ++i) labels.push_back(data[part.row(i)]);
  return labels;
}

std::vector<double> numbers_of(const Options& spec, std::string_view option, const DataParts& parts) {
  const std::string& name = spec.string(option);
  const Dataset& data = *parts.train.data;
  at::Tensor column = parts.lookup ? parts.lookup(name) : at::Tensor();
  if (!column.defined()) {
    const Column* found = data.find(name);
    if (!found) {
      std::vector<std::string> names;
      for (const Column& one : data.columns) names.push_back(one.name);
      const std::string close = Registry::closest(name, names);
      Error error = spec.error(option, "the data has no column \"" + name + "\"");
      throw close.empty() ? error : error.hint("did you mean \"" + close + "\"?");
    }
    column = found->values;
    if (found->source || column.numel() != column.size(0)) {
      throw spec.error(option, "column \"" + name + "\" has " + shape_text(found->sample_shape()) +
                                   " in a sample, expected one number");
    }
  }
  column = column.to(at::kDouble).contiguous();
  std::vector<double> numbers;
  for (std::int64_t i = 0; i < parts.train.size(); ++i) {
    numbers.push_back(column.const_data_ptr<double>()[parts.train.row(i)]);
    if (std::isnan(numbers.back()))
      throw spec.error(option,
                       "column \"" + name + "\" has no value in sample " + std::to_string(parts.train.row(i) + 1));
  }
  return numbers;
}

Option groups_option() {
  return Option("groups", "a column that names groups: all samples with the same value go to the same part").string();
}

std::vector<std::int64_t> groups_of(const Options& spec, const DataParts& parts) {
  const std::vector<double> values = numbers_of(spec, "groups", parts);
  std::map<double, std::int64_t> group_of;
  for (const double value : values) group_of.emplace(value, 0);
  std::int64_t next = 0;
  for (auto& [value, group] : group_of) group = next++;
  std::vector<std::int64_t> groups;
  for (const double value : values) groups.push_back(group_of[value]);
  return groups;
}

std::vector<std::vector<std::int64_t>> members_of(const std::vector<std::int64_t>& groups) {
  std::vector<std::vector<std::int64_t>> members;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const auto group = static_cast<std::size_t>(groups[i]);
    if (group >= members.size()) members.resize(group + 1);
    members[group].push_back(static_cast<std::int64_t>(i));
  }
  return members;
}

}  // namespace trainlab

#include "comparing/record.h"

#include <fmt/format.h>

#include <stdexcept>
#include <utility>

#include "core/error.h"
#include "core/files.h"
#include "core/number_or_nil.h"
#include "report/texts.h"
#include "run/folder.h"
#include "run/manifest.h"
#include "trainings/facts.h"

namespace trainlab::cli {

namespace fs = std::filesystem;
using report::shown_path;

namespace {

constexpr int format_of_record = 1;

fs::path path_of_record(const fs::path& folder) { return folder / "comparison.json"; }

Error damaged_record(const fs::path& folder) {
  return damaged_file(path_of_record(folder), "it is no comparison")
      .hint("put the file back from a copy; without one, remove " + shown_path(folder) + ", or choose an --out");
}

Value value_of_pair(const compare::Pair& pair) {
  return Value::Map{{"seed", pair.seed},
                    {"a", pair.a.to_value()},
                    {"b", pair.b.to_value()},
                    {"a_at_equal_time", number_or_nil(pair.a_at_equal_time)},
                    {"b_at_equal_time", number_or_nil(pair.b_at_equal_time)}};
}

compare::Pair pair_from(const Value& value) {
  return {.seed = value["seed"].integer(),
          .a = compare::Training::from_value(value["a"]),
          .b = compare::Training::from_value(value["b"]),
          .a_at_equal_time = number_or_none(value["a_at_equal_time"]),
          .b_at_equal_time = number_or_none(value["b_at_equal_time"])};
}

Value value_of_target(const std::optional<compare::Target>& target) {
  if (!target) return {};
  return Value::Map{{"metric", target->metric}, {"value", target->value}, {"minimize", target->minimize}};
}

std::optional<compare::Target> target_from(const Value& value) {
  if (value.is_nil()) return std::nullopt;
  return compare::Target{
      .metric = value["metric"].string(), .value = value["value"].number(), .minimize = value["minimize"].boolean()};
}

std::string text_of_fact(const Value& value) {
  return value.is_nil() ? "not given" : value.is_string() ? value.string() : to_json(value);
}

// A side of the question as people read it: the recipe and its parameters.
std::string shown_side(const Value& asked) {
  std::string text = shown_path(asked["recipe"].string());
  for (const auto& [name, value] : asked["parameters"].map()) text += " " + name + "=" + value.string();
  return text;
}

// Between two pairs of a comparison that is under way, none of its runs is held for a moment.
bool is_under_way(const ComparisonRecord& record) {
  const auto next = static_cast<std::int64_t>(record.pairs.size()) + 1;
  return holder(folder_of_run(record.folder, "a", next)) || holder(folder_of_run(record.folder, "b", next));
}

Question recorded_question(const ComparisonRecord& record, const compare::Target& target) {
  const Value& seeds = record.asked["seeds"];
  return {.target = target,
          .margin = number_or_none(record.asked["not_worse"]),
          .seeds = seeds.is_integer() ? std::optional(static_cast<int>(seeds.integer())) : std::nullopt};
}

}  // namespace

void ComparisonRecord::write() const {
  Value::List list;
  for (const compare::Pair& pair : pairs) list.push_back(value_of_pair(pair));
  const Value value = Value::Map{
      {"format", format_of_record},        {"asked", asked},
      {"target", value_of_target(target)}, {"shared_samples", shared_samples ? Value(*shared_samples) : Value()},
      {"pairs", std::move(list)},          {"has_ended", has_ended}};
  write_atomic(path_of_record(folder), to_json(value, 1) + "\n");
}

Value stored_comparison(const fs::path& folder) {
  const Value stored = read_json(path_of_record(folder));
  if (stored.is_nil()) return stored;
  if (!stored["format"].is_integer()) throw damaged_record(folder);
  if (stored["format"] != Value(format_of_record)) {
    throw usage_error(path_of_record(folder).string() + " is of another version of trainlab")
        .hint("choose another folder for the comparison: --out DIR");
  }
  return stored;
}

std::optional<std::string> difference_from(const Value& stored, const Value& asked) {
  for (const auto& [name, now] : asked.map()) {
    const Value& before = stored["asked"][name];
    if (name != "data" && before != now) return name + " was " + text_of_fact(before) + ", is " + text_of_fact(now);
  }
  return std::nullopt;
}

std::optional<std::string> change_of_data(const Value& stored, const Value& asked) {
  for (const auto& [side, name] : {std::pair("a", "A"), std::pair("b", "B")}) {
    if (const auto part = changed_part(stored["asked"]["data"][side], asked["data"][side]))
      return "the part " + *part + " of " + name + "'s data has changed";
  }
  return std::nullopt;
}

ComparisonRecord record_from(const fs::path& folder, const Value& stored) {
  try {
    ComparisonRecord record{.folder = folder,
                            .asked = stored["asked"].map(),
                            .target = target_from(stored["target"]),
                            .shared_samples = {}};
    if (const Value& samples = stored["shared_samples"]; !samples.is_nil()) record.shared_samples = samples.integer();
    for (const Value& pair : stored["pairs"].list()) record.pairs.push_back(pair_from(pair));
    record.has_ended = stored["has_ended"].boolean();
    return record;
  } catch (const std::logic_error&) {
    throw damaged_record(folder);
  }
}

fs::path folder_of_run(const fs::path& comparison, const std::string& side, std::int64_t seed) {
  return comparison / fmt::format("{}-{:03}", side, seed);
}

Comparison comparison_of(const ComparisonRecord& record, const Question& question, Status status) {
  return {.pairs = record.pairs,
          .looks = question.looks(),
          .folder = record.folder,
          .a = shown_side(record.asked["a"]),
          .b = shown_side(record.asked["b"]),
          .shared_samples = record.shared_samples,
          .status = status};
}

std::optional<ShownComparison> comparison_in(const fs::path& folder) {
  std::error_code ignored;
  if (!fs::exists(path_of_record(folder), ignored) || fs::exists(manifest_path(folder), ignored)) return std::nullopt;
  const fs::path absolute = (fs::absolute(folder) / "").lexically_normal().parent_path();
  const ComparisonRecord record = record_from(absolute, stored_comparison(absolute));
  if (!record.target) {
    throw usage_error("the comparison in " + absolute.string() +
                      " is of an earlier version of trainlab, which did not store whether smaller is better")
        .hint("the command that made it shows it, with --out " + shown_path(absolute));
  }
  try {
    const Question question = recorded_question(record, *record.target);
    const Status status = record.has_ended ? Status::done : is_under_way(record) ? Status::running : Status::unfinished;
    return ShownComparison{.comparison = comparison_of(record, question, status), .question = question};
  } catch (const std::logic_error&) {
    throw damaged_record(absolute);
  }
}

}  // namespace trainlab::cli

// The record of a comparison of recipes: comparison.json in its folder, with the question and the pairs that have
// ended. The folder also holds the runs a-001, b-001, a-002, …
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "compare/judgement.h"
#include "comparing/question.h"
#include "core/value.h"

namespace trainlab::cli {

struct ComparisonRecord {
  std::filesystem::path folder = {};
  // The facts in which two commands must agree to ask the same: of the sides `a` and `b` what asked_of() gives
  // (trainings/seeded_runs.h), and `target`, `not_worse`, `seeds`, `device`, `threads`, `memory` and `data`: of both
  // sides what data_of() gives (trainings/facts.h), and nil in a record of an earlier version.
  Value asked;
  // nullopt in a record of an earlier version, which did not store the target nor the following.
  std::optional<compare::Target> target;
  std::optional<std::int64_t> shared_samples;  // Comparison::shared_samples
  std::vector<compare::Pair> pairs = {};
  bool has_ended = false;  // whether the question is answered, or the last pair trained

  // Writes the whole file anew, atomically, since there are only a few pairs.
  void write() const;
};

// The file in a folder; nil where there is none. Raises damaged_file (run/folder.h), and Error{usage} for a file of
// another version of trainlab.
Value stored_comparison(const std::filesystem::path& folder);
// The first fact other than the data in which a stored comparison differs from what is asked now, as "target was …, is
// …"; nullopt where they are the same comparison.
std::optional<std::string> difference_from(const Value& stored, const Value& asked);
// The first part of the data that has changed since a comparison was stored, as "the part val of A's data has changed";
// nullopt where none has, or nobody knows.
std::optional<std::string> change_of_data(const Value& stored, const Value& asked);
// The record that the file holds. Raises damaged_file.
ComparisonRecord record_from(const std::filesystem::path& folder, const Value& stored);

// The folder of the run of a side, "a" or "b", with this seed.
std::filesystem::path folder_of_run(const std::filesystem::path& comparison, const std::string& side,
                                    std::int64_t seed);

// The comparison as it is shown. `asked` is of the right shape.
Comparison comparison_of(const ComparisonRecord& record, const Question& question, Status status);

// A comparison that is read to be shown, and its question.
struct ShownComparison {
  Comparison comparison;
  Question question;
};
// The comparison in a folder; nullopt where the folder is not that of a comparison. Raises as the functions above, and
// Error{usage} for a record without a target.
std::optional<ShownComparison> comparison_in(const std::filesystem::path& folder);

}  // namespace trainlab::cli

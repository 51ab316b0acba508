// The question that a line of `trainlab compare` asks, and the comparison that answers it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "cli/arguments.h"
#include "compare/judgement.h"
#include "core/value.h"

namespace trainlab::cli {

struct Question {
  compare::Target target = {};  // its direction is unknown until an engine was asked about the recipe
  std::optional<double> margin = {};
  std::optional<int> seeds = {};      // nullopt: until the question is answered, at the planned looks
  std::optional<double> within = {};  // budget in seconds, from the start of the command

  compare::Looks looks() const;
};

// `stopped`: the time of --within ended it before the question was answered; a useless target is told as such, too.
// `running` and `unfinished`: what another process has left so far, one that trains or none.
enum class Status { done, stopped, interrupted, running, unfinished };

struct Comparison {
  std::vector<compare::Pair> pairs;
  compare::Looks looks = compare::Looks::planned();
  std::filesystem::path folder;  // folder of the runs that the comparison trains; empty for runs that existed before
  std::string a, b;              // shown names
  // The number of the samples on which all trainings are judged; nullopt where the seed chooses them, or nobody knows.
  std::optional<std::int64_t> shared_samples = {};
  Status status = Status::done;
};

// The judgement as one line: the first of the comparison's text.
std::string headline(const compare::Judgement& judged, const Question& question, const compare::Looks& looks);
// The comparison as text, which is a sentence and then a few lines; and as data.
std::string comparison_text(const Comparison& comparison, const Question& question);
Value comparison_value(const Comparison& comparison, const Question& question);
// Its page. Raises Error{run} where no pair has ended.
std::string page_of_comparison(const Comparison& comparison, const Question& question);
// Prints the comparison, and writes its page where the line asks for one. Returns the exit code.
int tell(const Arguments& given, const Comparison& comparison, const Question& question);

// Trains pairs of both recipes until the question is answered. Returns the exit code.
int compare_recipes(const Arguments& given, Question question);
// Compares runs that have ended. Returns the exit code.
int compare_runs(const Arguments& given, Question question);

}  // namespace trainlab::cli

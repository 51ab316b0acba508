// What `trainlab compare` is asked, and what becomes of it.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "cli/arguments.h"
#include "compare/judgement.h"
#include "core/value.h"

namespace trainlab::cli {

struct Question {
  compare::Target target = {};  // the direction becomes known when a recipe is asked
  std::optional<double> margin = {};
  std::optional<int> seeds = {};      // nullopt: as many as it takes, by the planned looks
  std::optional<double> within = {};  // seconds

  compare::Looks looks() const;
};

struct Comparison {
  std::vector<compare::Pair> pairs;
  compare::Looks looks = compare::Looks::planned();
  std::filesystem::path folder;  // of the trained runs; empty where they were there before
  std::string a, b;              // names to show
  bool is_interrupted = false;
};

// What is said of a comparison: a sentence, then a few lines; and as data.
std::string comparison_text(const Comparison& comparison, const Question& question);
Value comparison_value(const Comparison& comparison, const Question& question);

// A line on standard error, unless --quiet.
void say(const Arguments& given, const std::string& line);

// Trains pairs of both recipes until the question is answered; gives the exit code.
int compare_recipes(const Arguments& given, Question question);
// Compares runs that have ended.
int compare_runs(const Arguments& given, Question question);

}  // namespace trainlab::cli

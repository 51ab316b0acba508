#include "comparing/target.h"

#include <string>

#include "cli/ending.h"
#include "core/error.h"
#include "report/texts.h"
#include "trainings/facts.h"

namespace trainlab::cli {

namespace {

std::string samples_of(const Value& a, const Value& b) {
  return std::to_string(a["samples"].integer()) + " samples in A, " + std::to_string(b["samples"].integer()) + " in B";
}

Error not_comparable(const std::string& metric, const std::string& why) {
  return usage_error(metric + " of A and B cannot be compared: " + why);
}

}  // namespace

void settle_target(const Arguments& given, Question& question, const Value& a, const Value& b) {
  const std::string& metric = question.target.metric;
  if (a["measure"] != b["measure"] || a["minimize"] != b["minimize"]) {
    throw not_comparable(metric, "they compute it in different ways");
  }
  question.target.minimize = a["minimize"].boolean();
  const double asked = question.target.value;
  const bool minimize = question.target.minimize;
  const Value& best = a["best"];
  if (best.is_number() && (minimize ? asked < best.number() : asked > best.number())) {
    throw usage_error("--target " + metric + "=" + number_text(asked) + ": no model can have a " + metric +
                      (minimize ? " below " : " above ") + report::short_number(best.number()));
  }
  const std::string part = part_of(metric);
  if (a[part]["questions"] != b[part]["questions"]) {
    throw not_comparable(metric, "it is measured on other samples (" + samples_of(a[part], b[part]) + ")")
        .hint("split both alike: data:split { train = 0.8, val = 0.2, seed = 7 }");
  }
  if (a["train"]["questions"] != b["train"]["questions"]) {
    say(given, "A and B train on different samples (" + samples_of(a["train"], b["train"]) + ")");
  } else if (a["data"] != b["data"]) {
    say(given, "A and B prepare the same samples in different ways (the option data differs)");
  }
}

std::optional<std::int64_t> shared_samples(const Value& facts, const Value& with_other_seed,
                                           const std::string& metric) {
  const Value& part = facts[part_of(metric)];
  if (part["questions"] != with_other_seed[part_of(metric)]["questions"]) return std::nullopt;
  return part["samples"].integer();
}

}  // namespace trainlab::cli

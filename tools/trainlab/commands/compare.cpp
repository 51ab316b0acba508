#include <charconv>
#include <cmath>
#include <filesystem>

#include "cli/arguments.h"
#include "cli/requests.h"
#include "comparing/question.h"
#include "core/error.h"
#include "report/page.h"
#include "run/latest.h"

namespace trainlab::cli {

namespace {

Error wrong(const std::string& flag, const std::string& expected, const std::string& text) {
  return usage_error(flag + ": expected " + expected + ", found \"" + text + "\"");
}

template <class Number>
bool is_read(std::string_view text, Number& number) {
  const auto [rest, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  return code == std::errc() && rest == text.data() + text.size();
}

compare::Target target_of(const std::string& text) {
  const std::size_t equals = text.find('=');
  compare::Target target;
  if (equals == 0 || equals == std::string::npos || !is_read(std::string_view(text).substr(equals + 1), target.value) ||
      !std::isfinite(target.value)) {
    throw wrong("--target", "a metric and a number, as val.accuracy=0.97", text);
  }
  target.metric = text.substr(0, equals);
  return target;
}

std::optional<int> seeds_of(const std::string& text) {
  constexpr int fewest = 3, most = 1000;
  int count = 0;
  if (text == "auto") return std::nullopt;
  if (is_read(text, count) && count >= fewest && count <= most) return count;
  throw wrong("--seeds", "auto or a whole number from 3 to 1000 (one or two seeds say nothing)", text);
}

void check_parameters(const Arguments& given, const std::string& flag) {
  if (!given.has(flag)) return;
  for (const Value& text : given.flags[flag].list()) {
    const std::size_t equals = text.string().find('=');
    if (equals == 0 || equals == std::string::npos) throw wrong("--" + flag, "NAME=VALUE", text.string());
  }
}

Question question_of(const Arguments& given) {
  Question question;
  question.target = target_of(given.flags["target"].string());
  if (given.has("not-worse")) question.margin = given.flags["not-worse"].number();
  if (given.has("seeds")) question.seeds = seeds_of(given.flags["seeds"].string());
  if (given.has("within")) question.within = given.flags["within"].number();
  return question;
}

// Whether the word names a folder, which may be a run or hold runs.
bool is_folder(const std::string& word) {
  std::error_code ignored;
  return std::filesystem::is_directory(with_latest(absolute_path(word)), ignored);
}

void check_compare(const Arguments& given) {
  if (!given.has("target")) {
    throw usage_error("`trainlab compare` needs the target to which both are timed: --target val.accuracy=0.97");
  }
  question_of(given);
  if (given.has("html")) report::check_page(given.flags["html"].string());
  check_parameters(given, "a");
  check_parameters(given, "b");
  for (const std::string& word : given.words) {
    std::error_code ignored;
    if (std::filesystem::exists(with_latest(absolute_path(word)), ignored)) continue;
    throw usage_error("there is no recipe and no folder of runs " + word);
  }
  const bool of_runs = is_folder(given.words.front());
  if (given.words.size() == 2 && is_folder(given.words.back()) != of_runs) {
    throw usage_error("expected two recipes or two folders of runs, found " + given.words.front() + " and " +
                      given.words.back());
  }
  if (!of_runs) {
    if (given.words.size() == 2 || given.has("a") || given.has("b")) return;
    throw usage_error("`trainlab compare` needs a second recipe, or parameters that differ: --a lr=0.01 --b lr=0.03");
  }
  if (given.words.size() == 1) throw usage_error("`trainlab compare` needs a second folder of runs");
  for (const char* flag : {"a", "b", "seeds", "within", "out"}) {
    if (given.has(flag)) throw usage_error(std::string("--") + flag + " means nothing to runs that have ended");
  }
}

int run_compare(const Program&, const Arguments& given) {
  const Question question = question_of(given);
  return is_folder(given.words.front()) ? compare_runs(given, question) : compare_recipes(given, question);
}

}  // namespace

compare::Looks Question::looks() const { return seeds ? compare::Looks::fixed(*seeds) : compare::Looks::planned(); }

Command compare_command() {
  constexpr double smallest_margin = 1e-300, largest = 1e300;
  return {
      .name = "compare",
      .line = "whether a second recipe is faster than a first, and not worse",
      .text =
          "A and B are recipes that return a fit, one recipe with --a and --b, or folders of runs that have ended (an\n"
          "ensemble, or a folder with a run for each seed). Recipes are trained in pairs with seeds 1, 2, 3, … in\n"
          "runs/compare, until it is clear whether B reaches the target sooner: after 5, 8, 12 or 20 seeds. The same\n"
          "command continues a comparison that was interrupted.\n",
      .words = {.operand = "A B",
                .what = "two recipes, or two folders of runs",
                .least = 1,
                .most = 2,
                .names = FlagType::Names::files},
      .flags = {{.name = "target",
                 .type = text_type("METRIC=VALUE"),
                 .help = "the metric's value to which both are timed: val.accuracy=0.97"},
                {.name = "not-worse",
                 .type = number_type("MARGIN", smallest_margin, largest, "above 0"),
                 .help = "also ask whether B ends worse than A by less than MARGIN, in the metric's unit"},
                {.name = "seeds",
                 .type = text_type("auto|N"),
                 .help = "pairs to train: as many as it takes (auto), or exactly N"},
                {.name = "within",
                 .type = time_type(),
                 .help = "end after this time: no pair begins that would probably end later, and a training that is\n"
                         "under way then stops, resumably: \"30 min\""},
                {.name = "a", .type = text_type("NAME=VALUE"), .help = "a parameter of A", .repeats = true},
                {.name = "b", .type = text_type("NAME=VALUE"), .help = "a parameter of B", .repeats = true},
                {.name = "html",
                 .type = file_type("FILE"),
                 .help = "also writes a page with charts that needs nothing but a browser"},
                common_flag("out", "the comparison's folder (default: the next free runs/compare/NAME/NNN)")},
      .works = Command::Works::with_engine,
      .check = check_compare,
      .run = run_compare,
  };
}

}  // namespace trainlab::cli

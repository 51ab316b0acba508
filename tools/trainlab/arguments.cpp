#include "cli/arguments.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <functional>
#include <limits>

#include "core/error.h"
#include "core/registry.h"

namespace trainlab::cli {

namespace {

const std::vector<std::string> commands = {"run", "check", "resume", "extend", "worker", "predict", "list", "report", "help"};

constexpr std::int64_t largest_seed = (std::int64_t{1} << 53) - 1;

std::int64_t whole_number(const std::string& flag, const std::string& text, std::int64_t low, std::int64_t high) {
  std::int64_t number = 0;
  const char* end = text.data() + text.size();
  const auto [rest, code] = std::from_chars(text.data(), end, number);
  if (code != std::errc() || rest != end || number < low || number > high) {
    throw usage_error(flag + ": expected a whole number from " + std::to_string(low) + " to " + std::to_string(high) +
                      ", found \"" + text + "\"");
  }
  return number;
}

double number(const std::string& flag, const std::string& text, double low, double high, const char* range) {
  double number = 0;
  const char* end = text.data() + text.size();
  const auto [rest, code] = std::from_chars(text.data(), end, number);
  if (code != std::errc() || rest != end || !(number >= low && number <= high)) {
    throw usage_error(flag + ": expected a number " + range + ", found \"" + text + "\"");
  }
  return number;
}

std::string device(const std::string& text) {
  const bool indexed = text.starts_with("cuda:") && text.size() > 5 && text.size() < 9 &&
                       std::all_of(text.begin() + 5, text.end(), [](char c) { return c >= '0' && c <= '9'; });
  if (text == "auto" || text == "cpu" || text == "cuda" || indexed) return text;
  throw usage_error("--device: expected auto, cpu, cuda or cuda:N, found \"" + text + "\"");
}

struct Flag {
  std::string name;
  bool takes_value;
  std::vector<std::string> of;  // the commands that know it
  bool common;                  // anywhere on the line; else only after its command
  std::function<void(Arguments&, const std::string&)> read;
};

const std::vector<Flag>& flags() {
  static const std::vector<std::string> recipes = {"run", "check"};
  static const std::vector<std::string> seeded = {"run", "check", "predict"};
  static const std::vector<std::string> predict = {"predict"};
  static const std::vector<Flag> table = {
      {"--out", true, recipes, true, [](Arguments& a, const std::string& text) { a.out = text; }},
      {"--device", true, commands, true, [](Arguments& a, const std::string& text) { a.device = device(text); }},
      {"--threads", true, commands, true,
       [](Arguments& a, const std::string& text) {
         a.threads = static_cast<int>(whole_number("--threads", text, 1, 4096));
       }},
      {"--seed", true, seeded, true,
       [](Arguments& a, const std::string& text) { a.seed = whole_number("--seed", text, 0, largest_seed); }},
      {"--workers", true, commands, true,
       [](Arguments& a, const std::string& text) {
         a.workers = static_cast<int>(whole_number("--workers", text, 1, 4096));
       }},
      {"--set", true, recipes, true,
       [](Arguments& a, const std::string& text) {
         const std::size_t equals = text.find('=');
         if (equals == 0 || equals == std::string::npos) {
           throw usage_error("--set: expected PATH=VALUE or STAGE:PATH=VALUE, found \"" + text + "\"");
         }
         a.set.push_back(text);
       }},
      {"--params", true, recipes, true, [](Arguments& a, const std::string& text) { a.params = text; }},
      {"--stdlib", true, commands, true, [](Arguments& a, const std::string& text) { a.stdlib = text; }},
      {"--json", false, commands, true, [](Arguments& a, const std::string&) { a.json = true; }},
      {"--quiet", false, commands, true, [](Arguments& a, const std::string&) { a.quiet = true; }},
      {"--help", false, commands, true, [](Arguments& a, const std::string&) { a.help = true; }},
      {"--version", false, {}, true, [](Arguments& a, const std::string&) { a.version = true; }},
      {"--step", false, {"check"}, false, [](Arguments& a, const std::string&) { a.step = true; }},
      {"--epochs",
       true,
       {"extend"},
       false,
       [](Arguments& a, const std::string& text) { a.epochs = whole_number("--epochs", text, 1, largest_seed); }},
      {"--steps",
       true,
       {"extend"},
       false,
       [](Arguments& a, const std::string& text) { a.steps = whole_number("--steps", text, 1, largest_seed); }},
      {"--trials",
       true,
       {"extend"},
       false,
       [](Arguments& a, const std::string& text) { a.trials = whole_number("--trials", text, 1, largest_seed); }},
      {"--input", true, predict, false, [](Arguments& a, const std::string& text) { a.input = text; }},
      {"--output", true, predict, false, [](Arguments& a, const std::string& text) { a.output = text; }},
      {"--format", true, predict, false,
       [](Arguments& a, const std::string& text) {
         if (text != "csv" && text != "json")
           throw usage_error("--format: expected csv or json, found \"" + text + "\"");
         a.format = text;
       }},
      {"--stage", true, predict, false, [](Arguments& a, const std::string& text) { a.stage = text; }},
      {"--model", true, predict, false, [](Arguments& a, const std::string& text) { a.model = text; }},
      {"--batch", true, predict, false,
       [](Arguments& a, const std::string& text) { a.batch = whole_number("--batch", text, 1, 1 << 20); }},
      {"--prompt", true, predict, false, [](Arguments& a, const std::string& text) { a.prompt = text; }},
      {"--length", true, predict, false,
       [](Arguments& a, const std::string& text) { a.length = whole_number("--length", text, 0, 1 << 24); }},
      {"--temperature", true, predict, false,
       [](Arguments& a, const std::string& text) { a.temperature = number("--temperature", text, 0, 1e6, "from 0"); }},
      {"--top-k", true, predict, false,
       [](Arguments& a, const std::string& text) { a.top_k = whole_number("--top-k", text, 1, 1 << 30); }},
      {"--top-p", true, predict, false,
       [](Arguments& a, const std::string& text) {
         a.top_p = number("--top-p", text, std::numeric_limits<double>::min(), 1, "above 0 and at most 1");
       }},
      {"--csv", false, {"report"}, false, [](Arguments& a, const std::string&) { a.csv = true; }},
      {"--html", true, {"report"}, false, [](Arguments& a, const std::string& text) { a.html = text; }},
  };
  return table;
}

bool knows(const Flag& flag, const std::string& command) {
  return command.empty() || flag.name == "--version" ||
         std::find(flag.of.begin(), flag.of.end(), command) != flag.of.end();
}

const Flag* find_flag(const std::string& name, const std::string& command) {
  for (const Flag& flag : flags()) {
    if (flag.name == name && (flag.common || (!command.empty() && knows(flag, command)))) return &flag;
  }
  return nullptr;
}

bool is_recipe(const std::string& word) {
  std::error_code ignored;
  return word.ends_with(".lua") || std::filesystem::is_regular_file(word, ignored);
}

Error unknown(const std::string& what, const std::string& word, const std::vector<std::string>& known) {
  Error error = usage_error("unknown " + what + " " + word);
  const std::string close = Registry::closest(word, known);
  if (!close.empty()) {
    error.hint("did you mean " + close + "?");
  } else {
    error.hint("`trainlab --help` shows them all");
  }
  return error;
}

class Parser {
 public:
  explicit Parser(std::span<const std::string> words) : words_(words) {}

  Arguments parse() {
    while (position_ < words_.size()) {
      const std::string& word = words_[position_++];
      if (word.size() > 1 && word.front() == '-') {
        take_flag(word == "-h" ? "--help" : word);
      } else if (result_.command.empty()) {
        take_command(word);
      } else {
        result_.words.push_back(word);
      }
    }
    check();
    return std::move(result_);
  }

 private:
  // After a recipe's path: what is no common flag is a parameter of the recipe.
  bool has_recipe() const { return (result_.command == "run" || result_.command == "check") && !result_.words.empty(); }

  void take_command(const std::string& word) {
    if (std::find(commands.begin(), commands.end(), word) != commands.end()) {
      result_.command = word;
    } else if (is_recipe(word)) {
      result_.command = "run";
      result_.words.push_back(word);
    } else {
      throw unknown("command or recipe", word, commands);
    }
  }

  void take_flag(const std::string& word) {
    const std::size_t equals = word.find('=');
    const std::string name = word.substr(0, equals);
    std::optional<std::string> value;
    if (equals != std::string::npos) value = word.substr(equals + 1);

    if (const Flag* flag = find_flag(name, result_.command)) {
      if (!flag->takes_value && value) throw usage_error(name + " takes no value, found \"" + *value + "\"");
      const bool again = std::find(seen_.begin(), seen_.end(), flag) != seen_.end();
      if (again && flag->takes_value && name != "--set") throw usage_error(name + " is given twice");
      seen_.push_back(flag);
      flag->read(result_, flag->takes_value ? value_of(name, value) : "");
      return;
    }
    if (!has_recipe() || !name.starts_with("--") || name.size() == 2) {
      std::vector<std::string> known;
      for (const Flag& flag : flags()) {
        if (knows(flag, result_.command)) known.push_back(flag.name);
      }
      Error error = unknown("flag", name, known);
      if (result_.command.empty() && Registry::closest(name, known).empty()) {
        error.hint("a recipe's own parameters come after its path: trainlab RECIPE.lua " + name + " VALUE");
      }
      throw error;
    }
    for (const GivenParameter& given : result_.parameters) {
      if (given.name == name.substr(2)) throw usage_error(name + " is given twice");
    }
    result_.parameters.push_back({name.substr(2), value_of(name, value), name});
  }

  std::string value_of(const std::string& name, const std::optional<std::string>& joined) {
    if (joined) return *joined;
    if (position_ == words_.size() || words_[position_].starts_with("--")) {
      throw usage_error(name + " needs a value: " + name + " VALUE or " + name + "=VALUE");
    }
    return words_[position_++];
  }

  void check() const {
    if (result_.help || result_.version) return;
    const std::string& command = result_.command;
    for (const Flag* flag : seen_) {
      if (knows(*flag, command)) continue;
      Error error = usage_error(flag->name + " means nothing to `trainlab " + command + "`");
      if (command == "resume" || command == "extend") {
        error.hint("a run that is continued keeps its parameters, seed, settings and folder");
      }
      throw error;
    }
    const std::size_t count = result_.words.size();
    const auto expect = [&](const char* what, std::size_t low, std::size_t high) {
      if (count < low) throw usage_error("`trainlab " + command + "` needs " + what);
      if (count > high) {
        throw usage_error("`trainlab " + command + "` takes " + what + ", found \"" + result_.words[high] +
                          "\" after it");
      }
    };
    if (command == "run" || command == "check") expect("one recipe", 1, 1);
    if (command == "resume" || command == "worker") expect("one run folder", 1, 1);
    if (command == "extend") {
      expect("one run folder", 1, 1);
      if (result_.epochs.has_value() + result_.steps.has_value() + result_.trials.has_value() != 1) {
        throw usage_error(
            "`trainlab extend` needs the new total: --epochs N or --steps N of a fit, --trials N of a sweep");
      }
    }
    if (command == "predict") check_predict(expect);
    if (command == "report") {
      expect("a run folder", 1, static_cast<std::size_t>(-1));
      const int forms = int{result_.csv} + int{result_.json} + int{result_.html.has_value()};
      if (forms > 0 && count > 1) throw usage_error("--csv, --json and --html report one run at a time");
      if (forms > 1) throw usage_error("one of --csv, --json and --html");
    }
    if (command == "help") expect("one name", 0, 1);
  }

  template <class Expect>
  void check_predict(Expect&& expect) const {
    expect("one run folder", 1, 1);
    const Arguments& a = result_;
    if (a.input.has_value() == a.prompt.has_value()) {
      throw usage_error("`trainlab predict` needs --input FILE, or --prompt TEXT for a language model");
    }
    const auto refuse = [&](const char* flag, bool given, const char* needs) {
      if (given) throw usage_error(std::string(flag) + " means nothing without " + needs);
    };
    if (a.input) {
      refuse("--length", a.length.has_value(), "--prompt");
      refuse("--temperature", a.temperature.has_value(), "--prompt");
      refuse("--top-k", a.top_k.has_value(), "--prompt");
      refuse("--top-p", a.top_p.has_value(), "--prompt");
      refuse("--seed", a.seed.has_value(), "--prompt");
    } else {
      refuse("--format", a.format.has_value(), "--input");
      refuse("--batch", a.batch.has_value(), "--input");
    }
    if (a.json && a.format == "csv" && !a.output) throw usage_error("either --json or --format csv");
  }

  std::span<const std::string> words_;
  std::size_t position_ = 0;
  Arguments result_;
  std::vector<const Flag*> seen_;
};

}  // namespace

Arguments parse_arguments(std::span<const std::string> words) { return Parser(words).parse(); }

bool asks_for_json(std::span<const std::string> words) {
  return std::find(words.begin(), words.end(), "--json") != words.end();
}

}  // namespace trainlab::cli

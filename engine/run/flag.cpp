#include "run/flag.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <stdexcept>
#include <string_view>

#include "core/bytes.h"
#include "core/duration.h"
#include "core/error.h"
#include "core/registry.h"
#include "core/value.h"
#include "core/words.h"

namespace trainlab {

namespace {

constexpr std::int64_t largest_seed = largest_exact - 1;

Value as_text(const std::string&, const std::string& text) { return text; }

template <class Number>
bool read_number(const std::string& text, Number& number) {
  const char* end = text.data() + text.size();
  const auto [rest, code] = std::from_chars(text.data(), end, number);
  return code == std::errc() && rest == end;
}

Error misfit(const std::string& flag, const std::string& expected, const std::string& text) {
  return usage_error("expected " + expected + ", found \"" + text + "\"").in(flag);
}

// NAME or NAME:N. Which kinds there are is known to the engine alone, because plugins bring kinds.
FlagType device_type() {
  FlagType type{.operand = "D", .read = nullptr, .words = {"auto", "cpu", "cuda"}};
  type.read = [](const std::string& flag, const std::string& text) -> Value {
    const auto all = [](std::string_view part, auto allowed) {
      return !part.empty() && std::ranges::all_of(part, allowed);
    };
    const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
    const std::string_view whole = text;
    const std::size_t colon = whole.find(':');
    const bool named =
        all(whole.substr(0, colon), [&](char c) { return (c >= 'a' && c <= 'z') || c == '_' || is_digit(c); });
    const std::string_view index = colon == std::string_view::npos ? "0" : whole.substr(colon + 1);
    if (named && index.size() < 4 && all(index, is_digit)) return text;
    throw misfit(flag, "auto, cpu, cuda or cuda:N", text);
  };
  return type;
}

FlagType assignment_type() {
  return {.operand = "PATH=VALUE", .read = [](const std::string& flag, const std::string& text) -> Value {
            const std::size_t equals = text.find('=');
            if (equals == 0 || equals == std::string::npos) {
              throw misfit(flag, "PATH=VALUE or STAGE:PATH=VALUE", text);
            }
            return text;
          }};
}

FlagType bytes_type() {
  return {.operand = "SIZE", .read = [](const std::string& flag, const std::string& text) -> Value {
            if (const std::optional<std::int64_t> bytes = bytes_of(text)) return *bytes;
            throw misfit(flag, "bytes with their unit, as \"4GB\" or \"512 MiB\"", text);
          }};
}

// Whether a path such as "loader.threads" leads to an option of a stage, or with "build." in front to an option of the
// stages that its function builds, that never changes results.
bool is_of_speed_alone(const Registry& registry, std::string_view path) {
  constexpr std::string_view built = "build.";
  if (path.starts_with(built)) path.remove_prefix(built.size());
  return std::ranges::any_of(registry.entries(), [&](const Entry* entry) {
    if (entry->kind != "stage") return false;
    const std::size_t dot = path.find('.');
    const Option* option = entry->find(std::string(path.substr(0, dot)));
    if (!option || dot == std::string_view::npos) return option && option->is_of_speed_alone;
    const auto inner = std::ranges::find(option->nested, path.substr(dot + 1), &Option::name);
    return inner != option->nested.end() && inner->is_of_speed_alone;
  });
}

Value set_that_counts(const Value& set, const Circumstances& begun) {
  Value::List counting;
  for (const Value& text : set.list()) {
    const std::string left = text.string().substr(0, text.string().find('='));
    const std::string path = left.substr(left.find(':') + 1);  // STAGE:path, or only the path
    if (!is_of_speed_alone(begun.registry, path)) counting.push_back(text);
  }
  return counting;
}

Value bytes_or_none(const Value& bytes, const Circumstances&) {
  return bytes == Value(0) ? Value("no limit") : Value(std::to_string(bytes.integer()) + " bytes");
}

Value time_or_none(const Value& seconds, const Circumstances&) {
  return seconds == Value(0.0) ? Value("none") : Value(to_text(Duration{seconds.number(), Unit::seconds}));
}

// Without --threads a training has all cores.
Value threads_or_cores(const Value& threads, const Circumstances& begun) {
  return threads == Value(0) ? Value(begun.cores) : threads;
}

}  // namespace

FlagType switch_type() {
  return {.operand = "", .read = [](const std::string&, const std::string&) { return Value(true); }, .kind = "switch"};
}

FlagType text_type(std::string operand) { return {.operand = std::move(operand), .read = as_text, .kind = "text"}; }

namespace {

FlagType path_type(std::string operand) {
  return {.operand = std::move(operand), .read = [](const std::string& flag, const std::string& text) -> Value {
            if (text.empty()) throw misfit(flag, "a path", text);
            return text;
          }};
}

}  // namespace

FlagType file_type(std::string operand) {
  FlagType type = path_type(std::move(operand));
  type.names = FlagType::Names::files;
  type.kind = "file";
  return type;
}

FlagType folder_type(std::string operand) {
  FlagType type = path_type(std::move(operand));
  type.names = FlagType::Names::folders;
  type.kind = "folder";
  return type;
}

FlagType choice_type(std::string operand, std::vector<std::string> words) {
  FlagType type = text_type(std::move(operand));
  type.words = std::move(words);
  type.kind = "choice";
  type.read = [words = type.words](const std::string& flag, const std::string& text) -> Value {
    if (std::find(words.begin(), words.end(), text) != words.end()) return text;
    throw misfit(flag, listed(words), text);
  };
  return type;
}

FlagType whole_type(std::string operand, std::int64_t low, std::int64_t high) {
  return {.operand = std::move(operand),
          .read = [low, high](const std::string& flag, const std::string& text) -> Value {
            std::int64_t number = 0;
            if (read_number(text, number) && number >= low && number <= high) return number;
            throw misfit(flag, "a whole number from " + std::to_string(low) + " to " + std::to_string(high), text);
          },
          .kind = "whole",
          .low = low,
          .high = high};
}

namespace {

// The hint for a text that is a time, where the operand S stands for a number of seconds; else empty.
std::string without_unit(const std::string& operand, const std::string& flag, const std::string& text) {
  if (operand != "S") return "";
  try {
    const Duration time = parse_duration(text);
    if (time.unit == Unit::seconds)
      return "write a number of seconds, without a unit: " + flag + " " + number_text(time.amount);
  } catch (const Error&) {
    // Any other text gets the message alone.
  }
  return "";
}

}  // namespace

FlagType number_type(std::string operand, double low, double high, const std::string& range) {
  return {.operand = operand,
          .read = [low, high, range, operand](const std::string& flag, const std::string& text) -> Value {
            double number = 0;
            if (read_number(text, number) && number >= low && number <= high) return number;
            throw misfit(flag, "a number " + range, text).hint(without_unit(operand, flag, text));
          },
          .kind = "number",
          .low = low,
          .high = high,
          .range = range};
}

FlagType time_type() {
  return {.operand = "TIME",
          .read = [](const std::string& flag, const std::string& text) -> Value {
            Error error = misfit(flag, "a time with its unit, as \"90 s\", \"90 min\" or \"3 h\"", text);
            double number = 0;
            try {
              const Duration time = parse_duration(text);
              if (time.unit == Unit::seconds) return time.amount;
            } catch (const Error& other) {
              // The message above says what is expected, but the other one may know what is meant.
              if (other.hint().starts_with("write ")) error.hint(other.hint());
            }
            if (read_number(text, number) && std::isfinite(number) && number > 0)
              error.hint("a number has a unit: write \"" + text + " s\", \"" + text + " min\" or \"" + text + " h\"");
            throw error;
          },
          .kind = "time"};
}

namespace {

// nil for a type that only common flags have.
Value to_value(const FlagType& type) {
  if (type.kind.empty()) return {};
  Value form = Value::Map{{"type", type.kind}};
  if (type.kind == "switch") return form;
  form.set("operand", type.operand);
  if (type.kind == "choice") form.set("words", Value::List(type.words.begin(), type.words.end()));
  if (!type.low.is_nil()) {
    form.set("low", type.low);
    form.set("high", type.high);
  }
  if (type.kind == "number") form.set("range", type.range);
  return form;
}

FlagType type_from(const Value& form) {
  const std::string& type = form["type"].string();
  if (type == "switch") return switch_type();
  const std::string& operand = form["operand"].string();
  if (type == "text") return text_type(operand);
  if (type == "time") return time_type();
  if (type == "file") return file_type(operand);
  if (type == "folder") return folder_type(operand);
  if (type == "whole") return whole_type(operand, form["low"].integer(), form["high"].integer());
  if (type == "number") {
    return number_type(operand, form["low"].number(), form["high"].number(), form["range"].string());
  }
  if (type != "choice") throw std::logic_error("no type of flags is named " + type);
  std::vector<std::string> words;
  for (const Value& word : form["words"].list()) words.push_back(word.string());
  return choice_type(operand, std::move(words));
}

}  // namespace

Value to_value(const Flag& flag) {
  return Value::Map{{"name", flag.name},       {"type", to_value(flag.type)}, {"help", flag.help},
                    {"repeats", flag.repeats}, {"otherwise", flag.otherwise}, {"needs", flag.needs}};
}

Flag flag_from(const Value& value) {
  const std::string &name = value["name"].string(), &help = value["help"].string();
  const bool is_common = std::ranges::find(common_flags(), name, &Flag::name) != common_flags().end();
  Flag flag = is_common ? common_flag(name, help)
                        : Flag{.name = name, .type = type_from(value["type"]), .help = help, .repeats = {}};
  flag.repeats = value["repeats"].boolean();
  flag.otherwise = value["otherwise"];
  flag.needs = value["needs"].string();
  return flag;
}

const Value& value_of(const Flag& flag, const Value& given) {
  const Value& value = given[flag.name];
  return value.is_nil() ? flag.otherwise : value;
}

std::string help_of(const Flag& flag) {
  const std::string help = (flag.needs.empty() ? "" : "with --" + flag.needs + ": ") + flag.help;
  const Value& otherwise = flag.otherwise;
  const bool is_zero = otherwise.is_number() && otherwise.number() == 0;
  if (otherwise.is_nil() || otherwise.is_list() || otherwise == Value("") || is_zero) return help;
  const std::string text = otherwise.is_string() ? otherwise.string() : number_text(otherwise.number());
  return help + " (default " + text + (flag.type.kind == "time" ? " s)" : ")");
}

const std::vector<Flag>& common_flags() {
  using Concerns = Flag::Concerns;
  using Difference = Recorded::Difference;
  static const std::vector<Flag> flags = {
      {.name = "out",
       .type = folder_type("DIR"),
       .help = "the run's folder (default: the next free runs/NAME/NNN)",
       .concerns = Concerns::new_run},
      {.name = "seed",
       .type = whole_type("N", 0, largest_seed),
       .help = "of all that is random",
       .concerns = Concerns::recipe,
       .otherwise = 1,
       .recorded = Recorded{.difference = Difference::refused}},
      {.name = "set",
       .type = assignment_type(),
       .help = "an option of the returned stage (optim.lr=0.01), or STAGE:PATH=VALUE of another",
       .repeats = true,
       .concerns = Concerns::recipe,
       .otherwise = Value::List{},
       .recorded = Recorded{.difference = Difference::refused, .compared = set_that_counts}},
      {.name = "read",
       .type = folder_type("DIR"),
       .help = "a folder from which the recipe may read data; with it all others are closed, but for the folders of\n"
               "the recipe and of the run (default: all that you may read)",
       .repeats = true,
       .concerns = Concerns::recipe,
       .otherwise = Value::List{},
       .recorded = Recorded{.difference = Difference::refused, .only_given = true}},
      {.name = "params",
       .type = file_type("FILE"),
       .help = "a recipe's parameters from a TOML file; the command line wins",
       .concerns = Concerns::recipe},
      {.name = "within",
       .type = time_type(),
       .help = "a budget of time that all stages of the run share: \"2 h\"; beats lab.budget of the recipe",
       .concerns = Concerns::new_run,
       .otherwise = 0.0,
       .recorded = Recorded{.difference = Difference::noted, .compared = time_or_none, .only_given = true}},
      {.name = "device",
       .type = device_type(),
       .help = "auto, cpu, cuda or cuda:N",
       .concerns = Concerns::engine,
       .otherwise = "auto",
       .recorded = Recorded{.difference = Difference::noted}},
      {.name = "threads",
       .type = whole_type("N", 1, 4096),
       .help = "threads of one training (default: all usable cores)",
       .concerns = Concerns::engine,
       .otherwise = 0,
       .recorded = Recorded{.difference = Difference::noted, .compared = threads_or_cores}},
      {.name = "memory",
       .type = bytes_type(),
       .help = "the most that the tensors of each engine may take: \"4GB\", \"512 MiB\". A training that comes to the\n"
               "limit goes on with smaller micro-batches, and ends with a message where none are small enough",
       .concerns = Concerns::engine,
       .otherwise = 0,
       .recorded = Recorded{.difference = Difference::told,
                            .compared = bytes_or_none,
                            .only_given = true,
                            .effect = "the bytes are the same unless a step or an evaluation goes in parts"}},
      {.name = "workers",
       .type = whole_type("N", 1, 4096),
       .help = "processes that work on the trials of a sweep or an ensemble",
       .concerns = Concerns::trials},
      {.name = "grace",
       .type = time_type(),
       .help = "from a signal to stop (Ctrl-C) to the end of an engine that has not come to its next step",
       .concerns = Concerns::engine,
       .otherwise = 10.0},
      {.name = "silence",
       .type = time_type(),
       .help = "the longest that the code of a recipe, or one operator on its tensors, may take without a call that\n"
               "does work; the engine ends --grace later",
       .concerns = Concerns::engine,
       .otherwise = 60.0},
      {.name = "json", .type = switch_type(), .help = "exactly one JSON object on standard output"},
      {.name = "quiet",
       .type = switch_type(),
       .help = "no progress on standard error; warnings and errors stay",
       .concerns = Concerns::engine},
      {.name = "stdlib",
       .type = folder_type("DIR"),
       .help = "the recipe language's Lua part from a folder instead of the built-in one",
       .concerns = Concerns::engine},
      {.name = "help",
       .type = switch_type(),
       .help = "of the program, a command (`trainlab resume --help`) or a recipe"},
      {.name = "version", .type = switch_type(), .help = "the version of the program"},
  };
  return flags;
}

Flag common_flag(const std::string& name, const std::string& help) {
  const auto found = std::ranges::find(common_flags(), name, &Flag::name);
  if (found == common_flags().end()) throw std::logic_error("no common flag is named " + name);
  Flag flag = *found;
  if (!help.empty()) flag.help = help;
  return flag;
}

Flag stage_flag() {
  return {.name = "stage",
          .type = text_type("NAME"),
          .help =
              "the stage to measure (default: the first that the recipe runs). The stages before it run whole first,\n"
              "in a folder for temporary files (TMPDIR) that is removed; their time comes on top"};
}

}  // namespace trainlab

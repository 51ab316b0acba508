#include "plan/plan.h"

#include <algorithm>
#include <array>
#include <vector>

#include "cli/arguments.h"
#include "cli/ending.h"
#include "core/error.h"
#include "core/words.h"
#include "planning/recipe.h"
#include "planning/text.h"
#include "planning/topic.h"
#include "report/page.h"
#include "report/texts.h"

namespace trainlab::cli {

namespace {

constexpr std::array<const char*, 6> shape_flags = {"layers", "width", "heads", "ffw", "vocabulary", "context"};

FlagType amount_type(std::string operand, double low) {
  return number_type(std::move(operand), low, most_planned, low == 1 ? "from 1 to 1e40" : "above 0, up to 1e40");
}

Flag shape_flag(const char* name, const char* help) {
  constexpr std::int64_t most = std::int64_t{1} << 40;
  return {.name = name, .type = whole_type("N", 1, most), .help = help};
}

Flag stage_of_recipe() {
  Flag flag = stage_flag();
  flag.help = "with a recipe: " + flag.help;
  return flag;
}

std::optional<double> given_number(const Arguments& given, const std::string& flag) {
  return given.has(flag) ? std::optional(given.flags[flag].number()) : std::nullopt;
}

std::optional<std::string> given_text(const Arguments& given, const std::string& flag) {
  return given.has(flag) ? std::optional(given.flags[flag].string()) : std::nullopt;
}

std::optional<Transformer> transformer_of(const Arguments& given) {
  std::string missing;
  for (const char* name : shape_flags) {
    if (!given.has(name)) missing += std::string(missing.empty() ? "" : ", ") + "--" + name;
  }
  const auto n = [&](const char* name) { return given_number(given, name).value_or(0); };
  const Transformer transformer{n("layers"), n("width"), n("heads"), n("ffw"), n("vocabulary"), n("context")};
  if (missing.empty()) {
    if (given.flags["width"].integer() % given.flags["heads"].integer() == 0) return transformer;
    throw usage_error("--width is no multiple of --heads: each head has width / heads numbers");
  }
  for (const char* name : shape_flags) {
    if (given.has(name)) throw usage_error("the shape of a transformer also needs " + missing);
  }
  return std::nullopt;
}

PlanQuestion plan_question(const Arguments& given) {
  return {.flops = given_number(given, "flops"),
          .gpu_hours = given_number(given, "gpu-hours"),
          .within_seconds = given_number(given, "within"),
          .money = given_text(given, "money"),
          .usable_seconds = given_number(given, "usable"),
          .rate = given_number(given, "rate"),
          .peak = given_number(given, "peak"),
          .mfu = given_number(given, "mfu"),
          .device_name = given_text(given, "device-name"),
          .prices = given_text(given, "prices"),
          .parameters = given_number(given, "parameters"),
          .tokens = given_number(given, "tokens"),
          .transformer = transformer_of(given),
          .unique_tokens = given_number(given, "unique-tokens"),
          .law = law_named(given_text(given, "law").value_or("besiroglu"))};
}

const std::vector<PlanTopic>& topics() {
  static const std::vector<PlanTopic> all = {fit_topic(), seeds_topic(), data_topic(), model_topic(), sweep_topic()};
  return all;
}

// The topic that the line's first word names; nullptr where there is none.
const PlanTopic* topic_of(const std::vector<std::string>& words) {
  if (words.empty()) return nullptr;
  const auto found = std::ranges::find(topics(), words.front(), &PlanTopic::word);
  return found == topics().end() ? nullptr : &*found;
}

Arguments without_topic(Arguments given) {
  given.words.erase(given.words.begin());
  return given;
}

std::optional<std::vector<std::string>> flags_beside_recipe(const std::vector<std::string>& words) {
  if (plans_recipe(words)) return recipe_plan_flags();
  const PlanTopic* topic = topic_of(words);
  if (!topic || !topic->is_recipe || words.size() < 2 || !topic->is_recipe(words[1])) return std::nullopt;
  return topic->flags;
}

bool takes_flag_of_plan(const PlanTopic& topic, const Flag& flag) {
  return std::ranges::find(topic.flags, flag.name) != topic.flags.end();
}

void check_topic(const PlanTopic& topic, const Arguments& given) {
  for (const auto& [name, value] : given.flags.map()) {
    const Flag* own = own_flag(*given.command, name);
    const bool is_for_engine = find_flag(given.command, name)->concerns == Flag::Concerns::engine;
    const bool is_taken = own ? takes_flag_of_plan(topic, *own) : topic.uses_engine || !is_for_engine;
    if (!is_taken) throw usage_error("--" + name + " means nothing to `trainlab plan " + topic.word + "`");
  }
  topic.check(without_topic(given));
}

void check_words(const Arguments& given) {
  if (const PlanTopic* topic = topic_of(given.words)) return check_topic(*topic, given);
  if (given.has("difference")) throw usage_error("--difference goes with trainlab plan seeds");
  if (given.has("size")) throw usage_error("--size goes with trainlab plan sweep");
  if (given.has("stage") && !plans_recipe(given.words))
    throw usage_error("--stage goes with a recipe: trainlab plan RECIPE.lua");
  if (plans_recipe(given.words)) return check_recipe_plan(given);
  for (const Flag& flag : common_flags()) {
    const bool of_plan = flag.name == "within" || flag.concerns == Flag::Concerns::everything;
    if (of_plan || !given.has(flag.name)) continue;
    throw usage_error("--" + flag.name + " goes with a recipe: trainlab plan RECIPE.lua");
  }
  if (given.words.empty()) return;
  std::vector<std::string> words;
  for (const PlanTopic& topic : topics()) words.push_back(topic.word);
  throw usage_error("`trainlab plan` takes a recipe, flags, or one of the words " + listed(words) + "; found \"" +
                    given.words.front() + "\"");
}

void check_plan(const Arguments& given) {
  check_words(given);
  if (given.has("html")) report::check_page(given.flags["html"].string());
}

int run_plan(const Program&, const Arguments& given) {
  if (const PlanTopic* topic = topic_of(given.words)) return topic->run(without_topic(given));
  if (plans_recipe(given.words)) return plan_recipe(given);
  const Plan plan = make_plan(plan_question(given));
  const auto failure = page_failure(given, [&] { return report::plan_page(page_value(plan)); });
  print(given.has("json") ? to_json(to_value(plan), 2) + "\n" : plan_text(plan));
  return end_with(failure);
}

}  // namespace

Command plan_command() {
  return {
      .name = "plan",
      .line = "how large a model and how much data a budget buys best",
      .text =
          "With a budget: the parameters and tokens that are best for it, by three published approaches. With\n"
          "--parameters and --tokens: the loss that they will reach, and whether compute or data are badly spent.\n"
          "`plan fit` fits L(N, D) = E + A/N^alpha + B/D^beta to runs of one's own: a CSV file with the columns\n"
          "parameters, tokens and loss, or the folders of fits; its --json is a file for --law. With a recipe: steps\n"
          "of its first stage, or of that of --stage, are measured, and the plan says how long the stage takes, what\n"
          "fits into --within, and with --law which loss a training reaches and what is wrong with it.\n"
          "`plan seeds` trains a recipe with a few seeds, or reads runs that have ended, and says how far the metric\n"
          "differs from seed to seed, and how many seeds a difference takes. `plan data` trains a recipe on an "
          "eighth,\n"
          "a quarter, a half and all of its training data, and says what 2 and 4 times the data would bring.\n"
          "`plan model` trains a recipe with a quarter to four times the features of its hidden layers, and says\n"
          "what a larger model brings and costs.\n"
          "`plan sweep` trains models of several sizes for --flops in all, and fits the law to these runs.\n"
          "All numbers are estimates. More: docs/planning.md, docs/how-much-more.md\n",
      .words = {.operand = "RECIPE.lua | fit FILE.csv | fit RUN | seeds RECIPE.lua | seeds RUN | data RECIPE.lua | "
                           "model RECIPE.lua | sweep RECIPE.lua",
                .what = "a recipe, flags, or fit, seeds, data, model or sweep with what they take",
                .most = Words::any,
                .names = FlagType::Names::files},
      .flags =
          {{.name = "flops", .type = amount_type("N", 1), .help = "the budget in floating-point operations"},
           {.name = "gpu-hours", .type = amount_type("N", 1e-9), .help = "the budget in hours of one device"},
           {.name = "money", .type = text_type("AMOUNT"), .help = "the budget in money, as \"500 EUR\"; with --prices"},
           {.name = "within",
            .type = time_type(),
            .help = "the budget in time, as \"24 h\"; with seeds, data and model: end after this time, with the\nseeds "
                    "that fit"},
           {.name = "difference",
            .type = number_type("D", 1e-300, 1e300, "above 0"),
            .help = "with seeds: how many it takes to detect a difference of the metric between two recipes"},
           {.name = "size",
            .type = text_type("NAME=A,B,C"),
            .help = "with sweep: a parameter of the recipe that sets the model's size, and at least 3 values"},
           {.name = "usable",
            .type = time_type(),
            .help = "the part of --within in which training runs (default: all but 3 %)"},
           {.name = "rate", .type = amount_type("FLOP/S", 1), .help = "the FLOP/s that training reaches, as measured"},
           {.name = "mfu",
            .type = number_type("SHARE", 1e-6, 1, "above 0 and at most 1"),
            .help = "instead of --rate: the share of the device's peak that training reaches"},
           {.name = "peak", .type = amount_type("FLOP/S", 1), .help = "the peak of the device"},
           {.name = "device-name",
            .type = text_type("NAME"),
            .help = "the device, for its peak (dense bfloat16 of\n" + devices_with_known_peak() + ")\nand its price"},
           {.name = "prices", .type = file_type("FILE.toml"), .help = "prices of devices"},
           {.name = "parameters", .type = amount_type("N", 1), .help = "the size of the model"},
           {.name = "tokens", .type = amount_type("N", 1), .help = "the tokens that the model is trained on"},
           {.name = "unique-tokens",
            .type = amount_type("N", 1),
            .help = "the tokens that there are; training on more repeats them"},
           shape_flag("layers", "a transformer's shape, instead of --parameters"),
           shape_flag("width", "  numbers for each token between the layers"),
           shape_flag("heads", "  heads of attention"),
           shape_flag("ffw", "  numbers inside the dense layers"),
           shape_flag("vocabulary", "  different tokens"),
           shape_flag("context", "  tokens of a sequence"),
           {.name = "law",
            .type = text_type("LAW"),
            .help =
                "the law of the loss: besiroglu (default without a recipe), muennighoff, or the JSON of `plan fit`"},
           {.name = "html",
            .type = file_type("FILE"),
            .help = "also writes a page with charts that needs nothing but a browser"},
           stage_of_recipe(),
           common_flag("params"),
           common_flag("set")},
      .works = Command::Works::with_engine,
      .flags_beside_recipe = flags_beside_recipe,
      .check = check_plan,
      .run = run_plan,
  };
}

}  // namespace trainlab::cli

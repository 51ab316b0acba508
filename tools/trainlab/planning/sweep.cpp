// `trainlab plan sweep RECIPE.lua --flops F --size NAME=A,B,C`: trains a ladder of small runs, models of several sizes
// with three budgets each, and fits a scaling law to them. The trainings are ordinary runs, runs/plan/NAME/NNN/run-01,
// and so on. A ladder that was interrupted goes on with the same command.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cli/ending.h"
#include "cli/requests.h"
#include "core/error.h"
#include "core/words.h"
#include "plan/fit.h"
#include "planning/text.h"
#include "planning/topic.h"
#include "report/texts.h"
#include "run/folder.h"
#include "trainings/ended_fit.h"
#include "trainings/facts.h"
#include "trainings/seeded_runs.h"

namespace trainlab::cli {

namespace fs = std::filesystem;
using report::duration_text, report::shown_path;

namespace {

constexpr std::array levels = {1.0, 2.0, 4.0};  // budgets of a size, in units of the smallest
constexpr std::size_t fewest_sizes = 3;
constexpr const char* metric_of_law = "val.loss";

std::string run_name(std::size_t number) { return fmt::format("run-{:02}", number); }

// One training of the ladder.
struct Rung {
  GivenParameter size;
  double flops = 0;
  double parameters = 0;  // of the model
  fs::path folder = {};
  std::optional<RunPoint> point = {};       // of a training that reached its length
  std::string without = "was not trained";  // why there is no point
};

std::vector<GivenParameter> sizes_of(const std::string& text) {
  const std::size_t equals = text.find('=');
  std::set<std::string> values;
  std::vector<GivenParameter> sizes;
  for (std::size_t at = equals; at < text.size();) {
    const std::size_t next = std::min(text.find(',', at + 1), text.size());
    const std::string value = text.substr(at + 1, next - at - 1);
    if (!value.empty() && values.insert(value).second)
      sizes.push_back({text.substr(0, equals), value, "--size " + text});
    at = next;
  }
  if (equals == 0 || equals == std::string::npos || sizes.size() < fewest_sizes) {
    throw usage_error(
        "--size: expected a parameter of the recipe with at least 3 values, as width=32,64,128, found \"" + text +
        "\"");
  }
  return sizes;
}

// From the cheapest trainings to the dearest. The folders and the parameters are not known yet.
std::vector<Rung> ladder_of(const Arguments& given) {
  const std::vector<GivenParameter> sizes = sizes_of(given.flags["size"].string());
  double units = 0;
  for (const double level : levels) units += level;
  const double unit = given.flags["flops"].number() / (units * static_cast<double>(sizes.size()));
  std::vector<Rung> ladder;
  for (const double level : levels) {
    for (const GivenParameter& size : sizes) {
      ladder.push_back({.size = size, .flops = level * unit});
    }
  }
  return ladder;
}

Request request_of(const Arguments& given, const Rung& rung) {
  Arguments plain = given;
  for (const char* flag : {"flops", "size", "html"}) plain.flags.map().erase(flag);
  plain.parameters.push_back(rung.size);
  Value::List set = plain.has("set") ? plain.flags["set"].list() : Value::List();
  // The length is that of the rung alone: no law describes a training that was cut short.
  for (const char* option : {"epochs", "steps", "time", "stop"}) set.push_back(std::string(option) + "=nil");
  set.push_back("flops=" + number_text(rung.flops));
  plain.flags.set("set", std::move(set));
  return request_for_recipe(plain);
}

Error too_few_flops(std::size_t trainings, const Rung& shortest, const Error& of_recipe) {
  return usage_error(fmt::format("--flops: the shortest of {} trainings, with {}={}, gets {:.4g} FLOPs: {}", trainings,
                                 shortest.size.name, shortest.size.text, shortest.flops, of_recipe.message()));
}

std::string row_text(const std::string& size, const std::string& flops, const std::string& parameters,
                     const std::string& tokens) {
  return fmt::format("  {:<12} {:>10} {:>12} {:>12}", size, flops, parameters, tokens);
}

std::string row_text(const Rung& rung, double tokens) {
  return row_text(rung.size.text, fmt::format("{:.3g}", rung.flops), fmt::format("{:.0f}", rung.parameters),
                  fmt::format("{:.0f}", tokens));
}

std::string heading_text(const std::vector<Rung>& ladder) {
  return row_text(ladder.front().size.name, "FLOPs", "parameters", "tokens");
}

// The trainings that are to come.
std::string proposed_text(const std::vector<Rung>& ladder) {
  std::string text = fmt::format("{} runs are planned:\n", ladder.size()) + heading_text(ladder);
  for (const Rung& rung : ladder)
    text += "\n" + row_text(rung, rung.flops / (flops_per_parameter_and_token * rung.parameters));
  return text;
}

std::string ladder_text(const std::vector<Rung>& ladder) {
  std::string text = heading_text(ladder) + "  val.loss\n";
  for (const Rung& rung : ladder) {
    text += rung.point ? row_text(rung, rung.point->tokens) + fmt::format("  {:.4g}\n", rung.point->loss)
                       : fmt::format("  {:<12} {:>10.3g} {}; the law leaves the run out\n", rung.size.text, rung.flops,
                                     rung.without);
  }
  return text + "\n";
}

// Asks an engine about the model of each size. Returns the answer about the first size, or one without facts.
EngineAnswer set_parameters(const Arguments& given, std::vector<Rung>& ladder) {
  EngineAnswer first;
  const std::size_t sizes = ladder.size() / levels.size();
  for (std::size_t i = 0; i < ladder.size(); ++i) {
    if (i >= sizes) {
      ladder[i].parameters = ladder[i - sizes].parameters;
      continue;
    }
    EngineAnswer answer = ask_about(request_of(given, ladder[i]), metric_of_law);
    if (answer.facts.is_nil()) {
      const std::optional<Error>& error = answer.outcome.error;
      if (error && error->path() == "flops") throw too_few_flops(ladder.size(), ladder[i], *error);
      return answer;
    }
    ladder[i].parameters = static_cast<double>(answer.facts["parameters"].integer());
    if (i == 0) first = std::move(answer);
  }
  return first;
}

// Error{usage} unless the sizes make models of enough different numbers of parameters for a law.
void check_models(const std::vector<Rung>& ladder) {
  std::set<double> different;
  for (const Rung& rung : ladder) different.insert(rung.parameters);
  if (different.size() >= fewest_sizes) return;
  std::vector<std::string> shown;
  for (const double one : different) shown.push_back(fmt::format("{:.0f}", one));
  throw usage_error(
      fmt::format("--size: expected values of {} that make models of at least 3 sizes, found models of {} "
                  "parameters",
                  ladder.front().size.name, joined(shown)));
}

// Trains the rung, and keeps its point, or why there is none. Returns the outcome of a training without a result.
std::optional<Outcome> train(const Arguments& given, Rung& rung) {
  const Request request = request_of(given, rung);
  if (std::optional<Outcome> outcome = train_with_seed(request, rung.folder, 1)) return outcome;
  check_same_sources(request.recipe, rung.folder.parent_path() / run_name(1), rung.folder);
  if (ended_fit(rung.folder).has_failed) {
    rung.without = "failed, by a loss that is not finite";
    return std::nullopt;
  }
  const std::vector<std::string> word = {rung.folder.string()};
  const ReadRuns runs = read_runs(word);
  if (runs.points.empty()) {
    rung.without = "was cut short: " + read_summary(rung.folder)["reason"].string();
  } else {
    rung.point = runs.points.front();
  }
  return std::nullopt;
}

// Returns the outcome of a training without a result, after which no other begins.
std::optional<Outcome> train_all(const Arguments& given, std::vector<Rung>& ladder) {
  double seconds = 0, flops = 0;  // of the runs that have ended with a loss
  double flops_to_come = 0;
  for (const Rung& rung : ladder) flops_to_come += rung.flops;
  for (std::size_t i = 0; i < ladder.size(); ++i) {
    Rung& rung = ladder[i];
    if (std::optional<Outcome> outcome = train(given, rung)) return outcome;
    std::string text =
        fmt::format("run {} of {}: {}={} with {:.3g} FLOPs, {}", i + 1, ladder.size(), rung.size.name, rung.size.text,
                    rung.flops, rung.point ? fmt::format("val.loss {:.4g}", rung.point->loss) : rung.without);
    flops_to_come -= rung.flops;
    if (rung.point) {
      seconds += read_summary(rung.folder)["seconds"].number();
      flops += rung.flops;
    }
    if (i + 1 < ladder.size() && flops > 0)
      text += "; the others take about " + duration_text(seconds / flops * flops_to_come);
    say(given, text);
  }
  return std::nullopt;
}

bool is_whole(const std::vector<Rung>& ladder) {
  return std::ranges::all_of(ladder, [](const Rung& rung) { return rung.point || !rung.without.empty(); });
}

std::vector<RunPoint> points_of(const std::vector<Rung>& ladder) {
  std::vector<RunPoint> points;
  for (const Rung& rung : ladder) {
    if (rung.point) points.push_back(*rung.point);
  }
  return points;
}

std::string page_of(const LawFit& fit, const std::vector<Rung>& ladder, const fs::path& recipe) {
  Value page = page_value(fit, points_of(ladder));
  page.set("of", shown_path(recipe));
  Value::List left_out;
  for (const Rung& rung : ladder) {
    if (!rung.point)
      left_out.emplace_back(
          fmt::format("{}={} with {:.3g} FLOPs {}", rung.size.name, rung.size.text, rung.flops, rung.without));
  }
  page.set("left_out", std::move(left_out));
  return report::law_page(page);
}

void check_sweep(const Arguments& given) {
  if (given.words.size() != 1) throw usage_error("`trainlab plan sweep` takes one recipe");
  for (const char* flag : {"flops", "size"}) {
    if (!given.has(flag)) throw usage_error(std::string("`trainlab plan sweep` needs --") + flag);
  }
  const std::string size = sizes_of(given.flags["size"].string()).front().name;
  if (std::ranges::find(given.parameters, size, &GivenParameter::name) != given.parameters.end())
    throw usage_error("--" + size + " is given twice: --size gives its values");
}

int plan_sweep(const Arguments& given) {
  const bool json = given.has("json");
  const fs::path recipe = recipe_at(given.words.front());
  std::vector<Rung> ladder = ladder_of(given);
  // An error of the recipe, with any of the sizes, is said before a folder is made and trainings begin.
  const EngineAnswer answer = set_parameters(given, ladder);
  if (answer.facts.is_nil()) return tell(answer.outcome, json, "plan_fit");
  check_models(ladder);
  const Value asked = Value::Map{{"topic", "sweep"},
                                 {"size", given.flags["size"]},
                                 {"flops", given.flags["flops"]},
                                 {"training", asked_by(request_of(given, ladder.front()))},
                                 {"data", data_of(answer.facts, metric_of_law)}};
  const fs::path folder = folder_for(given, fs::current_path() / "runs" / "plan" / recipe.stem(), asked);
  for (std::size_t i = 0; i < ladder.size(); ++i) ladder[i].folder = folder / run_name(i + 1);
  say(given, proposed_text(ladder));
  LawFit fit;
  try {
    if (const std::optional<Outcome> outcome = train_all(given, ladder))
      return tell_broken_off(*outcome, given, "plan_fit", folder);
    fit = fit_law(points_of(ladder));
    mark_ended(folder);
  } catch (const Error&) {
    if (is_whole(ladder)) say(given, ladder_text(ladder));
    say(given, "the runs that have ended lie in " + shown_path(folder));
    throw;
  }
  const auto failure = page_failure(given, [&] { return page_of(fit, ladder, recipe); });
  if (json) {
    Value value = to_value(fit);
    value.set("out", folder.string());
    print(to_json(value, 2) + "\n");
  } else {
    print(ladder_text(ladder) + fit_text(fit) + "  without training again: trainlab plan fit " + shown_path(folder) +
          "/run-* --json\n");
  }
  return end_with(failure);
}

}  // namespace

PlanTopic sweep_topic() {
  return {.word = "sweep",
          .flags = {"flops", "size", "params", "set", "html"},
          .uses_engine = true,
          .is_recipe = [](const std::string&) { return true; },
          .check = check_sweep,
          .run = plan_sweep};
}

}  // namespace trainlab::cli

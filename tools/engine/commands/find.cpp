// `trainlab find lr|batch|loader|optimizer RECIPE.lua`.
#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "command.h"
#include "core/files.h"
#include "find/batch.h"
#include "find/optimizer.h"
#include "find/rate.h"
#include "measured_stage.h"
#include "optim/optimizer.h"
#include "profile/loader.h"
#include "report/texts.h"
#include "run/applied.h"
#include "tensor/types.h"

namespace trainlab {

namespace {

// A finder of something in a fit: its rate, its batch, its loader or its optimizer.
struct Search {
  const Registry& registry;
  const Options& fit;
  const RunSettings& settings;
  std::function<void(const std::string&)> say;
};

// The result of a finder as text, as data, and as texts for --set.
struct Found {
  std::string text;
  Value value;
  std::vector<std::string> set = {};
};

std::string rate_set(const Options& fit, double rate) {
  return option_path_of(fit.value()["optim"], "lr") + "=" + number_text(rate);
}

Found rate(const Search& search) {
  const FoundRate found =
      find_rate(search.registry, search.fit.spec(), search.settings, {.context = {.say = search.say}});
  return {rate_text(found), to_value(found), {rate_set(search.fit, found.choice.suggestion)}};
}

Found batch(const Search& search) {
  const FoundBatch found =
      find_batch(search.registry, search.fit.spec(), search.settings, {.context = {.say = search.say}});
  std::vector<std::string> set = {found.option + "=" + std::to_string(found.value_of_option(found.suggestion))};
  if (std::isfinite(found.scaled_rate)) set.push_back(rate_set(search.fit, found.scaled_rate));
  return {batch_text(found), to_value(found), std::move(set)};
}

Found optimizer(const Search& search) {
  const FoundOptimizer found =
      find_optimizer(search.registry, search.fit.spec(), search.settings, {.context = {.say = search.say}});
  return {optimizer_text(found), to_value(found)};
}

Found loader(const Search& search) {
  const FoundLoader found = find_loader(search.fit, search.settings, search.say);
  const LoaderSize& size = found.tried[found.suggestion].size;
  return {loader_text(found),
          to_value(found),
          {"loader.threads=" + std::to_string(size.threads), "loader.prefetch=" + std::to_string(size.prefetch)}};
}

struct Finder {
  std::string_view word;  // Request::choice
  Found (*find)(const Search& search);
  bool has_set = true;  // whether the result can be written for --apply
};

constexpr std::array finders{Finder{"lr", rate}, Finder{"batch", batch}, Finder{"loader", loader},
                             Finder{"optimizer", optimizer, false}};

class FindExecution final : public MeasuredStage {
 public:
  explicit FindExecution(const EngineStart& start)
      : MeasuredStage(start), finder_(*std::ranges::find(finders, request().choice, &Finder::word)) {
    if (request().has("apply") && !finder_.has_set) {
      throw usage_error("--apply: expected lr, batch or loader, found " + request().choice)
          .hint("another optimizer is written into the recipe: optim = lab.optim.AdamW { lr = 1e-3 }");
    }
    check_page();
    check_apply();
    check_outputs_differ();
  }

 private:
  int measure(const WhatToMeasure& what, const RunSettings& settings) override {
    require_fit(what, "a task's loop is code, whose rates and batches only the recipe knows");
    if (request().has("apply") && !what.note().empty()) {
      throw usage_error("--apply: expected a fit that the recipe names, found " + what.note())
          .hint("options of its fits come from the function `build`");
    }
    mute();  // the many trainings of a search would print the same again and again
    const auto say = [this](const std::string& line) { run().say(line); };
    return tell(what, with_torch_errors([&] {
                  return finder_.find({.registry = registry(), .fit = what.stage(), .settings = settings, .say = say});
                }));
  }

  int tell(const WhatToMeasure& what, Found found) {
    const std::string stage = what.stage().string("name");
    if (!what.note().empty()) found.value.set("note", what.note());
    found.value.set("recipe", shown_name());
    found.value.set("stage", stage);
    std::vector<std::string> failures = page_failures([&] { return report::finder_page(found.value); });
    if (request().has("apply")) {
      const auto failure = output_failure("--apply", [&] {
        write_changes(
            *request().path("apply"),
            {.with = tried_with(request(), run().source_hashes()), .stage = stage, .set = found.set, .threads = {}});
      });
      if (failure) failures.push_back(*failure);
    }
    if (request().has("json")) {
      send_json(found.value);
    } else {
      send(found.text + (what.note().empty() ? "" : what.note() + " was searched for\n"));
    }
    return end_with(failures);
  }

  const Finder& finder_;
};

}  // namespace

Command find_command() {
  Command command{
      .name = "find",
      .execute = [](const EngineStart& start) { return FindExecution(start).execute(); },
      .line = "find a learning rate, a batch, a loader or an optimizer for a fit",
      .text =
          "`trainlab find lr RECIPE.lua` trains the fit for some steps at a rate that grows from 1e-6 to 10, with\n"
          "several seeds: the start is a quarter of the rate at which the loss was least. Then short trainings from\n"
          "new weights go through the fit's own schedule, at the start, at smaller and at larger rates, until worse\n"
          "rates lie on both sides of the best. The middle of the rates that cannot be told from the best is\n"
          "suggested, as the optimizer's `lr`, which the schedule multiplies.\n"
          "`trainlab find batch RECIPE.lua` trains the fit, measures at three places how noisy its gradients are, and\n"
          "times steps of several sizes: which batch reaches the same loss soonest, and what it saves and costs.\n"
          "`trainlab find loader RECIPE.lua` trains with more and fewer threads that prepare batches, and with more\n"
          "and fewer batches ahead: the fewest threads and batches with which the fit is as fast as with any.\n"
          "`trainlab find optimizer RECIPE.lua` trains the fit with its own optimizer, AdamW, SGD with momentum,\n"
          "RMSprop and Lion, each at nine rates or more: which is best, and how exactly its rate must be chosen.\n"
          "Of a sweep or an ensemble the fit of the first trial is searched for. Nothing is written but the files of\n"
          "--html and --apply. More: docs/health.md\n",
      .flags = {stage_flag(),
                {.name = "html",
                 .type = file_type("FILE"),
                 .help = "also writes a page with charts that needs nothing but a browser"},
                {.name = "apply",
                 .type = file_type("FILE"),
                 .help = "writes what is suggested, for `trainlab run --apply FILE`"}},
  };
  for (const Finder& finder : finders) command.choices.emplace_back(finder.word);
  return command;
}

}  // namespace trainlab

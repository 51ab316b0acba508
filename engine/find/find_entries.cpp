// The finders as stages: their findings stand in the summary, so that a resumed recipe uses the same numbers.
#include "core/number_or_nil.h"
#include "find/batch.h"
#include "find/find.h"
#include "find/optimizer.h"
#include "find/rate.h"
#include "train/fit.h"

namespace trainlab {
namespace {

// Searches on behalf of a checked lab.fit. Returns the result as the command prints it with --json.
using Search = Value (*)(const Registry& registry, const Spec& fit, const RunSettings& settings,
                         const SearchContext& context);

struct Finder {
  const char* name;  // name of the command, and of the member of its result that the recipe uses
  const char* doc;
  const char* example;  // the lines of the example after the function build(hp)
  Search search;
};

Value rate(const Registry& registry, const Spec& fit, const RunSettings& settings, const SearchContext& context) {
  return to_value(find_rate(registry, fit, settings, {.context = context}));
}

Value batch(const Registry& registry, const Spec& fit, const RunSettings& settings, const SearchContext& context) {
  return to_value(find_batch(registry, fit, settings, {.context = context}));
}

Value optimizer(const Registry& registry, const Spec& fit, const RunSettings& settings, const SearchContext& context) {
  return to_value(find_optimizer(registry, fit, settings, {.context = context}));
}

Options fit_of(const Options& stage) {
  Options fit = stage.child("fit");
  if (fit.entry().name == "fit") return fit;
  throw stage.error("fit", "expected a lab.fit, found a lab." + fit.entry().name);
}

// A summary with the member `answer`, which the recipe uses, and with all other members together as `search`.
Value summary_of(Value found, const std::string& answer) {
  Value::Map summary{{answer, found[answer]}};
  if (!found["reason"].is_nil()) {
    summary.emplace("status", found["status"]);
    summary.emplace("reason", found["reason"]);
  }
  for (const char* name : {"kind", "status", "reason", answer.c_str()}) found.map().erase(name);
  summary.emplace("search", std::move(found));
  return summary;
}

StageKind kind_of(const Finder& finder) {
  return {.counts_flops = true,
          .trainings =
              [](const Options& stage, const RunSettings&) {
                return StageTrainings{.first = fit_of(stage),
                                      .name = "the fit of " + stage.entry().name + " " + stage.string("name"),
                                      .option = "fit"};
              },
          .prepare = [finder](const Options& stage, const RunSettings& settings) -> StageWork {
            const auto plan = std::make_shared<const FitPlan>(plan_fit(fit_of(stage), settings));
            return [finder, stage, plan](const StageContext& context) {
              double flops = 0;
              const SearchContext around{.say = context.say,
                                         .seconds_left = context.seconds_left,
                                         .most_flops = context.most_flops,
                                         .used = [&flops](double more) { flops += more; },
                                         .opened = &plan->data};
              Value found = finder.search(stage.registry(), fit_of(stage).spec(), *context.settings, around);
              if (!found["reason"].is_nil()) {
                context.warn(context.name + ": " + found["reason"].string() + "; the result is what was known of `" +
                             finder.name + "` by then");
              }
              Value summary = summary_of(std::move(found), finder.name);
              summary.set("flops", finite_or_nil(flops));
              return summary;
            };
          },
          .check = [](const Options& stage, const RunSettings& settings,
                      const CheckedToo& too) { return check_fit(plan_fit(fit_of(stage), settings), too); }};
}

constexpr const char* build =
    "local function build(hp)\n"
    "  return lab.fit {\n"
    "    name = \"net\", data = lab.data.digits():split { train = 0.8, val = 0.2 }, loss = \"cross_entropy\",\n"
    "    model = lab.nn.Sequential { lab.nn.Flatten(), lab.nn.Linear(10) },\n"
    "    optim = lab.optim.AdamW { lr = hp.lr }, batch = hp.batch, epochs = 5,\n"
    "  }\n"
    "end\n";

Entry entry_of(const Finder& finder) {
  const std::string name = finder.name;
  return Entry("find." + name, "stage", finder.doc)
      .with(Option("fit", "the lab.fit to search for; the trainings of the search write nothing")
                .entry("stage")
                .required())
      .with(Option("name", "the stage's key, unique in the recipe").string().or_default("find_" + name))
      .returns("a stage: run it with lab.run; the result has `" + name +
               "`, and in `search` all other members that `trainlab find " + name + " --json` prints")
      .example(std::string(build) + finder.example);
}

}  // namespace

void register_find(Registry& registry) {
  for (const Finder& finder :
       {Finder{"lr", "Finds a learning rate for a fit: range tests, then short trainings at rates around it.",
               "local found = lab.run(lab.find.lr { fit = build { lr = 1e-3 } })\n"
               "return build { lr = found.lr.suggestion }",
               rate},
        Finder{"batch", "Finds a batch for a fit, from the noise of its gradients and the speed of steps.",
               "local found = lab.run(lab.find.batch { fit = build { lr = 1e-3, batch = 64 } })\n"
               "return build { batch = found.batch.micro_batch, lr = found.batch.lr }",
               batch},
        Finder{"optimizer", "Compares a few optimizers for a fit, each at its best rate.",
               "local found = lab.run(lab.find.optimizer { fit = build { lr = 1e-3 } })\n"
               "print(found.optimizer.suggestion, found.optimizer.lr, found.optimizer.octaves)",
               optimizer}}) {
    registry.add(entry_of(finder), kind_of(finder));
  }
}

}  // namespace trainlab

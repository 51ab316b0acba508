// The finders as stages: what they found is in the summary, so that a resumed recipe goes on with the same numbers.
#include "find/batch.h"
#include "find/find.h"
#include "find/optimizer.h"
#include "find/rate.h"
#include "train/fit.h"

namespace trainlab {
namespace {

// Searches for a checked lab.fit, and returns what was found as the command prints it with --json.
using Search = Value (*)(const Registry& registry, const Spec& fit, const RunSettings& settings,
                         const SearchProgress& progress);

// A search, and the member of its result that the recipe goes on with.
struct Finder {
  const char* name;
  Search search;
};

Value rate(const Registry& registry, const Spec& fit, const RunSettings& settings, const SearchProgress& progress) {
  return to_value(find_rate(registry, fit, settings, {.progress = progress}));
}

Value batch(const Registry& registry, const Spec& fit, const RunSettings& settings, const SearchProgress& progress) {
  return to_value(find_batch(registry, fit, settings, {.progress = progress}));
}

Value optimizer(const Registry& registry, const Spec& fit, const RunSettings& settings,
                const SearchProgress& progress) {
  return to_value(find_optimizer(registry, fit, settings, {.progress = progress}));
}

Options fit_of(const Options& stage) {
  Options fit = stage.child("fit");
  if (fit.entry().name == "fit") return fit;
  throw stage.error("fit", "expected a lab.fit, found a lab." + fit.entry().name);
}

// The member that the recipe goes on with by its name, and all others together as `search`.
Value summary_of(Value found, const std::string& answer) {
  Value::Map summary{{answer, found[answer]}};
  for (const char* name : {"kind", "status", answer.c_str()}) found.map().erase(name);
  summary.emplace("search", std::move(found));
  return summary;
}

StageKind finder_kind(Finder finder) {
  return {.first_training = [](const Options& stage, const RunSettings&) { return fit_of(stage); },
          .prepare = [finder](const Options& stage, const RunSettings& settings) -> StageWork {
            plan_fit(fit_of(stage), settings);
            return [finder, stage](const StageContext& context) {
              const SearchProgress progress{.say = context.say, .seconds_left = context.seconds_left};
              return summary_of(finder.search(stage.registry(), fit_of(stage).spec(), *context.settings, progress),
                                finder.name);
            };
          },
          .check = [](const Options& stage, const RunSettings& settings,
                      const CheckedToo& too) { return check_fit(plan_fit(fit_of(stage), settings), too); }};
}

// A recipe up to its search.
const std::string build =
    "local function build(hp)\n"
    "  return lab.fit {\n"
    "    name = \"net\", data = lab.data.digits():split { train = 0.8, val = 0.2 }, loss = \"cross_entropy\",\n"
    "    model = lab.nn.Sequential { lab.nn.Flatten(), lab.nn.Linear(10) },\n"
    "    optim = lab.optim.AdamW { lr = hp.lr }, batch = hp.batch, epochs = 5,\n"
    "  }\n"
    "end\n";

Entry finder_entry(const std::string& what, const std::string& doc, const std::string& example) {
  return Entry("find." + what, "stage", doc)
      .with(Option("fit", "the lab.fit to search for; its own trainings leave nothing").entry("stage").required())
      .with(Option("name", "the stage's key, unique in the recipe").string().or_default("find_" + what))
      .returns("a stage: run it with lab.run; the result has `" + what +
               "`, and as `search` what else `trainlab find " + what + " --json` prints")
      .example(build + example);
}

}  // namespace

void register_find(Registry& registry) {
  registry.add(finder_entry("lr", "Finds a learning rate for a fit: range tests, then a probe of three rates.",
                            "local found = lab.run(lab.find.lr { fit = build { lr = 1e-3 } })\n"
                            "return build { lr = found.lr.suggestion }"),
               finder_kind({"lr", rate}));
  registry.add(finder_entry("batch", "Finds a batch for a fit, from the noise of its gradients and the speed of steps.",
                            "local found = lab.run(lab.find.batch { fit = build { lr = 1e-3, batch = 64 } })\n"
                            "return build { batch = found.batch.suggestion, lr = found.batch.lr }"),
               finder_kind({"batch", batch}));
  registry.add(finder_entry("optimizer", "Compares a few optimizers for a fit, each at its best rate.",
                            "local found = lab.run(lab.find.optimizer { fit = build { lr = 1e-3 } })\n"
                            "print(found.optimizer.suggestion, found.optimizer.lr, found.optimizer.octaves)"),
               finder_kind({"optimizer", optimizer}));
}

}  // namespace trainlab

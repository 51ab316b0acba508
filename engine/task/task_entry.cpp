// The declaration of lab.task.
#include "core/function_error.h"
#include "objects/run_handle.h"
#include "run/run.h"
#include "task/task.h"
#include "tensor/types.h"

namespace trainlab {

namespace {

Entry task_entry() {
  return Entry("task", "stage", "Runs a function of the recipe as a stage: a training loop written by hand.")
      .with(Option("name", "the stage's key, unique in the recipe").string().required())
      .with(Option("run", "the function; its argument `ctx` has durable loops, logging and the seed")
                .function("function(ctx)")
                .required())
      .with(Option("seed", "value of ctx.seed (default: the run's seed)").integer().at_least(0))
      .with(Option("state", "contents of ctx.state at the start").any())
      .returns("a stage: run it with lab.run, or return it from the recipe")
      .example(
          "local data = lab.data.blobs { features = 4, classes = 3 }:split { val = 0.2 }\n"
          "return lab.task { name = \"by_hand\", run = function(ctx)\n"
          "  local model = lab.build(lab.nn.Linear(3), { input = { 4 }, seed = ctx.seed })\n"
          "  local opt = lab.optimizer(lab.optim.SGD { lr = 0.1 }, model:parameters())\n"
          "  for batch in ctx:batches(data.train, { size = 32, epochs = 5, save = { model, opt } }) do\n"
          "    local loss = lab.ops.cross_entropy_loss(model:forward(batch.x), batch.y)\n"
          "    opt:zero_grad(); loss:backward(); opt:step()\n"
          "    ctx:log(\"train.loss\", loss)\n"
          "  end\n"
          "end }");
}

// Raises Error{recipe} for a function or an entry in the state with which a task begins.
void require_data(const Value& state) {
  const auto below = [](const std::string& step, const Value& member) {
    try {
      require_data(member);
    } catch (Error& error) {
      throw error.in(step);
    }
  };
  if (state.is_list()) {
    for (std::size_t i = 0; i < state.list().size(); ++i) below("[" + std::to_string(i + 1) + "]", state.list()[i]);
  } else if (state.is_map()) {
    if (const Value& kind = state["@"]; !kind.is_nil())
      throw recipe_error("expected data, found " +
                         (kind == Value("function") ? "a function" : kind.string() + " { … }"));
    for (const auto& [name, member] : state.map()) below(name, member);
  }
}

void check_first_state(const Options& task) {
  try {
    require_data(task.get("state"));
  } catch (Error& error) {
    const Error place = task.error("state", "");
    throw error.in(place.path()).at(place.file(), place.line());
  }
}

StageWork prepare_task(const Options& stage, const RunSettings& settings, const std::vector<TaskAddition>& additions) {
  check_first_state(stage);
  parse_device(settings.device);  // a device that is not there is refused before the task begins
  return [stage, additions](const StageContext& context) {
    TaskCompany company;
    for (const TaskAddition& addition : additions) addition(stage, context, company);
    return run_task(stage, context, company);
  };
}

Checked check_task_stage(const Options& stage, const RunSettings& settings, const CheckedToo& too) {
  Checked checked = check_task(stage, settings, too);
  checked.text = stage.string("name") + "  " + stage.where() + "\n\n" + checked.text;
  return checked;
}

}  // namespace

Checked check_task(const Options& task, const RunSettings& settings, const CheckedToo& too) {
  check_first_state(task);
  parse_device(settings.device);
  const std::string text = "a function at " + task.function("run")->where();
  Value facts = Value::Map{{"name", task.string("name")},
                           {"kind", "task"},
                           {"where", task.where()},
                           {"function", task.function("run")->where()},
                           {"called", too.callbacks}};
  if (!too.callbacks) return {.text = text + ", which only a run executes, or check --callbacks\n", .facts = facts};
  StageContext context = silent_context(task);
  context.settings = &settings;
  context.is_rehearsal = true;
  Value::List warnings;
  context.on_warning = [&](const std::string& warning) { warnings.emplace_back(warning); };
  const Value summary = run_task(task, context);
  if (summary["status"] == Value("interrupted")) throw Error(ErrorKind::interrupted, summary["reason"].string());
  std::string found = text + ": called without an error; each of its loops took at most two steps\n";
  for (const Value& warning : warnings) found += "\nwarning: " + warning.string() + "\n";
  facts.set("warnings", std::move(warnings));
  return {.text = std::move(found), .facts = std::move(facts)};
}

Value run_task(const Options& task, const StageContext& context, const TaskCompany& company) {
  return with_torch_errors([&] {
    const RunSettings& settings = *context.settings;
    const auto self = std::make_shared<TaskContext>(context, task.given("seed") ? task.integer("seed") : settings.seed,
                                                    task.get("state"), parse_device(settings.device), company);
    const std::shared_ptr<Callable> function = task.function("run");
    function->rekey(self->key());
    const std::vector<Argument> arguments{std::static_pointer_cast<Object>(self)};
    try {
      function->call(arguments);
    } catch (const std::exception&) {
      self->close();
      if (self->early_end()) return *self->early_end();
      throw;
    }
    try {
      return self->finish();
    } catch (const Error& error) {
      // A loop that was left by `break` may have put values into ctx.state.
      if (error.kind() != ErrorKind::recipe || !error.file().empty()) throw;
      throw function_error(*function, error.message()).in(error.path());
    }
  });
}

void register_task(Registry& registry, const std::vector<TaskAddition>& additions) {
  const auto prepare = [additions](const Options& stage, const RunSettings& settings) {
    return prepare_task(stage, settings, additions);
  };
  registry.add(task_entry(), StageKind{.prepare = prepare, .check = check_task_stage});
  const auto field = [&](const char* name, const char* doc, const char* type) {
    registry.add(Entry(name, "field", doc).returns(type));
  };
  field("ctx.seed", "The seed of the task.", "integer");
  field("ctx.step", "Steps done in durable loops.", "integer");
  field("ctx.epoch", "Epochs completed in the present durable loop.", "integer");
  field("ctx.state", "A table of plain data and tensors that is saved with every checkpoint and restored by a resume.",
        "table");
  registry.add(log_entry("ctx", "Logs a value in the row of the present step.", "ctx:log(\"train.loss\", loss)"));
  registry.add(artifact_entry("ctx"));
  registry.add(
      Entry("ctx:save", "method", "Writes tensors as checkpoints/NAME.safetensors.")
          .with(Option("name", "name of the file, without folder and ending").string().required().positional())
          .with(Option("what", "a model, an optimizer, a tensor, or a list of them").any().required().positional())
          .example("ctx:save(\"halfway\", model)"));
  const auto loop = [](const char* name, const char* doc) {
    return Entry(name, "method", doc)
        .with(Option("save",
                     "models, optimizers and tensors that the loop changes; with it the loop is durable: it "
                     "resumes where it stopped")
                  .any())
        .with(Option("checkpoint", "how often a checkpoint is written (default: when 10 s have passed)").duration());
  };
  registry.add(
      loop("ctx:batches", "Iterates over batches of a part of the data, shuffled anew in each epoch.")
          .with(Option("part", "data.train, data.val or data.test").any().required().positional())
          .with(Option("size", "number of samples in a batch").integer().at_least(1).or_default(64))
          .with(Option("epochs", "number of passes over the part").integer().at_least(1).or_default(1))
          .with(Option("shuffle", "take the samples in a new order in each epoch").boolean().or_default(true))
          .with(Option("drop_last", "leave out an epoch's last, smaller batch").boolean().or_default(false))
          .with(Option("dtype", "type of columns of numbers, that of the model")
                    .choice({"float32", "float64"})
                    .or_default("float32"))
          .returns("function, an iterator: for batch in ctx:batches(…) do")
          .example("for batch in ctx:batches(data.train, { size = 64, epochs = 5, save = { model, opt } }) do\n"
                   "  ctx:log(\"mean\", batch.x:mean())\n"
                   "end"));
  registry.add(loop("ctx:steps", "Iterates over step numbers from 0.")
                   .with(Option("count", "number of steps").integer().at_least(0).required().positional())
                   .returns("function, an iterator: for step in ctx:steps(…) do")
                   .example("for step in ctx:steps(1000, { save = { model, opt } }) do\n"
                            "  ctx:log(\"step\", step)\n"
                            "end"));
}

}  // namespace trainlab

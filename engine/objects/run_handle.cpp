#include "objects/run_handle.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "core/function_error.h"

namespace trainlab {

void RunHandle::check_rate(double rate) const {
  if (!(rate >= 0) || std::isinf(rate)) {
    throw recipe_error("run:set_lr: expected a rate ≥ 0, found " + number_text(rate));
  }
}

void RunHandle::check_log_name(const std::string& name) const {
  static const std::set<std::string> own{"step", "epoch", "samples", "seconds", "lr"};
  const std::vector<std::string> measured = metric_names();
  if (own.contains(name) || std::find(measured.begin(), measured.end(), name) != measured.end()) {
    throw recipe_error("run:log: expected another name, found \"" + name + "\", which the fit measures itself");
  }
}

void RunHandle::found(const std::optional<Error>& fault) {
  if (fault && !state_fault_) state_fault_ = function_error(latest_function_, fault->message()).in(fault->path());
}

ScriptState RunHandle::present_state() {
  if (!read_state) return state;
  ScriptState now = read_state();
  found(now.fault);
  return now;
}

void RunHandle::called(const std::string& where, bool for_the_first_time) {
  latest_function_ = where;
  if (read_state && !state_fault_) found(looks_.fault(read_state, for_the_first_time));
}

Entry log_entry(const std::string& object, std::string doc, std::string example) {
  return Entry(object + ":log", "method", std::move(doc))
      .with(Option("name", "name of the value").string().required().positional())
      .with(Option("value", "a number, or a tensor with one element, whose value is read later")
                .any()
                .required()
                .positional())
      .example(std::move(example));
}

Entry artifact_entry(const std::string& object) {
  return Entry(object + ":artifact", "method", "Writes artifacts/NAME in the run folder.")
      .with(Option("name", "name of the file").string().required().positional())
      .with(Option("content",
                   "a text; a tensor as .npy, a table of tensors by name as .safetensors, an image "
                   "or several of them as .png")
                .any()
                .required()
                .positional())
      .example(object + ":artifact(\"notes.txt\", \"first try\")");
}

void register_run_handle(Registry& registry) {
  const auto field = [&](const char* name, const char* doc, const char* type) {
    registry.add(Entry(name, "field", doc).returns(type));
  };
  field("run.step", "Steps done: those of the optimizer, or the calls of the recipe's own step.", "integer");
  field("run.epoch", "Epochs completed.", "integer");
  field("run.samples", "Samples seen in training.", "integer");
  field("run.metrics",
        "Values of the last validation by full name: run.metrics[\"val.loss\"]. NaN before the first validation; an "
        "unknown name is an error.",
        "table");
  field("run.model",
        "The model, or a table of several by name. In a fit without `step` it has the weights that train, in on.finish "
        "the weights that are kept; it computes as in evaluation unless model:train() was called at the same step.",
        "model");
  field("run.optim",
        "The optimizer, or a table of several by name. In a fit without `step` its rate can be read and set, and the "
        "fit alone takes its steps.",
        "optimizer");
  field("run.profile",
        "Where the time of the fit has gone so far, in this process: the members of `speed` in its summary, as "
        "run.profile.shares.input, the share of the time in which steps waited for data.",
        "table");
  field("run.state",
        "A table of plain data and tensors that is saved with every checkpoint and restored by a resume. Upvalues of "
        "functions are not saved.",
        "table");

  registry.add(Entry("run:stop", "method", "Ends the run at the next step boundary with status \"stopped\".")
                   .with(Option("reason", "the reason, which the summary names").string().required().positional())
                   .example("run:stop(\"good enough\")"));
  registry.add(Entry("run:set_lr", "method", "Sets the learning rate from the next step on.")
                   .with(Option("rate", "the learning rate; takes the place of schedule × lr until the next call")
                             .number()
                             .at_least(0)
                             .required()
                             .positional())
                   .example("run:set_lr(1e-4)"));
  registry.add(Entry("run:save", "method",
                     "Writes the present weights as checkpoints/NAME.safetensors at the next step boundary.")
                   .with(Option("name", "name of the file, without folder and ending").string().required().positional())
                   .example("run:save(\"before-decay\")"));
  registry.add(log_entry("run",
                         "Adds a value to the next row of metrics.jsonl, in on.finish to the last row. The row of an "
                         "epoch's validation has what on.validate and on.epoch log.",
                         "run:log(\"temperature\", 0.7)"));
  registry.add(artifact_entry("run"));
}

}  // namespace trainlab

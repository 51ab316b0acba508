// A running fit as a recipe's functions see it: the object `run` of callbacks, stop functions and metrics.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/callable.h"
#include "core/registry.h"
#include "journal/artifact.h"
#include "journal/logged.h"
#include "journal/script_state.h"

namespace trainlab {

class RunHandle : public Object {
 public:
  std::string_view type_name() const override { return "run"; }

  virtual std::int64_t step() const = 0;     // optimizer steps done
  virtual std::int64_t epoch() const = 0;    // epochs completed
  virtual std::int64_t samples() const = 0;  // samples seen
  // NaN before the first validation; Error{recipe} with did-you-mean for an unknown name.
  virtual double metric(const std::string& name) const = 0;
  virtual std::vector<std::string> metric_names() const = 0;

  // Ends the run at the next step boundary with status "stopped".
  virtual void stop(const std::string& reason) = 0;
  // A learning rate that a function of the recipe sets, and the place in the recipe: "r.lua:16"; empty if not known.
  struct SetRate {
    double rate = 0;
    std::string place = {};
  };
  // Sets the learning rate itself (not a factor) from the next step on; replaces schedule × lr until the next call.
  virtual void set_lr(SetRate rate) = 0;
  // The rate that the latest set_lr() has set; nullopt while the rate is schedule × lr.
  virtual std::optional<SetRate> set_rate() const = 0;
  // Writes the present weights as checkpoints/NAME.safetensors at the next step boundary.
  virtual void save(const std::string& name) = 0;
  // Adds a value to the next row of metrics.jsonl, under `name`; at the end of the run, to the last row.
  virtual void log(const std::string& name, Logged value) = 0;
  // Writes artifacts/NAME.
  virtual void artifact(const std::string& name, const Artifact& content) = 0;

  // The models and optimizers by name, or one of each under "".
  using Objects = std::map<std::string, std::shared_ptr<Object>>;
  virtual Objects models() const = 0;
  virtual Objects optimizers() const = 0;
  // The learning rate of a fit without a step of its own: that of the latest step, before the first step that of the
  // first, after set_lr() the rate that was set.
  virtual double rate() const = 0;
  // run.profile: the field `speed` of the summary, as it is now.
  virtual Value speed() const = 0;

  // run.state: data and tensors that survive a resume. While the script runs, the values live in Lua: the bindings take
  // `state` as the first content and install `read_state`.
  ScriptState state;
  std::function<ScriptState()> read_state;
  // The part of the state that a checkpoint saves. A fault is told at the line of the function that was called last.
  ScriptState present_state();
  // Called when a function has ended that got the run, and may have changed its state; `where` is Callable::where().
  void called(const std::string& where, bool for_the_first_time);
  // The error of a part of the state that cannot be saved, if one was seen. The owner of the run raises it where no
  // step is lost.
  const std::optional<Error>& state_fault() const { return state_fault_; }

 protected:
  // Checks of the arguments of set_lr and log; they raise Error{recipe}.
  void check_rate(double rate) const;
  void check_log_name(const std::string& name) const;

 private:
  void found(const std::optional<Error>& fault);

  StateLooks looks_;
  std::string latest_function_;
  std::optional<Error> state_fault_;
};

// The entries OBJECT:log and OBJECT:artifact, which the objects `run` and `ctx` both have.
Entry log_entry(const std::string& object, std::string doc, std::string example);
Entry artifact_entry(const std::string& object);

// Adds the entries of the objects that a recipe holds ("run:stop", "run.step", "model:forward", …), for docs and
// completion.
void register_objects(Registry& registry);

}  // namespace trainlab

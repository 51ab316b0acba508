// Execution: one execution of a recipe. Each command decides what to do with the stages.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "bindings/lua_error.h"
#include "bindings/recipe.h"
#include "bindings/set_options.h"
#include "chosen_device.h"
#include "core/long_reading.h"
#include "run/control.h"
#include "run/manifest.h"
#include "run/run.h"

namespace trainlab {

class Execution {
 public:
  enum class Purpose {
    describe,  // only the declarations of parameters are wanted, whose given values are ignored
    check,     // stages are checked or measured, and none is run that counts
    predict,   // stages have the results of a run
    run,       // stages are run
  };

  Execution(const EngineStart& start, Purpose purpose);
  virtual ~Execution() { on_long_reading({}); }
  Execution(const Execution&) = delete;
  Execution& operator=(const Execution&) = delete;

  // Executes the recipe and performs its stages; returns the exit code. Errors are sent to the supervisor.
  int execute();

 protected:
  // lab.run: the stage's result, or ExecutionEnds when the recipe need not go on.
  virtual StageResult run_stage(const std::shared_ptr<const Spec>& stage) = 0;
  // Called after the recipe: performs the stage that it returned, prints the outcome, returns the exit code.
  virtual int end(const Recipe::Outcome& outcome) = 0;

  // The stage with the values of --set; of the returned one all of --set must have been used by then.
  std::shared_ptr<const Spec> with_set(const Spec& stage, bool returned);
  // Runs a stage, with the values of --set, to its end, or gives the result with which it has ended.
  StageResult run_to_end(const std::shared_ptr<const Spec>& stage, bool returned);
  void check_set_used() const { set_.check_all_used(); }

  // The error of a recipe that returns no stage, where none was `done` ("run"). The usual cause is a stage that the
  // recipe makes but does not return; the error then has its position.
  Error no_stage(const std::string& done) const;

  // The recipe's name as the user would type it.
  std::string shown_name() const { return request().shown_recipe(); }
  void send(const std::string& text) const { send_text(*start_.channel, text); }
  void send_json(const Value& object) const { send_object(*start_.channel, object); }

  const EngineStart& start() const { return start_; }
  const Request& request() const { return start_.request; }
  const Registry& registry() const { return registry_; }
  Run& run() { return run_; }
  const Parameters& parameters() const { return parameters_; }
  const Recipe& recipe() const { return recipe_; }

  std::int64_t collect_garbage() { return recipe_.collect_garbage(); }
  // From now on nothing is shown of what the recipe prints: it has printed the same before.
  void mute() { is_muted_ = true; }

  LuaHost host();
  // The recipe that is executed; with `stored`, of a run that goes on with a mended recipe, the recipe in its folder.
  RecipeFiles files(bool stored = false) const;

 private:
  bool describes() const { return purpose_ == Purpose::describe; }

  const EngineStart& start_;
  const Purpose purpose_;
  Registry registry_;
  const std::optional<Manifest> begun_;  // of a run that is continued or helped with
  const ChosenDevice device_;
  const Environment environment_;
  Run run_;
  bool is_muted_ = false;
  SetOptions set_;
  Parameters parameters_;
  Recipe recipe_;  // declared last: its state is closed before the objects that it calls
};

}  // namespace trainlab

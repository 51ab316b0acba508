#include "lua_study.h"

#include <algorithm>
#include <cmath>
#include <lua.hpp>

#include "bindings/lua_entries.h"
#include "bindings/lua_error.h"
#include "bindings/lua_object.h"
#include "bindings/lua_params.h"
#include "bindings/marshal.h"
#include "core/words.h"
#include "study/study_object.h"
#include "values/call_arguments.h"
#include "values/entry_table.h"
#include "values/object_type.h"

namespace trainlab {

namespace {

// The environment of a study is a table that holds at 1 the metatable that the parameters of its trials share; that of
// a trial is its parameters.
class TrialObject final : public Object {
 public:
  TrialObject(std::shared_ptr<StudyObject> its_study, std::int64_t its_number)
      : study(std::move(its_study)), number(its_number) {}
  std::string_view type_name() const override { return "trial"; }

  const std::shared_ptr<StudyObject> study;
  const std::int64_t number;
};

StudyObject& study_at(lua_State* L) { return check_object<StudyObject>(L, 1, "study"); }
TrialObject& trial_at(lua_State* L) { return check_object<TrialObject>(L, 1, "trial"); }

int l_study(lua_State* L) {
  return guarded(L, [&] {
    const LuaState& state = LuaState::of(L);
    const Registry& registry = *state.host().registry;
    const Entry& entry = *registry.find("study");
    auto spec = std::make_shared<Spec>();
    Value::Map map = CallArguments(L, entry, CallArguments::Receiver::none).map(registry, &spec->functions);
    resolve_paths(entry.options, map, state.host(), entry.name);
    spec->value = registry.check(map, "lab.study");
    // Trials that such a study gives are taken from it for good, as those of a stage.
    const bool is_kept = spec->value["file"].is_string() || spec->value["name"].is_string();
    if (is_kept && (state.host().describes || state.host().checks)) throw ExecutionEnds();
    std::shared_ptr<StudyObject> study;
    {
      const EngineWork work(L);
      study = std::make_shared<StudyObject>(Options(registry, spec, "lab.study"), state.host().seed);
    }
    push_object(L, study);
    std::vector<std::string> names;
    for (const SpaceParameter& p : study->study().space().parameters()) names.push_back(p.name);
    lua_createtable(L, 1, 0);
    push_params_metatable(L, names);
    lua_rawseti(L, -2, 1);
    lua_setfenv(L, -2);
    return 1;
  });
}

// The parameters of a trial of the study, which stands at index 1 of the stack.
void push_trial_params(lua_State* L, const StudyObject& object, std::int64_t trial) {
  const Study& study = object.study();
  const Space& space = study.space();
  const std::span<const double> point = study.trials().point(trial);
  lua_createtable(L, 0, static_cast<int>(space.size()));
  for (std::size_t i = 0; i < space.size(); ++i) {
    if (std::isnan(point[i])) continue;
    lua_pushlstring(L, space[i].name.data(), space[i].name.size());
    if (space[i].kind == SpaceParameter::Kind::choice) {
      push_value(L, space.param(i, point[i]));
    } else {
      lua_pushnumber(L, point[i]);
    }
    lua_rawset(L, -3);
  }
  lua_getfenv(L, 1);
  lua_rawgeti(L, -1, 1);
  lua_setmetatable(L, -3);
  lua_pop(L, 1);
}

// These are called once or more for each trial: without the registry's check. Only a trial that begins has instructions
// counted anew.

int l_ask(lua_State* L) {
  return guarded(L, [&] {
    study_at(L);
    const auto study = std::static_pointer_cast<StudyObject>(to_object(L, 1));
    StudyObject::Asked asked;
    {
      EngineWork work(L);
      work.set_done(false);
      asked = study->ask();
      work.set_done(asked.trial.has_value());
    }
    if (!asked.trial) {
      lua_pushnil(L);
      lua_pushlstring(L, asked.why_not.data(), asked.why_not.size());
      return 2;
    }
    push_object(L, std::make_shared<TrialObject>(study, *asked.trial));
    push_trial_params(L, *study, *asked.trial);
    lua_setfenv(L, -2);
    return 1;
  });
}

std::int64_t whole_number(lua_State* L, int index, std::int64_t least, const char* where) {
  const double x = lua_type(L, index) == LUA_TNUMBER ? lua_tonumber(L, index) : std::nan("");
  if (!(x >= static_cast<double>(least) && x <= largest_exact && std::trunc(x) == x)) {
    throw recipe_error("expected an integer ≥ " + std::to_string(least) + ", found " + type_text(L, index)).in(where);
  }
  return static_cast<std::int64_t>(x);
}

double number_at(lua_State* L, int index, const std::string& where) {
  if (lua_type(L, index) == LUA_TNUMBER) return lua_tonumber(L, index);
  throw recipe_error("expected a number, found " + type_text(L, index)).in(where);
}

// One value for each objective: a list, or a number where there is one.
std::vector<double> values_at(lua_State* L, int index, std::size_t objectives, const std::string& where) {
  std::vector<double> values;
  if (lua_istable(L, index)) {
    const auto count = static_cast<int>(lua_objlen(L, index));
    for (int i = 1; i <= count; ++i) {
      lua_rawgeti(L, index, i);
      values.push_back(number_at(L, -1, where + "[" + std::to_string(i) + "]"));
      lua_pop(L, 1);
    }
  } else {
    values.push_back(number_at(L, index, where));
  }
  if (values.size() == objectives) return values;
  throw recipe_error("expected " + counted(objectives, "value") + ", found " + std::to_string(values.size())).in(where);
}

// The state given to study:tell, or its default.
TrialState told_state(lua_State* L, int index) {
  if (lua_isnoneornil(L, index)) return TrialState::complete;
  if (!lua_istable(L, index)) {
    throw recipe_error("expected { state = … }, found " + type_text(L, index)).in("study:tell[3]");
  }
  TrialState state = TrialState::complete;
  lua_pushnil(L);
  while (lua_next(L, index) != 0) {
    const std::string key = lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : type_text(L, -2);
    if (key != "state") throw recipe_error("there is no option '" + key + "'").in("study:tell").hint("accepted: state");
    const std::string_view word = lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : "";
    if (word == "pruned") {
      state = TrialState::pruned;
    } else if (word == "failed") {
      state = TrialState::failed;
    } else if (word != "complete") {
      throw recipe_error("expected \"complete\", \"pruned\" or \"failed\", found " + type_text(L, -1))
          .in("study:tell.state");
    }
    lua_pop(L, 1);
  }
  return state;
}

int l_tell(lua_State* L) {
  return guarded(L, [&] {
    StudyObject& study = study_at(L);
    std::int64_t number = 0;
    if (lua_type(L, 2) == LUA_TNUMBER) {
      number = whole_number(L, 2, 0, "study:tell.trial");
    } else {
      const auto& trial = check_object<TrialObject>(L, 2, "trial");
      if (trial.study.get() != &study) throw recipe_error("the trial belongs to another study").in("study:tell.trial");
      number = trial.number;
    }
    const TrialState state = told_state(L, 4);
    const std::size_t objectives = study.study().trials().objectives();
    std::vector<double> values;
    const bool none = lua_isnoneornil(L, 3);
    if (state != TrialState::complete) {
      if (!none) throw recipe_error("expected no value, found " + type_text(L, 3)).in("study:tell.value");
    } else if (none) {
      throw recipe_error("missing; expected a number")
          .in("study:tell.value")
          .hint("for a trial without a value: study:tell(trial, nil, { state = \"failed\" })");
    } else {
      values = values_at(L, 3, objectives, "study:tell.value");
    }
    EngineWork work(L);
    work.set_done(false);
    study.tell(number, state, values);
    return 0;
  });
}

int l_enqueue(lua_State* L) {
  return guarded(L, [&] {
    StudyObject& study = study_at(L);
    try {
      study.enqueue(to_value(L, 2, Functions::refuse));
    } catch (Error& error) {
      throw error.in("study:enqueue");
    }
    return 0;
  });
}

// A number, or a list of one for each objective.
void push_values(lua_State* L, std::span<const double> values) {
  if (values.size() == 1) {
    lua_pushnumber(L, values[0]);
  } else {
    push_value(L, Value::List(values.begin(), values.end()));
  }
}

// { trial = number, value = …, params = … }
void push_best(lua_State* L, const StudyObject& object, std::int64_t trial) {
  const std::span<const double> values = object.study().trials().values(trial);
  lua_createtable(L, 0, 3);
  lua_pushnumber(L, static_cast<double>(trial));
  lua_setfield(L, -2, "trial");
  push_trial_params(L, object, trial);
  lua_setfield(L, -2, "params");
  push_values(L, values);
  lua_setfield(L, -2, values.size() == 1 ? "value" : "values");
}

int get_best(lua_State* L) {
  StudyObject& study = study_at(L);
  study.follow();
  if (study.study().trials().objectives() > 1) {
    throw recipe_error("a study of several objectives has no single best trial")
        .hint("study.pareto lists the best trials");
  }
  if (const auto best = study.study().best()) {
    push_best(L, study, *best);
  } else {
    lua_pushnil(L);
  }
  return 1;
}

int get_pareto(lua_State* L) {
  StudyObject& study = study_at(L);
  study.follow();
  const std::vector<std::int64_t> numbers = study.pareto();
  lua_createtable(L, static_cast<int>(numbers.size()), 0);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    push_best(L, study, numbers[i]);
    lua_rawseti(L, -2, static_cast<int>(i) + 1);
  }
  return 1;
}

void push_trial(lua_State* L, const StudyObject& object, std::int64_t trial) {
  const Trials& trials = object.study().trials();
  lua_createtable(L, 0, 5);
  lua_pushnumber(L, static_cast<double>(trial));
  lua_setfield(L, -2, "number");
  const std::string_view state = trial_state_name(trials.state(trial));
  lua_pushlstring(L, state.data(), state.size());
  lua_setfield(L, -2, "state");
  push_trial_params(L, object, trial);
  lua_setfield(L, -2, "params");
  const std::span<const double> values = trials.values(trial);
  if (std::ranges::none_of(values, [](double x) { return std::isnan(x); })) {
    push_values(L, values);
    lua_setfield(L, -2, values.size() == 1 ? "value" : "values");
  }
  lua_newtable(L);
  trials.walk(trial, [&](std::int64_t resource, std::span<const double> means) {
    lua_pushnumber(L, static_cast<double>(resource));
    push_values(L, means);
    lua_rawset(L, -3);
  });
  lua_setfield(L, -2, "reports");
}

int get_trials(lua_State* L) {
  StudyObject& study = study_at(L);
  study.follow();
  const std::int64_t count = study.study().trials().size();
  lua_createtable(L, static_cast<int>(count), 0);
  for (std::int64_t t = 0; t < count; ++t) {
    push_trial(L, study, t);
    lua_rawseti(L, -2, static_cast<int>(t) + 1);
  }
  return 1;
}

int l_length(lua_State* L) {
  return guarded(L, [&] {
    StudyObject& study = study_at(L);
    study.follow();
    lua_pushnumber(L, static_cast<double>(study.study().trials().size()));
    return 1;
  });
}

int l_report(lua_State* L) {
  return guarded(L, [&] {
    const TrialObject& trial = trial_at(L);
    const std::int64_t step = whole_number(L, 2, 1, "trial:report.step");
    std::vector<double> values = values_at(L, 3, trial.study->study().trials().objectives(), "trial:report.value");
    const std::int64_t repeat = lua_isnoneornil(L, 4) ? 1 : whole_number(L, 4, 1, "trial:report.repeat");
    trial.study->report(trial.number, {.repeat = repeat, .resource = step, .values = std::move(values)});
    return 0;
  });
}

int l_should_prune(lua_State* L) {
  return guarded(L, [&] {
    const TrialObject& trial = trial_at(L);
    EngineWork work(L);
    work.set_done(false);
    lua_pushboolean(L, trial.study->should_prune(trial.number) ? 1 : 0);
    return 1;
  });
}

int get_number(lua_State* L) {
  lua_pushnumber(L, static_cast<double>(trial_at(L).number));
  return 1;
}

int get_params(lua_State* L) {
  trial_at(L);
  lua_getfenv(L, 1);
  return 1;
}

int l_trial_text(lua_State* L) {
  return guarded(L, [&] {
    const std::string text = "trial " + std::to_string(trial_at(L).number);
    lua_pushlstring(L, text.data(), text.size());
    return 1;
  });
}

}  // namespace

void open_studies(lua_State* L) {
  define(L, {.name = "study",
             .methods = {{"ask", l_ask}, {"tell", l_tell}, {"enqueue", l_enqueue}},
             .get = {{"best", get_best}, {"pareto", get_pareto}, {"trials", get_trials}},
             .length = l_length});
  define(L, {.name = "trial",
             .methods = {{"report", l_report}, {"should_prune", l_should_prune}},
             .get = {{"number", get_number}, {"params", get_params}},
             .text = l_trial_text});
  lua_pushcfunction(L, l_study);
  set_lab_member(L, "study");
}

}  // namespace trainlab

#include "run/request.h"

#include <array>
#include <stdexcept>

#include "core/error.h"

namespace trainlab {

namespace {

struct CommandName {
  Command command;
  const char* name;
};
constexpr std::array<CommandName, 4> command_names = {{{Command::run, "run"},
                                                       {Command::check, "check"},
                                                       {Command::parameters, "parameters"},
                                                       {Command::predict, "predict"}}};

template <class T>
Value optional_value(const std::optional<T>& optional) {
  return optional ? Value(*optional) : Value();
}

template <class T>
void read_optional(const Value& value, std::optional<T>& into) {
  if (!value.is_nil()) into = static_cast<T>(value.integer());
}

}  // namespace

Value Prediction::to_value() const {
  return Value::Map{
      {"stage", stage},
      {"folder", folder.string()},
      {"model", optional_value(model)},
      {"input", input ? Value(input->string()) : Value()},
      {"output", output ? Value(output->string()) : Value()},
      {"format", format},
      {"batch", batch},
      {"prompt", optional_value(prompt)},
      {"length", length},
      {"temperature", temperature},
      {"top_p", top_p},
      {"top_k", top_k},
  };
}

Prediction Prediction::from_value(const Value& value) {
  Prediction prediction;
  prediction.stage = value["stage"].string();
  prediction.folder = value["folder"].string();
  if (!value["model"].is_nil()) prediction.model = value["model"].string();
  if (!value["input"].is_nil()) prediction.input = value["input"].string();
  if (!value["output"].is_nil()) prediction.output = value["output"].string();
  prediction.format = value["format"].string();
  prediction.batch = value["batch"].integer();
  if (!value["prompt"].is_nil()) prediction.prompt = value["prompt"].string();
  prediction.length = value["length"].integer();
  prediction.temperature = value["temperature"].number();
  prediction.top_p = value["top_p"].number();
  prediction.top_k = value["top_k"].integer();
  return prediction;
}

Value Request::to_value() const {
  Value::List given;
  for (const GivenParameter& parameter : parameters) {
    given.push_back(Value::Map{{"name", parameter.name}, {"text", parameter.text}, {"from", parameter.from}});
  }
  Value::List sets;
  for (const std::string& text : set) sets.emplace_back(text);

  Value::Map map{
      {"recipe", recipe.string()},
      {"recipe_folder", recipe_folder.string()},
      {"working_folder", working_folder.string()},
      {"parameters", std::move(given)},
      {"set", std::move(sets)},
      {"out", out ? Value(out->string()) : Value()},
      {"seed", optional_value(seed)},
      {"threads", optional_value(threads)},
      {"device", optional_value(device)},
      {"stdlib", stdlib ? Value(stdlib->string()) : Value()},
      {"extend", extend ? Value(Value::Map{{"count", extend->count}, {"unit", extend->unit}}) : Value()},
      {"workers", optional_value(workers)},
      {"helps", helps},
      {"joins", joins},
      {"prediction", prediction ? prediction->to_value() : Value()},
      {"quiet", quiet},
      {"step", step},
      {"terminal", terminal},
      {"supervisor", supervisor},
  };
  for (const CommandName& known : command_names) {
    if (known.command == command) map["command"] = known.name;
  }
  return map;
}

Request Request::from_value(const Value& value) try {
  Request request;
  const std::string& command = value["command"].string();
  bool known = false;
  for (const CommandName& candidate : command_names) {
    if (candidate.name == command) {
      request.command = candidate.command;
      known = true;
    }
  }
  if (!known) throw std::logic_error("unknown command " + command);

  request.recipe = value["recipe"].string();
  request.recipe_folder = value["recipe_folder"].string();
  request.working_folder = value["working_folder"].string();
  for (const Value& given : value["parameters"].list()) {
    request.parameters.push_back({given["name"].string(), given["text"].string(), given["from"].string()});
  }
  for (const Value& text : value["set"].list()) request.set.push_back(text.string());
  if (!value["out"].is_nil()) request.out = value["out"].string();
  read_optional(value["seed"], request.seed);
  read_optional(value["threads"], request.threads);
  if (!value["device"].is_nil()) request.device = value["device"].string();
  if (!value["stdlib"].is_nil()) request.stdlib = value["stdlib"].string();
  if (const Value& extend = value["extend"]; !extend.is_nil()) {
    request.extend = NewTotal{extend["count"].integer(), extend["unit"].string()};
  }
  read_optional(value["workers"], request.workers);
  request.helps = value["helps"].boolean();
  request.joins = value["joins"].boolean();
  if (!value["prediction"].is_nil()) request.prediction = Prediction::from_value(value["prediction"]);
  request.quiet = value["quiet"].boolean();
  request.step = value["step"].boolean();
  request.terminal = value["terminal"].boolean();
  request.supervisor = value["supervisor"].integer();
  return request;
} catch (const std::logic_error& error) {
  throw run_error(std::string("the engine was given no request that it understands: ") + error.what())
      .hint("`trainlab` and `trainlab-engine` must be of the same build: install both again");
}

}  // namespace trainlab

#include "run/request.h"

#include <stdexcept>

#include "core/error.h"

namespace trainlab {

namespace {

template <class T>
Value optional_value(const std::optional<T>& optional) {
  return optional ? Value(*optional) : Value();
}

template <class T>
void read_optional(const Value& value, std::optional<T>& into) {
  if (!value.is_nil()) into = static_cast<T>(value.integer());
}

}  // namespace

Value Request::to_value() const {
  Value::List given;
  for (const GivenParameter& parameter : parameters) {
    given.push_back(Value::Map{{"name", parameter.name}, {"text", parameter.text}, {"from", parameter.from}});
  }
  Value::List sets;
  for (const std::string& text : set) sets.emplace_back(text);

  return Value::Map{
      {"command", command},
      {"options", options},
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
      {"quiet", quiet},
      {"terminal", terminal},
      {"supervisor", supervisor},
  };
}

Request Request::from_value(const Value& value) try {
  Request request;
  request.command = value["command"].string();
  request.options = value["options"].map();
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
  request.quiet = value["quiet"].boolean();
  request.terminal = value["terminal"].boolean();
  request.supervisor = value["supervisor"].integer();
  return request;
} catch (const std::logic_error& error) {
  throw run_error(std::string("the engine was given no request that it understands: ") + error.what())
      .hint("`trainlab` and `trainlab-engine` must be of the same build: install both again");
}

}  // namespace trainlab

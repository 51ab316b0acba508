#include "run/request.h"

#include <stdexcept>

#include "core/error.h"

namespace trainlab {

std::string Request::shown_recipe() const {
  const std::filesystem::path file = mends() ? *path("recipe") : recipe_folder / recipe.filename();
  const std::string relative = file.lexically_relative(working_folder).generic_string();
  return relative.empty() || relative.size() > file.string().size() ? file.string() : relative;
}

std::optional<std::filesystem::path> Request::path(std::string_view option) const {
  return has(option) ? std::optional<std::filesystem::path>(options[option].string()) : std::nullopt;
}

std::vector<std::string> Request::texts(std::string_view option) const {
  std::vector<std::string> all;
  if (!has(option)) return all;
  for (const Value& text : options[option].list()) all.push_back(text.string());
  return all;
}

Value Request::to_value() const {
  Value::List given, paths;
  for (const std::filesystem::path& path : named) paths.push_back(path.string());
  for (const GivenParameter& parameter : parameters) {
    given.push_back(Value::Map{
        {"name", parameter.name}, {"text", parameter.text}, {"from", parameter.from}, {"quoted", parameter.quoted}});
  }
  return Value::Map{
      {"command", command},
      {"choice", choice},
      {"options", options},
      {"named", std::move(paths)},
      {"recipe", recipe.string()},
      {"recipe_folder", recipe_folder.string()},
      {"second", second.string()},
      {"working_folder", working_folder.string()},
      {"parameters", std::move(given)},
      {"extend", extend ? Value(Value::Map{{"count", extend->stored()}, {"unit", extend->unit}}) : Value()},
      {"helps", helps},
      {"joins", joins},
      {"worker", worker},
      {"terminal", terminal},
      {"begun", begun},
      {"supervisor", supervisor},
  };
}

Request Request::from_value(const Value& value) try {
  Request request;
  request.command = value["command"].string();
  request.choice = value["choice"].string();
  request.options = value["options"].map();
  for (const Value& path : value["named"].list()) request.named.emplace_back(path.string());
  request.recipe = value["recipe"].string();
  request.recipe_folder = value["recipe_folder"].string();
  request.second = value["second"].string();
  request.working_folder = value["working_folder"].string();
  for (const Value& given : value["parameters"].list()) {
    request.parameters.push_back(
        {given["name"].string(), given["text"].string(), given["from"].string(), given["quoted"].boolean()});
  }
  if (const Value& extend = value["extend"]; !extend.is_nil()) {
    request.extend = NewTotal{extend["count"].number(), extend["unit"].string()};
  }
  request.helps = value["helps"].boolean();
  request.joins = value["joins"].boolean();
  request.worker = static_cast<int>(value["worker"].integer());
  request.terminal = value["terminal"].boolean();
  request.begun = value["begun"].number();
  request.supervisor = value["supervisor"].integer();
  return request;
} catch (const std::logic_error& error) {
  throw run_error(std::string("the engine was given no request that it understands: ") + error.what())
      .hint("`trainlab` and `trainlab-engine` must come from the same build: install both again");
}

}  // namespace trainlab

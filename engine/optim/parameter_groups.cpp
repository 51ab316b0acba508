#include "parameter_groups.h"

#include <algorithm>
#include <cmath>

#include "core/callable.h"
#include "core/pattern.h"
#include "core/words.h"

namespace trainlab {
namespace {

std::string names_text(std::span<const OptimizedParameter> parameters) {
  return joined(parameters, ", ", &OptimizedParameter::name);
}

// The spec with what a group says put over it.
Options merged(const Options& spec, const Value* group) {
  Value::Map map = spec.value().map();
  map.erase("groups");
  map.erase("layer_decay");
  if (group) {
    for (const auto& [name, value] : group->map())
      if (name != "params") map[name] = value;
  }
  return {spec.registry(), std::make_shared<const Spec>(Spec{.value = Value(std::move(map)), .functions = {}}),
          spec.path()};
}

// How many layers with parameters come after that of each parameter. Layers are the model's top-level positions, the
// first part of a tensor's name, in the order in which they first appear.
std::vector<int> layers_after(std::span<const OptimizedParameter> parameters) {
  std::vector<std::string> layers;
  std::vector<int> depths;
  for (const OptimizedParameter& parameter : parameters) {
    const std::string layer = parameter.name.substr(0, parameter.name.find('.'));
    auto found = std::ranges::find(layers, layer);
    if (found == layers.end()) found = layers.insert(layers.end(), layer);
    depths.push_back(static_cast<int>(found - layers.begin()));
  }
  for (int& depth : depths) depth = static_cast<int>(layers.size()) - 1 - depth;
  return depths;
}

}  // namespace

ParameterGroups::ParameterGroups(std::span<const Options> specs, std::span<const OptimizedParameter> parameters)
    : parameters_(parameters.size()) {
  for (const Options& spec : specs) add_row(spec, parameters);
}

void ParameterGroups::add_row(const Options& spec, std::span<const OptimizedParameter> parameters) {
  static const Value::List none;
  const bool has_groups = spec.entry().find("groups") != nullptr;  // not every optimizer has them
  const Value::List& groups = has_groups && spec.given("groups") ? spec.get("groups").list() : none;
  std::vector<Options> options{merged(spec, nullptr)};
  for (const Value& group : groups) options.push_back(merged(spec, &group));

  const double rate = spec.number("lr");
  std::vector<Place> row(parameters.size());
  for (std::size_t g = groups.size(); g-- > 0;) {  // from the last, so that the first that matches wins
    for (const Value& pattern : groups[g]["params"].list()) {
      bool found = false;
      for (std::size_t i = 0; i < parameters.size(); ++i) {
        if (!matches_pattern(pattern.string(), parameters[i].name)) continue;
        found = true;
        row[i].group = g + 1;
      }
      if (!found)
        throw spec
            .error("groups", "expected patterns that fit a parameter's name, found \"" + pattern.string() +
                                 "\" in group " + std::to_string(g + 1))
            .hint("the parameters are " + names_text(parameters));
    }
    if (groups[g]["lr"].is_nil()) continue;
    if (rate == 0)
      throw spec.error("lr", "expected a rate above 0 beside groups with rates of their own, found 0")
          .hint("freeze a group with lr = 0 instead");
  }
  const double decay = has_groups && spec.given("layer_decay") ? spec.number("layer_decay") : 1;
  const std::vector<int> after = layers_after(parameters);
  for (std::size_t i = 0; i < row.size(); ++i) {
    const double own = options[row[i].group].number("lr");
    row[i].rate_factor = (own == rate ? 1 : own / rate) * std::pow(decay, after[i]);
  }
  specs_.push_back(std::move(options));
  places_.insert(places_.end(), row.begin(), row.end());
}

Entry with_groups(Entry entry) {
  std::vector<Option> fields{
      Option("params", "names of tensors, or patterns in which * stands for any characters: \"3.weight\", \"*.bias\"")
          .string()
          .many()
          .required()};
  for (Option option : entry.options) {
    option.fallback = {};
    option.is_required = option.is_positional = false;
    fields.push_back(std::move(option));
  }
  return entry
      .with(Option("groups", "other options for some parameters; the first group with a matching pattern counts")
                .fields(std::move(fields))
                .many())
      .with(Option("layer_decay",
                   "factor of the rate from each layer to the one before it; the last layer has the full rate")
                .number()
                .more_than(0)
                .at_most(1));
}

}  // namespace trainlab

#include "model/initial.h"

#include <algorithm>

#include "core/pattern.h"

namespace trainlab {

namespace {

std::string parameter_names(const Model& model) {
  std::string list;
  for (const ParameterInfo& info : model.parameters()) list += (list.empty() ? "" : ", ") + info.name;
  return list;
}

// Positions of the parameters that match; at least one.
std::vector<std::size_t> matching(const Model& model, const std::string& pattern, const Options& options,
                                  std::string_view option) {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < model.parameters().size(); ++i) {
    if (matches_pattern(pattern, model.parameters()[i].name)) found.push_back(i);
  }
  if (found.empty()) {
    throw options.error(option, "no parameter matches \"" + pattern + "\"")
        .hint("this model has " + parameter_names(model));
  }
  return found;
}

std::size_t literal_characters(const std::string& pattern) {
  return static_cast<std::size_t>(
      std::count_if(pattern.begin(), pattern.end(), [](char c) { return c != '*' && c != '?'; }));
}

}  // namespace

Initializer initializer_of(const Options& options, std::string_view option, const Shape& shape) {
  const Options init = options.child(option);
  return init.registry().implementation<InitFactory>(init.entry())(init, shape);
}

void initialize_by_pattern(Model& model, const Options& options, std::string_view option) {
  if (!options.given(option)) return;
  const std::vector<ParameterInfo>& parameters = model.parameters();
  if (!options.is_keyed(option)) {
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      if (parameters[i].shape.size() >= 2) {
        model.set_initial(i, initializer_of(options, option, parameters[i].shape));
      }
    }
    return;
  }
  const Options table = options.keyed(option);
  std::vector<std::string> chosen(parameters.size());  // a pattern for each parameter
  for (const std::string& pattern : table.names()) {
    for (const std::size_t i : matching(model, pattern, options, option)) {
      const std::size_t before = chosen[i].empty() ? 0 : literal_characters(chosen[i]);
      const std::size_t now = literal_characters(pattern);
      if (!chosen[i].empty() && before == now) {
        throw options.error(option, "\"" + chosen[i] + "\" and \"" + pattern + "\" both match " + parameters[i].name)
            .hint("of several patterns the one with more characters counts: make one of them longer");
      }
      if (chosen[i].empty() || now > before) chosen[i] = pattern;
    }
  }
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (!chosen[i].empty()) model.set_initial(i, initializer_of(table, chosen[i], parameters[i].shape));
  }
}

void freeze_by_pattern(Model& model, const Options& options, std::string_view option) {
  if (!options.given(option)) return;
  for (const Value& pattern : options.get(option).list()) {
    for (const std::size_t i : matching(model, pattern.string(), options, option)) model.freeze(i);
  }
  const auto& parameters = model.parameters();
  if (std::none_of(parameters.begin(), parameters.end(), [](const ParameterInfo& info) { return info.trains; })) {
    throw options.error(option, "freezes all parameters, and nothing is left to train");
  }
}

}  // namespace trainlab

// lab.space: what a recipe writes for a parameter, and the space that comes of it.
#include <algorithm>
#include <cmath>
#include <functional>

#include "core/printable.h"
#include "core/value.h"
#include "study/space.h"

namespace trainlab {

namespace {

// The implementation of an entry of kind "space". make_space adds conditions.
using ParameterFactory = std::function<SpaceParameter(const Options&)>;

SpaceParameter range(const Options& spec, SpaceParameter::Kind kind, bool log) {
  SpaceParameter p;
  p.kind = kind;
  p.low = spec.number("low");
  p.high = spec.number("high");
  p.log = log;
  if (p.high < p.low) {
    throw spec.error("high", "expected at least low = " + number_text(p.low) + ", found " + number_text(p.high));
  }
  if (log && p.low <= 0) {
    throw spec.error("low", "expected a number more than 0 for a logarithmic range, found " + number_text(p.low));
  }
  return p;
}

SpaceParameter make_uniform(const Options& spec) {
  SpaceParameter p = range(spec, SpaceParameter::Kind::real, spec.boolean("log"));
  if (!spec.given("step")) return p;
  p.step = spec.number("step");
  if (p.log) throw spec.error("step", "expected no step beside log = true");
  if (p.step > p.high - p.low) {
    throw spec.error("step",
                     "expected at most high − low = " + figure_text(p.high - p.low) + ", found " + number_text(p.step));
  }
  p.high = p.low + p.step * static_cast<double>(p.count() - 1);
  return p;
}

SpaceParameter make_log(const Options& spec) { return range(spec, SpaceParameter::Kind::real, true); }

SpaceParameter make_int(const Options& spec) {
  SpaceParameter p = range(spec, SpaceParameter::Kind::integer, spec.boolean("log"));
  p.step = static_cast<double>(spec.integer("step"));
  if (p.log && p.step != 1) throw spec.error("step", "expected no step beside log = true");
  p.high = p.low + p.step * static_cast<double>(p.count() - 1);
  return p;
}

SpaceParameter make_choice(const Options& spec) {
  SpaceParameter p;
  p.kind = SpaceParameter::Kind::choice;
  p.labels = spec.get("values").list();
  for (std::size_t i = 0; i < p.labels.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (same_label(p.labels[i], p.labels[j]))
        throw spec.error("values", "the value " + p.labels[i].brief() + " stands twice");
    }
  }
  return p;
}

SpaceParameter fixed(const Value& value) {
  SpaceParameter p;
  p.kind = SpaceParameter::Kind::choice;
  p.labels = {value};
  return p;
}

SpaceParameter make_fixed(const Options& spec) { return fixed(spec.get("value")); }

Option low_option() { return Option("low", "lowest value, itself included").number().positional().required(); }
Option high_option() { return Option("high", "highest value, itself included").number().positional().required(); }
Option log_option() {
  return Option("log", "draw uniformly in the logarithm of the number").boolean().or_default(false);
}

// The internal values of a parent that a condition names.
std::vector<double> parent_values(const Options& when, const SpaceParameter& parent) {
  std::vector<double> values;
  for (const Value& given : when.get("values").list()) {
    if (const std::optional<double> value = parent.find(given)) {
      values.push_back(*value);
    } else if (parent.count() != 1) {
      // A fixed parent may well have another value: what depends on it is then not active at all.
      throw when.error("values", "'" + parent.name + "' never has the value " + given.brief() + ": expected " +
                                     parent.expected(given));
    }
  }
  return values;
}

}  // namespace

Option space_option() {
  // Texts before entries: the word "log" is a value here.
  return Option("space", "the parameters by name; a plain value stands for lab.space.fixed")
      .integer()
      .number()
      .boolean()
      .string()
      .entry("space")
      .keyed()
      .required();
}

Space make_space(const Options& options) {
  if (!options.is_keyed("space")) {
    throw options.error("space", "expected a table of parameters by name")
        .hint("write space = { lr = lab.space.log(1e-4, 1e-1) }");
  }
  const Options table = options.keyed("space");
  const std::vector<std::string> names = table.names();
  std::vector<SpaceParameter> parameters;
  std::vector<std::vector<Options>> conditions;
  for (const std::string& name : names) {
    if (name == "seed" || name == "trial") {
      throw table.error(name, "a parameter may not be called '" + name + "': hp." + name + " is the study's own");
    }
    if (!is_name(name)) {
      throw table.error(name, "expected a name of 1 to 200 bytes without control characters")
          .hint("the name stands in tables of trials, in lines of their own");
    }
    std::vector<Options> whens;
    SpaceParameter p;
    if (table.is_entry(name)) {
      Options spec = table.child(name);
      while (spec.entry().name == "space:when") {
        whens.push_back(spec);
        spec = spec.child("source");
      }
      p = spec.registry().implementation<ParameterFactory>(spec.entry())(spec);
    } else {
      p = fixed(table.get(name));
    }
    p.name = name;
    parameters.push_back(std::move(p));
    conditions.push_back(std::move(whens));
  }
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    for (const Options& when : conditions[i]) {
      const std::string& parent = when.string("parent");
      const auto found = std::find(names.begin(), names.end(), parent);
      if (found == names.end()) {
        const std::string close = Registry::closest(parent, names);
        Error error = when.error("parent", "the space has no parameter '" + parent + "'");
        throw close.empty() ? error : error.hint("did you mean '" + close + "'?");
      }
      const auto place = static_cast<std::size_t>(found - names.begin());
      if (place == i) throw when.error("parent", "expected another parameter than '" + parent + "' itself");
      if (parameters[place].count() == 0) {
        throw when.error("parent", "expected a parameter with countable values (choice, int, step), found the range '" +
                                       parent + "'");
      }
      parameters[i].conditions.push_back({place, parent_values(when, parameters[place])});
    }
  }
  try {
    return Space(std::move(parameters));
  } catch (Error& error) {
    throw table.error(error.path(), error.message());
  }
}

std::vector<std::vector<double>> enqueued_points(const Options& options, const Space& space) {
  std::vector<std::vector<double>> points;
  if (!options.given("enqueue")) return points;
  for (const Value& params : options.get("enqueue").list()) {
    try {
      points.push_back(space.point_of(params));
    } catch (Error& error) {
      const Error place = options.error("enqueue", "");
      throw error.in(place.path() + "[" + std::to_string(points.size() + 1) + "]").at(place.file(), place.line());
    }
  }
  return points;
}

void register_space_entries(Registry& registry) {
  registry.add(Entry("space.uniform", "space", "A number, drawn uniformly from a range.")
                   .with(low_option())
                   .with(high_option())
                   .with(log_option())
                   .with(Option("step", "allow only the values low, low + step, low + 2·step …").number().more_than(0))
                   .example("space.uniform(0, 0.99)"),
               ParameterFactory{make_uniform});
  registry.add(
      Entry("space.log", "space", "A number whose logarithm is uniform, as for learning rates and weight decay.")
          .with(low_option().more_than(0))
          .with(high_option())
          .example("space.log(1e-4, 1e-1)"),
      ParameterFactory{make_log});
  registry.add(Entry("space.int", "space", "A whole number, drawn uniformly from a range.")
                   .with(Option("low", "lowest value, itself included").integer().positional().required())
                   .with(Option("high", "highest value, itself included").integer().positional().required())
                   .with(log_option())
                   .with(Option("step", "allow only the values low, low + step, low + 2·step …")
                             .integer()
                             .at_least(1)
                             .or_default(1))
                   .example("space.int(16, 128, { log = true })"),
               ParameterFactory{make_int});
  registry.add(
      Entry("space.choice", "space", "One of several values without an order: strings, numbers, booleans or tables.")
          .with(Option("values", "list of the values").any().array().required())
          .example("space.choice { \"AdamW\", \"SGD\" }"),
      ParameterFactory{make_choice});
  registry.add(Entry("space.fixed", "space", "A parameter of build with one value, which is not searched.")
                   .with(Option("value", "the value").any().positional().required())
                   .example("space.fixed(64)"),
               ParameterFactory{make_fixed});
  registry.add(Entry("space:when", "space",
                     "Makes a parameter active only in trials in which another parameter has one of some values.")
                   .with(Option("parent",
                                "name of the other parameter, which is a choice, a whole number or a number with steps")
                             .string()
                             .positional()
                             .required())
                   .with(Option("values", "value or values of the other parameter with which this parameter is active")
                             .any()
                             .many()
                             .positional()
                             .required())
                   .example("space.uniform(0, 0.99):when(\"optim\", \"SGD\")")
                   .note("An inactive parameter reads as nil in build and is null in files."));
}

}  // namespace trainlab

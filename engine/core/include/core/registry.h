// The registry: every thing that a recipe can name has one declaration, made here and nowhere else.
//
// From a declaration come the Lua constructor, validation with the option's path and a did-you-mean, the printed
// form, `trainlab help NAME`, the editor's completion file (LuaCATS) and the reference page. Modules declare their
// entries through explicit functions (`register_optim(Registry&)`), never through static objects.
//
//   registry.add(Entry("optim.SGD", "optimizer", "Stochastic gradient descent with momentum.")
//                    .with(Option("lr", "learning rate").number().at_least(0).or_default(1e-2))
//                    .with(Option("nesterov", "look ahead along the momentum").boolean().or_default(false)),
//                OptimizerKind{make_sgd});
//
// A Registry is filled once by one thread and then only read, from any thread.
#pragma once

#include <any>
#include <initializer_list>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "core/value.h"

namespace trainlab {

class Callable;  // core/callable.h
struct Spec;
struct Duration;  // core/duration.h

// One form that an option's value may take; an option accepts any of its forms.
struct Form {
  enum class Type { boolean, integer, number, string, path, choice, duration, entry, function, map, any };
  Type type = Type::any;
  std::vector<std::string> choices = {};  // choice
  std::string kind = {};                  // entry: "layer", "optimizer", …
  std::string signature = {};             // function: "function(step, total) → factor"
};

// An option of an entry. Built fluently: the name and the doc first, then the forms, then limits and default.
class Option {
 public:
  Option(std::string its_name, std::string its_doc);
  // Defined in registry.cpp, so that not every file with entries compiles them.
  ~Option();
  Option(const Option& other);
  Option(Option&& other) noexcept;
  Option& operator=(const Option& other);
  Option& operator=(Option&& other) noexcept;

  Option& boolean() { return form(Form::Type::boolean); }
  Option& integer() { return form(Form::Type::integer); }
  Option& number() { return form(Form::Type::number); }
  Option& string() { return form(Form::Type::string); }
  Option& path() { return form(Form::Type::path); }  // relative to the recipe, stored absolute
  Option& duration() { return form(Form::Type::duration); }
  Option& choice(std::vector<std::string> choices);
  // An entry of a kind. A string names one of them without its prefix: "cross_entropy" for loss.cross_entropy().
  Option& entry(std::string kind);
  Option& function(std::string signature);
  // A table with these options of its own: loader = { threads = 2 }.
  Option& fields(std::vector<Option> options);
  Option& any() { return form(Form::Type::any); }

  // clang-format off
  Option& at_least(double x) { min = x; return *this; }
  Option& more_than(double x) { min = x; min_open = true; return *this; }
  Option& at_most(double x) { max = x; return *this; }
  Option& less_than(double x) { max = x; max_open = true; return *this; }
  Option& in(std::string text);  // "s", "bytes", "pixels"
  Option& or_default(Value value);
  Option& required() { is_required = true; return *this; }
  // Given by position too, in the order of declaration: nn.Linear(64).
  Option& positional() { is_positional = true; return *this; }
  // One value or a list of them: stop = { a, b }. With `exactly` n of them, and one value stands for n equal ones
  // (kernel = 3).
  Option& many(int exactly = 0) { is_many = true; count = exactly; return *this; }
  // One of these, or a table of them by name: optim = { g = optim.Adam(), d = optim.SGD() }. See Options::keyed.
  Option& keyed() { is_keyed = true; return *this; }
  // Fits that are trained together as members of a group may each have a value of their own.
  Option& by_member() { is_by_member = true; return *this; }
  // For a stage that is the run's own: a fit that a sweep or an ensemble builds cannot have it.
  Option& alone() { is_alone = true; return *this; }
  // A mended recipe with which a run goes on may change it.
  Option& mendable() { is_mendable = true; return *this; }
  // It ends, watches or keeps a whole training: the short trainings of a search go without it.
  Option& of_whole_training() { is_of_whole_training = true; return *this; }
  // It says how fast a stage works, and never changes results: a run may go on with another value.
  Option& of_speed_alone() { is_of_speed_alone = true; return *this; }
  // Takes the array part of the table: nn.Sequential { a, b }. At most one option of an entry.
  Option& array() { is_array = true; is_many = true; return *this; }
  // clang-format on

  // "integer ≥ 1", "number in (0, 1)", "\"min\" or \"max\"", "a layer, or a list of them": for messages and docs.
  std::string type_text() const;

  std::string name, doc, unit;
  std::vector<Form> forms;
  std::vector<Option> nested;  // of a map form
  Value fallback;              // nil: no default
  double min = -std::numeric_limits<double>::infinity(), max = std::numeric_limits<double>::infinity();
  bool min_open = false, max_open = false;
  bool is_required = false, is_positional = false, is_many = false, is_array = false, is_keyed = false;
  bool is_by_member = false, is_alone = false, is_mendable = false, is_of_whole_training = false;
  bool is_of_speed_alone = false;
  int count = 0;

 private:
  Option& form(Form::Type type);
};

// Kinds in use: layer, init, optimizer, schedule, average, loss, metric, stop, data, augment, space, sampler,
// scheduler, pruner, stage (each has constructors that return plain values), function (lab.param), method, field
// ("run:stop", "run.step").
//
// A method of another kind makes an entry from an entry: "data:split" of kind data. add() gives it a first, required,
// positional option "source" for what stands before the colon; paths pass over it, help does not list it.
class Entry {
 public:
  Entry(std::string its_name, std::string its_kind, std::string its_doc);
  ~Entry();
  Entry(const Entry& other);
  Entry(Entry&& other) noexcept;
  Entry& operator=(const Entry& other);
  Entry& operator=(Entry&& other) noexcept;

  Entry& with(Option option);
  // The result of a function or method, in words. The first word is the type in the completion file, if it is a type:
  // "number", "table", a kind or an object ("a tensor").
  Entry& returns(std::string text);
  Entry& example(std::string text);
  // Formula's source or further words, a paragraph printed after the options.
  Entry& note(std::string text);

  const Option* find(std::string_view option) const;
  const Option* array_option() const;

  std::string name;  // "nn.Linear", as in lab.nn.Linear; methods "data:split"; fields "run.step"
  std::string kind, doc, result, sample, notes;
  std::vector<Option> options;
  std::any implementation;  // of a type that the kind's module knows (LayerKind, …); empty for data-only entries
};

class Registry {
 public:
  // Raises std::logic_error for a duplicate name, an option without doc or form, two array options, or a default that
  // does not fit its own declaration. An entry that a default names must have been added before.
  void add(Entry entry);
  template <class Implementation>
  void add(Entry entry, Implementation implementation) {
    entry.implementation = std::move(implementation);
    add(std::move(entry));
  }

  const Entry* find(std::string_view name) const;
  // In order of name.
  std::vector<const Entry*> entries() const;
  std::vector<const Entry*> of_kind(std::string_view kind) const;

  // The implementation of an entry; std::logic_error when it is of another type.
  template <class Implementation>
  const Implementation& implementation(const Entry& entry) const {
    const auto* found = std::any_cast<Implementation>(&entry.implementation);
    if (!found) throw std::logic_error("registry: " + entry.name + " has no implementation of the asked type");
    return *found;
  }

  // Joins positional and named arguments into the map of an entry's options: F(a, b, { opt = v }) and
  // F { a, b, opt = v }, and puts the entry's name under "@". A nil by position counts as not given. Raises
  // Error{recipe} for too many positional ones or one given twice.
  Value::Map assemble(const Entry& entry, Value::List positional, Value::Map named) const;

  // Checks an entry's map against its declaration, nested entries included, and returns it in normal form: integral
  // numbers of integer options become integers, names become entry maps, a single value of a many-option becomes a
  // list, durations get their canonical text, an entry made from a name gets the "@at" of the entry around it. Of
  // several forms the first that takes the value counts. An empty table is an empty list or map, as is wanted.
  // Defaults are not filled in (see Options). Numbers must be finite, and exact as doubles. Raises Error{recipe} at the
  // innermost "@at" with the path below `path` (without one: below the entry's name), what was expected and found, and
  // "did you mean".
  Value check(const Value& entry_map, const std::string& path = "") const;

  // Constructor form, as a recipe would write it: nn.Sequential { nn.Flatten(), nn.Linear(64) }; broken into indented
  // lines where it is longer than 100 columns.
  std::string print(const Value& value) const;

  // The table of entries as data, and back: the thin program's help needs neither Lua nor LibTorch.
  Value to_value() const;
  static Registry from_value(const Value& table);

  // The closest name within a third of the word's length, else an anagram, else the shortest beginning with it; or "".
  static std::string closest(std::string_view word, const std::vector<std::string>& names);

 private:
  std::map<std::string, std::unique_ptr<Entry>, std::less<>> entries_;
};

// Typed read access to a checked entry map, with defaults. Reading an option that the entry does not declare is a
// programmer error (std::logic_error). Cheap to copy; keeps the Spec alive. Thread-safe to read, but functions belong
// to their home thread.
class Options {
 public:
  Options(const Registry& registry, std::shared_ptr<const Spec> spec, const Value& node, std::string path);
  // The root of a spec.
  Options(const Registry& registry, std::shared_ptr<const Spec> spec, std::string path);

  const Entry& entry() const { return *entry_; }
  const Registry& registry() const { return *registry_; }
  const Value& value() const { return *node_; }
  const std::string& path() const { return path_; }
  // This entry as a spec of its own.
  Spec spec() const;
  // "digits.lua:14" of the constructor's call, or empty.
  std::string where() const;

  // Given in the recipe (not by default).
  bool given(std::string_view option) const;
  // Given, or with a default that is not nil.
  bool has(std::string_view option) const;

  const Value& get(std::string_view option) const;  // raw, default applied
  bool boolean(std::string_view option) const;
  std::int64_t integer(std::string_view option) const;
  double number(std::string_view option) const;
  const std::string& string(std::string_view option) const;
  Duration duration(std::string_view option) const;
  std::vector<double> numbers(std::string_view option) const;  // a many-option
  std::vector<std::int64_t> integers(std::string_view option) const;
  bool is_entry(std::string_view option) const;
  bool is_function(std::string_view option) const;
  Options child(std::string_view option) const;  // an entry, or a table with fields
  // Whether a keyed option was given as a table by name, and that table: its options are the names, each declared as
  // this one, so keyed("optim").child("g") is an entry.
  bool is_keyed(std::string_view option) const;
  Options keyed(std::string_view option) const;
  std::vector<std::string> names() const;                        // of the options that are given here
  std::vector<Options> children(std::string_view option) const;  // a many-option of entries only
  std::shared_ptr<Callable> function(std::string_view option) const;
  // The elements of a many-option with entries and functions mixed.
  struct Element;
  std::vector<Element> elements(std::string_view option) const;

  // An Error{recipe} at this entry's source line and option path; an empty option stands for the entry itself.
  Error error(std::string_view option, std::string message) const;

 private:
  const Option& declared(std::string_view option) const;

  const Registry* registry_;
  std::shared_ptr<const Spec> spec_;
  const Value* node_;                        // this table
  const Value* entry_node_;                  // the enclosing entry, which is node_ but for a table with fields
  const Entry* entry_;                       // declaration of the enclosing entry
  const std::vector<Option>* declarations_;  // of this table
  std::shared_ptr<const std::vector<Option>> keyed_declarations_;  // what declarations_ points to, of a keyed table
  std::string path_;
};

struct Options::Element {
  std::optional<Options> entry;
  std::shared_ptr<Callable> function;
  std::string path;
};

// One entry as help for a terminal of `width` columns; all entries as a Markdown page and as a LuaCATS meta file.
std::string help_text(const Entry& entry, int width = 100);
std::string reference_markdown(const Registry& registry);
std::string luacats_meta(const Registry& registry);

}  // namespace trainlab

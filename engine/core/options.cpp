#include <algorithm>

#include "core/callable.h"
#include "core/duration.h"
#include "types.h"

namespace trainlab {

namespace {

const Entry& entry_of(const Registry& registry, const Value& node) {
  const std::string* name = entry_name(node);
  const Entry* entry = name ? registry.find(*name) : nullptr;
  if (!entry) throw std::logic_error("Options: no entry: " + node.brief());
  return *entry;
}

}  // namespace

Options::Options(const Registry& registry, std::shared_ptr<const Spec> spec, const Value& node, std::string path)
    : registry_(&registry),
      spec_(std::move(spec)),
      node_(&node),
      entry_node_(&node),
      entry_(&entry_of(registry, node)),
      declarations_(&entry_->options),
      path_(std::move(path)) {}

Options::Options(const Registry& registry, std::shared_ptr<const Spec> spec, std::string path)
    : Options(registry, spec, spec->value, std::move(path)) {}

Spec Options::spec() const { return {*node_, spec_->functions}; }

std::string Options::where() const {
  const Value& at = (*entry_node_)["@at"];
  return at.is_string() ? at.string() : "";
}

const Option& Options::declared(std::string_view option) const {
  const auto found =
      std::find_if(declarations_->begin(), declarations_->end(), [&](const Option& o) { return o.name == option; });
  if (found == declarations_->end()) {
    throw std::logic_error("Options: " + entry_->name + " declares no option '" + std::string(option) + "'");
  }
  return *found;
}

bool Options::given(std::string_view option) const { return !(*node_)[declared(option).name].is_nil(); }

bool Options::has(std::string_view option) const { return !get(option).is_nil(); }

const Value& Options::get(std::string_view option) const {
  const Option& declaration = declared(option);
  const Value& value = (*node_)[declaration.name];
  return value.is_nil() ? declaration.fallback : value;
}

bool Options::boolean(std::string_view option) const { return get(option).boolean(); }

std::int64_t Options::integer(std::string_view option) const { return get(option).integer(); }

double Options::number(std::string_view option) const { return get(option).number(); }

const std::string& Options::string(std::string_view option) const { return get(option).string(); }

Duration Options::duration(std::string_view option) const { return parse_duration(get(option).string()); }

std::vector<double> Options::numbers(std::string_view option) const {
  std::vector<double> all;
  if (!has(option)) return all;
  for (const Value& value : get(option).list()) all.push_back(value.number());
  return all;
}

std::vector<std::int64_t> Options::integers(std::string_view option) const {
  std::vector<std::int64_t> all;
  if (!has(option)) return all;
  for (const Value& value : get(option).list()) all.push_back(value.integer());
  return all;
}

bool Options::is_entry(std::string_view option) const { return entry_name(get(option)) != nullptr; }

bool Options::is_function(std::string_view option) const { return is_function_map(get(option)); }

Options Options::child(std::string_view option) const {
  const Option& declaration = declared(option);
  const Value& value = get(option);
  const std::string path = option_path(path_, *entry_, declaration);
  if (entry_name(value)) return {*registry_, spec_, value, path};
  if (!value.is_map()) {
    throw std::logic_error("Options: '" + declaration.name + "' of " + entry_->name + " is no entry or table");
  }
  Options table = *this;
  table.node_ = &value;
  table.declarations_ = &declaration.nested;
  table.path_ = path;
  return table;
}

bool Options::is_keyed(std::string_view option) const { return is_by_name(declared(option), get(option)); }

Options Options::keyed(std::string_view option) const {
  const Option& declaration = declared(option);
  if (!is_keyed(option)) throw std::logic_error("Options: '" + declaration.name + "' is no table by name");
  const Value& value = get(option);
  auto declarations = std::make_shared<std::vector<Option>>();
  for (const auto& [name, member] : value.map()) {
    declarations->push_back(declaration);
    declarations->back().name = name;
    declarations->back().is_keyed = declarations->back().is_array = false;
  }
  Options table = *this;
  table.node_ = &value;
  table.declarations_ = declarations.get();
  table.keyed_declarations_ = std::move(declarations);
  table.path_ = option_path(path_, *entry_, declaration);
  return table;
}

std::vector<std::string> Options::names() const {
  std::vector<std::string> all;
  for (const Option& option : *declarations_) {
    if (given(option.name)) all.push_back(option.name);
  }
  return all;
}

std::vector<Options> Options::children(std::string_view option) const {
  std::vector<Options> all;
  for (Element& element : elements(option)) all.push_back(std::move(element.entry.value()));
  return all;
}

std::shared_ptr<Callable> Options::function(std::string_view option) const { return spec_->function(get(option)); }

std::vector<Options::Element> Options::elements(std::string_view option) const {
  std::vector<Element> all;
  if (!has(option)) return all;
  const std::string path = option_path(path_, *entry_, declared(option));
  const Value::List& list = get(option).list();
  for (std::size_t i = 0; i < list.size(); ++i) {
    Element element;
    element.path = element_path(path, i, list[i]);
    element.function = spec_->function(list[i]);
    if (!element.function && entry_name(list[i])) {
      element.entry = Options(*registry_, spec_, list[i], element.path);
    } else if (!element.function) {  // a table with fields
      element.entry = *this;
      element.entry->node_ = &list[i];
      element.entry->declarations_ = &declared(option).nested;
      element.entry->path_ = element.path;
    }
    all.push_back(std::move(element));
  }
  return all;
}

Error Options::error(std::string_view option, std::string message) const {
  Error error = recipe_error(std::move(message));
  error.in(option.empty() ? path_ : option_path(path_, *entry_, declared(option)));
  const SourceLine position = position_of((*entry_node_)["@at"]);
  if (!position.file.empty()) error.at(position.file, position.line);
  return error;
}

}  // namespace trainlab

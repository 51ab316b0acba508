#include "option_lines.h"

#include <memory>
#include <string_view>

#include "core/callable.h"

namespace trainlab {
namespace {

void put(Value& table, std::string_view path, const Value& value) {
  const std::size_t dot = path.find('.');
  if (dot != std::string_view::npos) {
    Value inner = table[path.substr(0, dot)];
    if (!inner.is_map()) inner = Value::Map{};
    put(inner, path.substr(dot + 1), value);
    return put(table, path.substr(0, dot), inner.map().empty() ? Value() : inner);
  }
  if (!value.is_nil()) {
    table.set(path, value);
  } else if (const auto found = table.map().find(path); found != table.map().end()) {
    table.map().erase(found);
  }
}

}  // namespace

Options with_lines(const Options& fit, const Lines& lines) {
  auto spec = std::make_shared<Spec>(fit.spec());
  for (const auto& [path, value] : lines) put(spec->value, path, value);
  spec->value = fit.registry().check(spec->value, fit.path());
  return Options(fit.registry(), std::move(spec), fit.path());
}

}  // namespace trainlab

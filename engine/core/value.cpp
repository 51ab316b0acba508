#include "core/value.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <stdexcept>

#include "text.h"

namespace trainlab {

namespace {

[[noreturn]] void wrong_kind(std::string_view wanted, const Value& found) {
  throw std::logic_error("Value: " + std::string(wanted) + " asked of " + found.brief());
}

constexpr std::size_t kBriefWidth = 60;

std::string brief_map(const Value::Map& map) {
  if (const auto name = map.find("@"); name != map.end() && name->second.is_string()) {
    if (name->second.string() == "function") {
      const auto at = map.find("@at");
      return at != map.end() && at->second.is_string() ? "a function (" + at->second.string() + ")" : "a function";
    }
    return name->second.string() + (map.size() - map.count("@at") > 1 ? " { … }" : "()");
  }
  if (map.empty()) return "an empty table";
  std::string text = "a table { ";
  bool first = true;
  for (const auto& [key, value] : map) {
    if (!first) text += ", ";
    if (columns(text) + columns(key) > kBriefWidth - 10) return text + "… }";
    text += key + " = …";
    first = false;
  }
  return text + " }";
}

}  // namespace

Value::Value(const Value& other) = default;
Value& Value::operator=(const Value& other) = default;

Value::Value(std::string_view s) : data_(std::string(s)) {}
Value::Value(const char* s) : data_(std::string(s)) {}
Value::Value(List list) : data_(std::move(list)) {}
Value::Value(Map map) : data_(std::move(map)) {}

bool Value::operator==(const Value& other) const { return data_ == other.data_; }

bool Value::boolean() const {
  if (const auto* b = std::get_if<bool>(&data_)) return *b;
  wrong_kind("boolean", *this);
}

double Value::number() const {
  if (const auto* x = std::get_if<double>(&data_)) return *x;
  if (const auto* n = std::get_if<std::int64_t>(&data_)) return static_cast<double>(*n);
  wrong_kind("number", *this);
}

std::int64_t Value::integer() const {
  if (const auto* n = std::get_if<std::int64_t>(&data_)) return *n;
  if (const auto* x = std::get_if<double>(&data_)) {
    if (std::fabs(*x) < largest_exact && std::trunc(*x) == *x) return static_cast<std::int64_t>(*x);
  }
  wrong_kind("integer", *this);
}

const std::string& Value::string() const {
  if (const auto* s = std::get_if<std::string>(&data_)) return *s;
  wrong_kind("string", *this);
}

const Value::List& Value::list() const {
  if (const auto* list = std::get_if<List>(&data_)) return *list;
  wrong_kind("list", *this);
}

const Value::Map& Value::map() const {
  if (const auto* map = std::get_if<Map>(&data_)) return *map;
  wrong_kind("map", *this);
}

Value::List& Value::list() {
  if (auto* list = std::get_if<List>(&data_)) return *list;
  wrong_kind("list", *this);
}

Value::Map& Value::map() {
  if (auto* map = std::get_if<Map>(&data_)) return *map;
  wrong_kind("map", *this);
}

const Value& Value::operator[](std::string_view key) const {
  static const Value nil;
  const auto* map = std::get_if<Map>(&data_);
  if (!map) return nil;
  const auto found = map->find(key);
  return found == map->end() ? nil : found->second;
}

Value& Value::set(std::string_view key, Value value) {
  if (is_nil()) data_ = Map{};
  return map().insert_or_assign(std::string(key), std::move(value)).first->second;
}

std::string_view Value::kind_name() const {
  static constexpr std::array<std::string_view, 7> names{"nil",    "boolean", "number", "integer",
                                                         "string", "list",    "map"};
  return names[data_.index()];
}

std::string Value::brief() const {
  if (is_nil()) return "nil";
  if (is_boolean()) return boolean() ? "true" : "false";
  if (is_integer()) return std::to_string(integer());
  if (is_number()) return number_text(number());
  if (is_string()) return quoted(string(), kBriefWidth);
  if (is_list()) return list().empty() ? "an empty table" : "a list of " + std::to_string(list().size());
  return brief_map(map());
}

std::string number_text(double x) {
  if (std::isnan(x)) return "nan";
  std::array<char, 32> buffer;
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), x).ptr;
  return {buffer.data(), end};
}

std::string figure_text(double x, int digits) {
  const double size = std::abs(x);
  const bool is_long = size >= std::pow(10, digits) - 0.5 && size < 999999.5;
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), is_long ? "%.*f" : "%.*g", is_long ? 0 : digits, x);
  return text.data();
}

std::string count_text(double x) {
  constexpr double longest = 9e18;  // what a 64-bit integer holds
  if (x != std::trunc(x) || std::abs(x) > longest) return number_text(x);
  std::string text = std::to_string(static_cast<std::int64_t>(x));
  const std::ptrdiff_t first = x < 0 ? 1 : 0;
  for (auto at = static_cast<std::ptrdiff_t>(text.size()) - 3; at > first; at -= 3)
    text.insert(static_cast<std::size_t>(at), ",");
  return text;
}

}  // namespace trainlab

// Value: pure data as it passes between Lua, files and the engine: nil, bool, number, integer, string, list, map.
//
// A Value is a tree (never cyclic), copyable, hashable and serialisable as JSON. Maps are ordered by key, so that
// nothing that is stored depends on the order in which a script happened to build a table. Not synchronised: share
// const Values between threads only.
//
// Two kinds of map stand for things that a recipe names:
//   an entry      { "@" = "optim.AdamW", "@at" = "digits.lua:14", lr = 0.003 }   (see core/registry.h)
//   a function    { "@" = "function", index = 0, "@at" = "digits.lua:20" }       (see core/callable.h)
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace trainlab {

// Doubles, and with them the numbers of Lua and of JSON, hold every whole number up to this one.
inline constexpr std::int64_t largest_exact = std::int64_t{1} << 53;

class Value {
 public:
  using List = std::vector<Value>;
  using Map = std::map<std::string, Value, std::less<>>;

  Value() = default;
  // Copies are made in value.cpp, so that not every user of values compiles those of lists and maps. Moves, which every
  // value goes through on the way from Lua, are compiled in place.
  ~Value() = default;
  Value(const Value& other);
  Value(Value&& other) noexcept = default;
  Value& operator=(const Value& other);
  Value& operator=(Value&& other) noexcept = default;

  Value(bool b) : data_(b) {}
  Value(double x) : data_(x) {}
  Value(std::int64_t n) : data_(n) {}
  Value(int n) : data_(static_cast<std::int64_t>(n)) {}
  Value(std::string s) : data_(std::move(s)) {}
  Value(std::string_view s);
  Value(const char* s);
  Value(List list);
  Value(Map map);

  bool is_nil() const { return std::holds_alternative<std::monostate>(data_); }
  bool is_boolean() const { return std::holds_alternative<bool>(data_); }
  bool is_integer() const { return std::holds_alternative<std::int64_t>(data_); }
  // True for integers too: every integer is a number.
  bool is_number() const { return is_integer() || std::holds_alternative<double>(data_); }
  bool is_string() const { return std::holds_alternative<std::string>(data_); }
  bool is_list() const { return std::holds_alternative<List>(data_); }
  bool is_map() const { return std::holds_alternative<Map>(data_); }

  // Access. Each raises std::logic_error on another kind: callers check, or read validated options.
  bool boolean() const;
  double number() const;         // integers are converted
  std::int64_t integer() const;  // doubles with an integral value below 2^53 are converted
  const std::string& string() const;
  const List& list() const;
  const Map& map() const;
  List& list();
  Map& map();

  // The member `key` of a map; nil where there is none, or where this is no map.
  const Value& operator[](std::string_view key) const;
  // The member `key`, made when missing; a nil Value becomes a map.
  Value& set(std::string_view key, Value value);

  bool operator==(const Value& other) const;

  // "nil", "boolean", "number", "integer", "string", "list", "map".
  std::string_view kind_name() const;
  // Short text for messages: `12`, `"abc"`, `a list of 3`, `optim.AdamW { … }`; at most about 60 characters.
  std::string brief() const;

 private:
  std::variant<std::monostate, bool, double, std::int64_t, std::string, List, Map> data_;
};

// JSON. Numbers in shortest round-trip form; a NaN or infinity is written as null (JSON has no such number).
// indent < 0: one line. Keys in order, so equal Values give equal bytes; parse_json gives the same Value back (a double
// with an integral value is written as 1.0). Raises Error{recipe} for text that is not UTF-8.
std::string to_json(const Value& value, int indent = -1);
// Raises Error{recipe} naming `what` (a file name, for example) and the byte offset (for a key given twice, an integer
// that 64 bits cannot hold and a nesting deeper than 200: of the byte after it).
Value parse_json(std::string_view text, std::string_view what);

// Hex BLAKE2b-256 of the canonical JSON text, without members that start with "@at".
std::string fingerprint(const Value& value);

// The text with U+FFFD in place of every byte that is not UTF-8: for messages, which may quote anything.
std::string valid_utf8(std::string_view text);

// Number as the shortest text that reads back as the same double ("0.1", "1e-05", "nan", "inf").
std::string number_text(double x);

// A figure that was computed or measured, with its first `digits` digits, and with all before the point up to a
// million, where an exponent would hide the size: "0.25", "1012". The 12 digits leave out what arithmetic leaves in the
// last places, as of 6.000000000000001.
std::string figure_text(double x, int digits = 12);

// A number of things for people: "100,000" where it is a whole number, else as number_text.
std::string count_text(double x);

}  // namespace trainlab

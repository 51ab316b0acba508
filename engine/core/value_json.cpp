#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/files.h"
#include "core/value.h"
#include "text.h"

namespace trainlab {

namespace {

constexpr std::size_t kMaxDepth = 200;

class Writer {
 public:
  Writer(int indent, bool with_positions) : indent_(indent), with_positions_(with_positions) {}

  void write(const Value& value, int depth) {
    if (value.is_nil()) {
      out_ += "null";
    } else if (value.is_boolean()) {
      out_ += value.boolean() ? "true" : "false";
    } else if (value.is_integer()) {
      out_ += std::to_string(value.integer());
    } else if (value.is_number()) {
      write_number(value.number());
    } else if (value.is_string()) {
      write_string(value.string());
    } else if (value.is_list()) {
      write_list(value.list(), depth);
    } else {
      write_map(value.map(), depth);
    }
  }
  std::string take() { return std::move(out_); }

 private:
  void write_number(double x) {
    if (!std::isfinite(x)) {
      out_ += "null";
      return;
    }
    const std::string text = number_text(x);
    out_ += text;
    if (text.find_first_of(".e") == std::string::npos) out_ += ".0";
  }

  void write_string(const std::string& text) {
    const auto stands_for_itself = [](char c) { return c >= ' ' && c < 0x7f && c != '"' && c != '\\'; };
    if (std::ranges::all_of(text, stands_for_itself)) {
      out_.append(1, '"').append(text).append(1, '"');
      return;
    }
    try {
      out_ += nlohmann::json(text).dump();
    } catch (const nlohmann::json::type_error&) {
      throw recipe_error("text that is stored must be UTF-8, found " + quoted(text, 60));
    }
  }

  void write_list(const Value::List& list, int depth) {
    out_ += '[';
    bool first = true;
    for (const Value& element : list) {
      separate(first, depth + 1);
      write(element, depth + 1);
    }
    close(']', first, depth);
  }

  void write_map(const Value::Map& map, int depth) {
    out_ += '{';
    bool first = true;
    for (const auto& [key, value] : map) {
      if (!with_positions_ && key.starts_with("@at")) continue;
      separate(first, depth + 1);
      write_string(key);
      out_ += indent_ < 0 ? ":" : ": ";
      write(value, depth + 1);
    }
    close('}', first, depth);
  }

  void separate(bool& first, int depth) {
    if (!first) out_ += ',';
    first = false;
    new_line(depth);
  }
  void close(char bracket, bool empty, int depth) {
    if (!empty) new_line(depth);
    out_ += bracket;
  }
  void new_line(int depth) {
    if (indent_ < 0) return;
    out_ += '\n';
    out_.append(static_cast<std::size_t>(indent_) * static_cast<std::size_t>(depth), ' ');
  }

  int indent_;
  bool with_positions_;
  std::string out_;
};

// Where the parser reads; what it took last is what an error is about.
class Cursor {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  Cursor(const char* at, const char** last) : at_(at), last_(last) {}
  const char& operator*() const { return *at_; }
  Cursor& operator++() {
    *last_ = ++at_;
    return *this;
  }
  bool operator==(const Cursor& other) const { return at_ == other.at_; }
  bool operator!=(const Cursor& other) const { return at_ != other.at_; }

 private:
  const char* at_;
  const char** last_;
};

// Builds the Value from nlohmann's events, which come without recursion.
class Builder : public nlohmann::json_sax<nlohmann::json> {
 public:
  Builder(std::string_view text, std::string_view what) : begin_(text.data()), last_(text.data()), what_(what) {}

  const char** last() { return &last_; }
  Value take() { return std::move(root_); }

  bool null() override { return add(Value()); }
  bool boolean(bool b) override { return add(b); }
  bool number_integer(std::int64_t n) override { return add(n); }
  bool number_unsigned(std::uint64_t n) override {
    if (n > INT64_MAX) fail("an integer that 64 bits cannot hold: " + std::to_string(n));
    return add(static_cast<std::int64_t>(n));
  }
  bool number_float(double x, const std::string& text) override {
    if (text.find_first_of(".eE") == std::string::npos) fail("an integer that 64 bits cannot hold: " + text);
    return add(x);
  }
  bool string(std::string& text) override { return add(std::move(text)); }
  bool binary(nlohmann::json::binary_t&) override { return false; }  // never in text
  bool start_object(std::size_t) override { return open(Value::Map{}); }
  bool start_array(std::size_t) override { return open(Value::List{}); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(std::string& text) override {
    if (open_.back()->map().contains(text)) fail("the key " + quoted(text, 60) + " is there twice");
    key_ = std::move(text);
    return true;
  }
  bool parse_error(std::size_t position, const std::string&, const nlohmann::json::exception& error) override {
    // "[json.exception.parse_error.101] parse error at line 1, column 5: MESSAGE; last read: 'TOKEN'…": the message
    // alone is worth showing, and the token may be any bytes.
    std::string message = error.what();
    if (const auto start = message.find(": "); start != std::string::npos && position > 0) message.erase(0, start + 2);
    message.erase(std::min(message.find("; last read: "), message.size()));
    fail(message, position);
  }

 private:
  [[noreturn]] void fail(const std::string& message, std::size_t position) const {
    throw recipe_error(std::string(what_) + ": not valid JSON at byte " + std::to_string(position) + ": " + message);
  }
  [[noreturn]] void fail(const std::string& message) const { fail(message, static_cast<std::size_t>(last_ - begin_)); }

  Value* place(Value value) {
    if (open_.empty()) {
      root_ = std::move(value);
      return &root_;
    }
    if (open_.back()->is_map()) return &open_.back()->set(key_, std::move(value));
    return &open_.back()->list().emplace_back(std::move(value));
  }
  bool add(Value value) {
    place(std::move(value));
    return true;
  }
  bool open(Value value) {
    if (open_.size() == kMaxDepth) fail("nested deeper than " + std::to_string(kMaxDepth));
    open_.push_back(place(std::move(value)));
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }

  const char* begin_;
  const char* last_;
  std::string_view what_;
  Value root_;
  std::vector<Value*> open_;  // an enclosing list does not grow while an element of it is open
  std::string key_;
};

}  // namespace

std::string to_json(const Value& value, int indent) {
  Writer writer(indent, true);
  writer.write(value, 0);
  return writer.take();
}

Value parse_json(std::string_view text, std::string_view what) {
  Builder builder(text, what);
  const char** last = builder.last();
  nlohmann::json::sax_parse(Cursor(text.data(), last), Cursor(text.data() + text.size(), last), &builder);
  return builder.take();
}

std::string fingerprint(const Value& value) {
  Writer writer(-1, false);
  writer.write(value, 0);
  return hash_bytes(writer.take());
}

}  // namespace trainlab

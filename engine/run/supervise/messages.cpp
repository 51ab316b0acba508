#include <stdexcept>

#include "run/control.h"

namespace trainlab {

// The texts may quote bytes of a file that are no UTF-8, which JSON cannot have.
Value error_value(const Error& error) {
  return Value::Map{
      {"kind", static_cast<int>(error.kind())},     {"message", valid_utf8(error.message())},
      {"file", valid_utf8(error.file())},           {"line", error.line()},
      {"path", valid_utf8(error.path())},           {"hint", valid_utf8(error.hint())},
      {"traceback", valid_utf8(error.traceback())},
  };
}

Error error_from(const Value& value) try {
  ErrorKind kind = ErrorKind::run;
  switch (value["kind"].integer()) {
    case 1: kind = ErrorKind::recipe; break;
    case 2: kind = ErrorKind::usage; break;
    case 3: break;
    case 130: kind = ErrorKind::interrupted; break;
    default: throw std::logic_error("unknown kind");
  }
  Error error(kind, value["message"].string());
  if (const std::string& file = value["file"].string(); !file.empty()) {
    error.at(file, static_cast<int>(value["line"].integer()));
  }
  error.in(value["path"].string());
  error.hint(value["hint"].string());
  error.traceback(value["traceback"].string());
  return error;
} catch (const std::logic_error& error) {
  throw run_error(std::string("the control channel carried an error that cannot be read: ") + error.what());
}

// Whatever fails in these, for want of memory or of a supervisor: the exit code says the rest.
void send_error(Channel& channel, const Error& error) noexcept {
  try {
    channel.send(Value::Map{{"type", "error"}, {"error", error_value(error)}});
  } catch (...) {
  }
}

void send_silent(Channel& channel, const Error& error) noexcept {
  try {
    channel.send(Value::Map{{"type", "silent"}, {"error", error_value(error)}});
  } catch (...) {
  }
}

void send_text(Channel& channel, const std::string& text) noexcept {
  try {
    constexpr std::size_t most = std::size_t{1} << 20;  // a message has room for 16 MiB, escapes included
    std::size_t at = 0;
    while (text.size() - at > most) {
      std::size_t end = at + most;
      while ((static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;  // between characters
      channel.send(Value::Map{{"type", "text"}, {"text", text.substr(at, end - at)}});
      at = end;
    }
    channel.send(Value::Map{{"type", "result"}, {"text", text.substr(at)}});
  } catch (...) {
  }
}

void send_object(Channel& channel, const Value& object) noexcept {
  try {
    channel.send(Value::Map{{"type", "result"}, {"object", object}});
  } catch (...) {
  }
}

}  // namespace trainlab

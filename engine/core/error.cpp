#include "core/error.h"

#include <utility>

#include "core/printable.h"

namespace trainlab {

namespace {

// Bytes of each text of an error: errors quote recipes, files and command lines, which may hold anything.
constexpr std::size_t longest_text = 10'000;

// The text as an error holds it: the character 0 would end the text of what().
std::string text_of(std::string_view given) {
  std::string text = shortened(given, longest_text);
  for (std::size_t at = text.find('\0'); at != std::string::npos; at = text.find('\0', at)) text.replace(at, 1, "\\0");
  return text;
}

}  // namespace

Error::Error(ErrorKind kind, std::string message) : kind_(kind), message_(text_of(message)) { compose(); }
Error::~Error() = default;
Error::Error(const Error& other) = default;
Error::Error(Error&& other) noexcept = default;
Error& Error::operator=(const Error& other) = default;
Error& Error::operator=(Error&& other) noexcept = default;

Error& Error::at(std::string file, int line) {
  if (file_.empty()) {
    file_ = std::move(file);
    line_ = line;
    compose();
  }
  return *this;
}

Error& Error::in(const std::string& outer) {
  if (!outer.empty()) {
    const bool joined = path_.empty() || path_[0] == '[';
    const std::string shown = printable_line(outer);  // a path has names from recipes, which may hold line breaks
    path_ = text_of(joined ? shown + path_ : shown + "." + path_);
    compose();
  }
  return *this;
}

Error& Error::hint(std::string text) {
  hint_ = text_of(text);
  compose();
  return *this;
}

Error& Error::traceback(std::string text) {
  if (traceback_.empty()) {
    traceback_ = text_of(text);
    compose();
  }
  return *this;
}

Error& Error::lacking_memory() {
  lacks_memory_ = true;
  return *this;
}

std::string Error::headline() const {
  std::string text;
  if (!file_.empty()) text += file_ + ":" + std::to_string(line_) + ": ";
  if (!path_.empty()) text += path_ + ": ";
  return text + message_;
}

void Error::compose() {
  text_ = headline();
  if (!hint_.empty()) text_ += "\n  hint: " + hint_;
  if (!traceback_.empty()) text_ += "\n" + traceback_;
}

Error recipe_error(std::string message) { return {ErrorKind::recipe, std::move(message)}; }
Error usage_error(std::string message) { return {ErrorKind::usage, std::move(message)}; }
Error run_error(std::string message) { return {ErrorKind::run, std::move(message)}; }

}  // namespace trainlab

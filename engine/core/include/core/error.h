// One exception type for everything that a user can cause or see: a wrong recipe, wrong usage, a run that failed.
//
// An error says what was expected and what was found, where (source line, option or layer path), and gives a hint
// when there is one. The kind decides the exit code of the program. Errors cross into Lua in one place
// (bindings/lua_state.h) and to the terminal in one place (tools/trainlab).
#pragma once

#include <exception>
#include <string>

namespace trainlab {

// Who can mend it; the values are the exit codes of the program.
enum class ErrorKind {
  recipe = 1,        // the recipe or its data is wrong
  usage = 2,         // flags, devices, run folders
  run = 3,           // the run failed: non-finite loss, full disk, a crashed engine
  interrupted = 130  // the user or the system asked to stop (SIGTERM is told apart by the supervisor)
};

class Error : public std::exception {
 public:
  Error(ErrorKind kind, std::string message) : kind_(kind), message_(std::move(message)) { compose(); }

  // Position in a recipe ("digits.lua", 12). The first position given wins: it is the innermost.
  Error& at(std::string file, int line) {
    if (file_.empty()) {
      file_ = std::move(file);
      line_ = line;
      compose();
    }
    return *this;
  }
  // Option or layer path, for example `optim.lr` or `model[3].Linear`. Outer callers prepend their part.
  Error& in(const std::string& outer) {
    if (!outer.empty()) {
      const bool joined = path_.empty() || path_[0] == '[';
      path_ = joined ? outer + path_ : outer + "." + path_;
      compose();
    }
    return *this;
  }
  // A next step for the reader, printed on a line of its own.
  Error& hint(std::string text) {
    hint_ = std::move(text);
    compose();
    return *this;
  }
  // Lua traceback, printed last.
  Error& traceback(std::string text) {
    if (traceback_.empty()) {
      traceback_ = std::move(text);
      compose();
    }
    return *this;
  }

  ErrorKind kind() const { return kind_; }
  const std::string& message() const { return message_; }
  const std::string& file() const { return file_; }
  int line() const { return line_; }
  const std::string& path() const { return path_; }
  const std::string& hint() const { return hint_; }
  const std::string& traceback() const { return traceback_; }

  // `FILE:LINE: path: message`.
  std::string headline() const {
    std::string text;
    if (!file_.empty()) text += file_ + ":" + std::to_string(line_) + ": ";
    if (!path_.empty()) text += path_ + ": ";
    return text + message_;
  }
  // The headline, then the hint and the traceback on lines of their own.
  const char* what() const noexcept override { return text_.c_str(); }

 private:
  void compose() {
    text_ = headline();
    if (!hint_.empty()) text_ += "\n  hint: " + hint_;
    if (!traceback_.empty()) text_ += "\n" + traceback_;
  }

  ErrorKind kind_;
  std::string message_, file_, path_, hint_, traceback_, text_;
  int line_ = 0;
};

inline Error recipe_error(std::string message) { return {ErrorKind::recipe, std::move(message)}; }
inline Error usage_error(std::string message) { return {ErrorKind::usage, std::move(message)}; }
inline Error run_error(std::string message) { return {ErrorKind::run, std::move(message)}; }

}  // namespace trainlab

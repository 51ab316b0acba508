// One exception type for everything that a user can cause or see: a wrong recipe, wrong usage, a run that failed.
//
// An error says what was expected and what was found, where (source line, option or layer path), and gives a hint
// when there is one. The kind decides the exit code of the program. Errors cross into Lua in one place
// (bindings/lua_state.h) and to the terminal in one place (tools/trainlab).
#pragma once

#include <exception>
#include <string>

namespace trainlab {

// Tells who can mend the error; the values are the exit codes of the program.
enum class ErrorKind {
  recipe = 1,        // the recipe or its data is wrong
  usage = 2,         // flags, devices, run folders
  run = 3,           // the run failed: non-finite loss, full disk, a crashed engine
  interrupted = 130  // the user or the system asked to stop (SIGTERM is told apart by the supervisor)
};

// Everything is defined in error.cpp: an error is made in hundreds of places and thrown in few, and code for it would
// otherwise be compiled anew in every place.
class Error : public std::exception {
 public:
  Error(ErrorKind kind, std::string message);
  ~Error() override;
  Error(const Error& other);
  Error(Error&& other) noexcept;
  Error& operator=(const Error& other);
  Error& operator=(Error&& other) noexcept;

  // Position in a recipe ("digits.lua", 12). The first position given wins: it is the innermost.
  Error& at(std::string file, int line);
  // Option or layer path, for example `optim.lr` or `model[3].Linear`. Outer callers prepend their part.
  Error& in(const std::string& outer);
  // A next step for the reader, printed on a line of its own.
  Error& hint(std::string text);
  // Lua traceback, printed last.
  Error& traceback(std::string text);
  // Says that memory is lacking: with more of it, or with less to hold, the same work would have gone on.
  Error& lacking_memory();

  ErrorKind kind() const { return kind_; }
  const std::string& message() const { return message_; }
  const std::string& file() const { return file_; }
  int line() const { return line_; }
  const std::string& path() const { return path_; }
  const std::string& hint() const { return hint_; }
  const std::string& traceback() const { return traceback_; }
  bool lacks_memory() const { return lacks_memory_; }

  // `FILE:LINE: path: message`.
  std::string headline() const;
  // The headline, then the hint and the traceback on lines of their own.
  const char* what() const noexcept override { return text_.c_str(); }

 private:
  void compose();

  ErrorKind kind_;
  std::string message_, file_, path_, hint_, traceback_, text_;
  int line_ = 0;
  bool lacks_memory_ = false;
};

Error recipe_error(std::string message);
Error usage_error(std::string message);
Error run_error(std::string message);

}  // namespace trainlab

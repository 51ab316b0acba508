// The control channel between the supervisor (`trainlab`) and its engine: newline-delimited JSON objects over a socket
// pair, each with a member "type". Both ends are here.
//
// engine → supervisor
//   open    {recipe}     a stage of this recipe is about to begin: where does the run live? Asked once for each recipe
//                        that the engine executes. Answered by
//                          opened  {folder, existed}    the folder, locked by the supervisor; existed: with a manifest
//                          refused {error}              in use, finished, unwritable
//   error   {error}      why the engine is going to end; error = {kind, message, file, line, path, hint, traceback}
//   silent  {error}      the recipe shows no sign of life: the engine ends at once, and nobody has recorded why
//   text    {text}       the next part of a text for standard output that is too long for one message
//   result  {folder | text | object | kind}
//                        it ended well, or its stage says how: folder holds summary.json; text is for standard output
//                        (check, parameters, predict), and object too, as JSON (profile); kind = "none": no stage ran
//   workers {count}      `count` engines should work on the run, this one included
// supervisor → engine, before all else, if the engine was started without a request
//   request {request}    what it is to do; an engine whose channel closes first was not needed, and ends
// An unknown type is an error.
#pragma once

#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "core/error.h"
#include "core/value.h"
#include "run/request.h"

namespace trainlab {

// The descriptor that an engine finds its end under.
constexpr int control_fd = 3;

// One end. Owns the descriptor. send() may be called by any thread, the other functions by one thread at a time.
class Channel {
 public:
  explicit Channel(int fd);
  ~Channel();
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  // A connected pair, closed on exec.
  static std::pair<std::unique_ptr<Channel>, std::unique_ptr<Channel>> pair();

  int fd() const { return fd_; }

  // Waits until all is written. Raises Error{run} when the other end is gone.
  void send(const Value& message);

  // The next message; nullopt when the other end has closed. Raises Error{run} for what is not a message: no JSON
  // object with a type, longer than 16 MiB, cut off in the middle.
  std::optional<Value> receive();

  // The same in two halves for a loop over several descriptors: take in what has arrived, without waiting (false: the
  // other end has closed), then take out whole messages until there is none.
  bool fill();
  std::optional<Value> next();

 private:
  enum class Read { some, none, closed };
  Read read(bool wait);

  int fd_;
  std::mutex sending_;
  std::string buffer_;
  std::size_t searched_ = 0;  // no newline before this position of buffer_
};

Value error_value(const Error& error);
Error error_from(const Value& value);

// The engine's last words. Never raise: when the supervisor is gone there is nobody to tell.
void send_error(Channel& channel, const Error& error) noexcept;
void send_silent(Channel& channel, const Error& error) noexcept;
void send_text(Channel& channel, const std::string& text) noexcept;  // what check, parameters and predict print
void send_object(Channel& channel, const Value& object) noexcept;    // what --json prints of a command without a run

// How an engine begins, before anything else runs: it dies with its supervisor (and ends at once where that is dead
// already or there never was one), takes SIGTERM as "checkpoint and stop" (see stage.h), ignores SIGINT, SIGHUP,
// SIGPIPE and SIGTTOU, and keeps the channel from its own children. argv[1] is the request as JSON, or empty: then the
// request comes through the channel, and this waits for it. Raises Error{usage} when it was not started by `trainlab`.
struct EngineStart {
  Request request;
  std::shared_ptr<Channel> channel;  // one for all recipes that an engine executes
};
EngineStart engine_starts(int argc, const char* const* argv);

}  // namespace trainlab

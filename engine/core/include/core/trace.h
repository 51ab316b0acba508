// Spans: what a training step, a validation and a checkpoint are doing, told to whoever listens.
//
// Code that does a phase of the work holds a Span while the phase lasts. A span costs one predictable branch where
// nobody listens, which is the default. A listener hears the spans of its own thread, nested and balanced: also when an
// error leaves a phase, its end is told.
#pragma once

#include <string_view>

#include "core/phase.h"

namespace trainlab {

class TraceListener {
 public:
  virtual ~TraceListener() = default;
  // `name` is empty where a phase has none, and valid during the call only. An error that began() raises goes to the
  // code that opens the span, whose end is then not told.
  virtual void began(Phase phase, std::string_view name) = 0;
  virtual void ended(Phase phase, std::string_view name) noexcept = 0;
};

namespace trace {
extern thread_local constinit TraceListener* listener;  // of this thread; null where nobody listens
}

// Lets a listener hear the spans that this thread opens while the object lives. Objects nest: the inner one hears
// alone.
class Listening {
 public:
  explicit Listening(TraceListener& listener) : outer_(trace::listener) { trace::listener = &listener; }
  ~Listening() { trace::listener = outer_; }
  Listening(const Listening&) = delete;
  Listening& operator=(const Listening&) = delete;

 private:
  TraceListener* outer_;
};

// A phase that lasts as long as the object lives. `name` must outlive the span.
class Span {
 public:
  explicit Span(Phase phase, std::string_view name = {}) : listener_(trace::listener), phase_(phase), name_(name) {
    if (listener_) [[unlikely]]
      listener_->began(phase_, name_);
  }
  ~Span() {
    if (listener_) [[unlikely]]
      listener_->ended(phase_, name_);
  }
  Span(const Span&) = delete;
  Span& operator=(const Span&) = delete;

 private:
  TraceListener* listener_;
  Phase phase_;
  std::string_view name_;
};

}  // namespace trainlab

// Spans: heard in order, nested and balanced, by the listener of the thread alone.
#include <catch2/catch.hpp>

#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "core/trace.h"

namespace trainlab::trace_test {

namespace {

class Notes final : public TraceListener {
 public:
  void began(Phase phase, std::string_view name) override { add("+", phase, name); }
  void ended(Phase phase, std::string_view name) noexcept override { add("-", phase, name); }
  std::vector<std::string> lines;

 private:
  void add(const char* sign, Phase phase, std::string_view name) {
    lines.push_back(sign + std::string(phase_name(phase)) + (name.empty() ? "" : " " + std::string(name)));
  }
};

void step() {
  const Span whole(Phase::step);
  { const Span forward(Phase::forward); }
  const Span layer(Phase::layer, "model[1].Linear");
}

}  // namespace

TEST_CASE("spans are heard nested and in order, and only while somebody listens") {
  Notes notes;
  step();
  {
    const Listening listening(notes);
    step();
  }
  step();
  CHECK(notes.lines == std::vector<std::string>{"+step", "+forward", "-forward", "+layer model[1].Linear",
                                                "-layer model[1].Linear", "-step"});
}

TEST_CASE("the end of a phase that an error leaves is told") {
  Notes notes;
  const Listening listening(notes);
  const auto fails = [] {
    const Span whole(Phase::step);
    const Span commit(Phase::commit);
    throw std::runtime_error("a disk is full");
  };
  CHECK_THROWS(fails());
  CHECK(notes.lines == std::vector<std::string>{"+step", "+commit", "-commit", "-step"});
}

TEST_CASE("a listener hears its own thread, and an inner one hears alone") {
  Notes outer, inner;
  const Listening listening(outer);
  std::thread(step).join();
  CHECK(outer.lines.empty());
  {
    const Listening nested(inner);
    step();
  }
  CHECK(outer.lines.empty());
  CHECK(inner.lines.size() == 6);
  step();
  CHECK(outer.lines.size() == 6);
}

TEST_CASE("every phase has a name") {
  CHECK(phase_name(Phase::step) == "step");
  CHECK(phase_name(Phase::callback) == "callback");
}

}  // namespace trainlab::trace_test

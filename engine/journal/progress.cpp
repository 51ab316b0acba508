// The progress reporters: a line per validation, and on a terminal a bar between these lines.
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "core/clock.h"
#include "core/printable.h"
#include "journal/reporters.h"
#include "progress_text.h"

namespace trainlab {

namespace {

using Say = std::function<void(const std::string&)>;

// A line per validation. Samples per second are over all time since the validation before, its own time included.
class LineReporter : public Observer {
 public:
  explicit LineReporter(Say say) : say_(std::move(say)) {}

  void started(const FitView& fit) override {
    if (fit.first_step == 0) before_ = {0, 0};
  }
  void validated(const ValidationView& view) override {
    double rate = 0;
    if (before_ && view.seconds > before_->seconds)
      rate = static_cast<double>(view.samples - before_->samples) / (view.seconds - before_->seconds);
    before_ = {view.samples, view.seconds};
    say_(validation_line(view, rate));
  }

 private:
  struct Mark {
    std::int64_t samples;
    double seconds;
  };
  Say say_;
  std::optional<Mark> before_;  // nothing after a resume until the first validation
};

constexpr double draw_every = 0.1;     // seconds
constexpr double smoothed_over = 3.0;  // seconds, time constant of the rates

class BarReporter final : public LineReporter {
 public:
  BarReporter(Terminal terminal, std::function<double()> mean_loss, Say say)
      : LineReporter(std::move(say)), terminal_(std::move(terminal)), mean_loss_(std::move(mean_loss)) {}
  ~BarReporter() override { erase(); }

  void started(const FitView& fit) override {
    LineReporter::started(fit);
    fit_ = fit;
    looked_ = drawn_ = {fit.first_step, 0, terminal_.seconds()};
    reach_ = 1;
    next_look_ = fit.first_step + 1;
    state_ = {};
  }

  // Decides by the step alone; the clock is read in stepped(), a few times per drawing whatever a step takes.
  bool wants_step(std::int64_t step) override { return step >= next_look_; }

  void stepped(const StepView& view) override {
    const double now = terminal_.seconds();
    if (now - drawn_.seconds >= draw_every) draw(view, now);
    const auto steps = static_cast<double>(std::max<std::int64_t>(1, view.step - looked_.step));
    const double per_step = std::max((now - looked_.seconds) / steps, 1e-9);
    // Up to the next drawing, but no further than steps of this length take a quarter of the time between two, and
    // never more than twice as far as last time: steps may become slower.
    const double due = std::max(0.0, drawn_.seconds + draw_every - now);
    reach_ = std::clamp(static_cast<std::int64_t>(draw_every / 4 / per_step), std::int64_t{1}, 2 * reach_);
    next_look_ = view.step + std::clamp(static_cast<std::int64_t>(due / per_step), std::int64_t{1}, reach_);
    looked_ = {view.step, view.samples, now};
  }

  void validated(const ValidationView& view) override {
    const std::string bar = bar_;
    erase();
    LineReporter::validated(view);
    show(bar);
  }

  void finished(const Value&) override { erase(); }

 private:
  struct Mark {
    std::int64_t step = 0, samples = 0;
    double seconds = 0;
  };

  void draw(const StepView& view, double now) {
    const double passed = now - drawn_.seconds;
    const bool first = state_.steps_per_second == 0;
    const double weight = first ? 1.0 : 1 - std::exp(-passed / smoothed_over);
    state_.steps_per_second +=
        weight * (static_cast<double>(view.step - drawn_.step) / passed - state_.steps_per_second);
    // Where the samples of a resumed fit began is only known from its first drawing on.
    if (drawn_.samples > 0 || fit_.first_step == 0) {
      const double rate = static_cast<double>(view.samples - drawn_.samples) / passed;
      state_.samples_per_second += (state_.samples_per_second == 0 ? 1.0 : weight) * (rate - state_.samples_per_second);
    }
    state_.step = view;
    state_.loss = mean_loss_();
    drawn_ = {view.step, view.samples, now};
    show(bar_line(fit_, state_, terminal_.columns()));
  }

  // In one write, over the old text, so that nothing flickers; the cursor returns to the first column, so that what
  // others print begins there.
  void show(const std::string& text) {
    if (text.empty()) return;
    bar_ = printable(text);
    terminal_.write("\r" + bar_ + "\x1b[K\r");
  }
  void erase() {
    if (bar_.empty()) return;
    terminal_.write("\r\x1b[K");
    bar_.clear();
  }

  Terminal terminal_;
  std::function<double()> mean_loss_;
  FitView fit_;
  BarState state_;
  Mark looked_, drawn_;  // when the clock was last read, when the bar was last drawn
  std::int64_t reach_ = 1, next_look_ = 0;
  std::string bar_;  // as it stands on the terminal
};

void write_standard_error(std::string_view text) {
  while (!text.empty()) {
    const auto n = ::write(STDERR_FILENO, text.data(), text.size());
    if (n <= 0) return;  // standard error is closed
    text.remove_prefix(static_cast<std::size_t>(n));
  }
}

int standard_error_columns() {
  winsize size{};
  return ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

}  // namespace

std::unique_ptr<Observer> progress_bar(Terminal terminal, std::function<double()> mean_loss, Say say) {
  return std::make_unique<BarReporter>(std::move(terminal), std::move(mean_loss), std::move(say));
}

std::unique_ptr<Observer> progress_reporter(bool terminal, std::function<double()> mean_loss, Say say) {
  if (!terminal) return std::make_unique<LineReporter>(std::move(say));
  return progress_bar({write_standard_error, standard_error_columns, steady_seconds}, std::move(mean_loss),
                      std::move(say));
}

}  // namespace trainlab

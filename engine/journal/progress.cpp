// The progress reporters: a line per validation, and between these lines a bar on a terminal, elsewhere a line now and
// then.
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

constexpr double draw_every = 0.1;     // seconds
constexpr double say_every = 30;       // seconds
constexpr double smoothed_over = 3.0;  // seconds, time constant of the rates
constexpr double forecast_every = 1;   // seconds: a forecast takes up to a millisecond

// When the clock is read: a few times in `every` seconds whatever a step takes, decided by the step alone.
class Looks {
 public:
  explicit Looks(double every) : every_(every) {}

  void start(std::int64_t step, double now) {
    last_step_ = step;
    last_seconds_ = now;
    reach_ = 1;
    next_ = step + 1;
  }
  bool wants(std::int64_t step) const { return step >= next_; }

  // After a look: the next one comes when `due` seconds have passed, but no further away than steps of this length take
  // a quarter of `every`, and never more than twice as far as last time: steps may become slower.
  void looked(std::int64_t step, double now, double due) {
    const auto steps = static_cast<double>(std::max<std::int64_t>(1, step - last_step_));
    const double per_step = std::max((now - last_seconds_) / steps, 1e-9);
    reach_ = std::clamp(static_cast<std::int64_t>(every_ / 4 / per_step), std::int64_t{1}, 2 * reach_);
    next_ = step + std::clamp(static_cast<std::int64_t>(std::max(0.0, due) / per_step), std::int64_t{1}, reach_);
    last_step_ = step;
    last_seconds_ = now;
  }

 private:
  double every_;
  double last_seconds_ = 0;
  std::int64_t last_step_ = 0, reach_ = 1, next_ = 0;
};

// A line per validation. Samples per second are over all time since the validation before, its own time included.
class ValidationReporter : public Observer {
 public:
  explicit ValidationReporter(Say say) : say_(std::move(say)) {}

  void started(const FitView& fit) override {
    if (fit.first_step == 0) before_ = {0, 0};
    forecast_at_ = fit.seconds_before;
    forecast_.clear();
  }
  void validated(const ValidationView& view) override {
    double rate = 0;
    if (before_ && view.seconds > before_->seconds)
      rate = static_cast<double>(view.samples - before_->samples) / (view.seconds - before_->seconds);
    before_ = {view.samples, view.seconds};
    say_(validation_line(view, rate, newest_forecast(view)));
  }

 protected:
  void say(const std::string& line) const { say_(line); }
  const std::string& forecast() const { return forecast_; }

 private:
  struct Mark {
    std::int64_t samples;
    double seconds;
  };
  // Empty where the one before is new enough, where there is none, and at the end of the fit.
  std::string newest_forecast(const ValidationView& view) {
    if (!view.forecast || view.seconds - forecast_at_ < forecast_every) return "";
    forecast_at_ = view.seconds;
    const std::optional<Forecast> found = view.forecast();
    forecast_ = found && found->at > view.step ? "forecast " + text_of(*found) : "";
    return forecast_;
  }

  Say say_;
  std::optional<Mark> before_;  // nothing after a resume until the first validation
  double forecast_at_ = 0;      // seconds of training
  std::string forecast_;
};

// Also a line where nothing was said for so long, so that the log of a long epoch shows that it goes on.
class LineReporter final : public ValidationReporter {
 public:
  LineReporter(std::function<double()> seconds, std::function<double()> mean_loss, Say say)
      : ValidationReporter(std::move(say)), seconds_(std::move(seconds)), mean_loss_(std::move(mean_loss)) {}

  void started(const FitView& fit) override {
    ValidationReporter::started(fit);
    fit_ = fit;
    started_ = said_ = seconds_();
    looks_.start(fit.first_step, started_);
    since_.reset();
  }

  bool wants_step(std::int64_t step) override { return looks_.wants(step); }

  void stepped(const StepView& view) override {
    const double now = seconds_();
    // Speeds are over the time since the first look after what was said last.
    if (!since_) since_ = Mark{view.step, view.samples, now};
    if (now - said_ >= say_every) {
      show(view, now);
      said_ = now;
      since_ = Mark{view.step, view.samples, now};
    }
    looks_.looked(view.step, now, said_ + say_every - now);
  }

  void validated(const ValidationView& view) override {
    ValidationReporter::validated(view);
    said_ = seconds_();
    since_.reset();
  }

 private:
  struct Mark {
    std::int64_t step, samples;
    double seconds;
  };

  void show(const StepView& view, double now) const {
    BarState state{.step = view,
                   .loss = mean_loss_ ? mean_loss_() : std::nan(""),
                   .seconds = fit_.seconds_before + now - started_};
    if (const double passed = now - since_->seconds; passed > 0) {
      state.steps_per_second = static_cast<double>(view.step - since_->step) / passed;
      state.samples_per_second = static_cast<double>(view.samples - since_->samples) / passed;
    }
    say(step_line(fit_, state));
  }

  std::function<double()> seconds_, mean_loss_;
  FitView fit_;
  Looks looks_{say_every};
  double started_ = 0, said_ = 0;
  std::optional<Mark> since_;
};

class BarReporter final : public ValidationReporter {
 public:
  BarReporter(Terminal terminal, std::function<double()> mean_loss, Say say)
      : ValidationReporter(std::move(say)), terminal_(std::move(terminal)), mean_loss_(std::move(mean_loss)) {}
  ~BarReporter() override { erase(); }

  void started(const FitView& fit) override {
    ValidationReporter::started(fit);
    fit_ = fit;
    started_ = terminal_.seconds();
    drawn_ = {fit.first_step, 0, started_};
    looks_.start(fit.first_step, started_);
    state_ = {};
  }

  bool wants_step(std::int64_t step) override { return looks_.wants(step); }

  void stepped(const StepView& view) override {
    const double now = terminal_.seconds();
    if (now - drawn_.seconds >= draw_every) draw(view, now);
    looks_.looked(view.step, now, drawn_.seconds + draw_every - now);
  }

  void validated(const ValidationView& view) override {
    const bool is_drawn = !bar_.empty();
    erase();
    ValidationReporter::validated(view);
    if (!is_drawn) return;
    // Epochs may be so fast that no step of theirs is drawn: the bar goes on with them all the same.
    state_.step = {.step = view.step,
                   .epoch = fit_.steps_per_epoch > 0 ? (view.step - 1) / fit_.steps_per_epoch : 0,
                   .samples = view.samples,
                   .rate = view.rate};
    if (const auto loss = view.metrics.find("train.loss"); loss != view.metrics.end()) state_.loss = loss->second;
    show(bar_line(fit_, state_, terminal_.columns()));
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
    state_.seconds = fit_.seconds_before + now - started_;
    state_.forecast = forecast();
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
  Looks looks_{draw_every};
  double started_ = 0;
  Mark drawn_;       // when the bar was last drawn
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

std::unique_ptr<Observer> progress_lines(std::function<double()> seconds, std::function<double()> mean_loss, Say say) {
  return std::make_unique<LineReporter>(std::move(seconds), std::move(mean_loss), std::move(say));
}

std::unique_ptr<Observer> progress_reporter(bool terminal, std::function<double()> mean_loss, Say say) {
  if (!terminal) return progress_lines(steady_seconds, std::move(mean_loss), std::move(say));
  return progress_bar({write_standard_error, standard_error_columns, steady_seconds}, std::move(mean_loss),
                      std::move(say));
}

}  // namespace trainlab

#include "progress_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "core/words.h"

namespace trainlab {

namespace {

// Order of a metric in a line, by its part and then losses first.
std::pair<int, std::string> order_of(const std::string& name) {
  const char* parts[] = {"train.", "val.", "test."};
  int rank = 0;
  while (rank < 3 && !name.starts_with(parts[rank])) ++rank;
  return {2 * rank + (name.ends_with(".loss") ? 0 : 1), name};
}

std::string of_total(std::int64_t n, std::int64_t total) {
  return total > 0 ? std::to_string(n) + "/" + std::to_string(total) : std::to_string(n);
}

// "[=====>    ]" of `width` characters.
std::string drawn_bar(double done, int width) {
  const int inner = width - 2;
  const int filled = std::clamp(static_cast<int>(done * inner), 0, inner);
  std::string text(static_cast<std::size_t>(filled), '=');
  if (filled < inner) text += '>';
  text.resize(static_cast<std::size_t>(inner), ' ');
  return "[" + text + "]";
}

// Three significant digits, also where they are zeros: "0.412", "12.0", "4321", "2.90e-05", "nan".
std::string three_digits(double x) {
  if (!std::isfinite(x)) return std::isnan(x) ? "nan" : (x > 0 ? "inf" : "-inf");
  const double size = std::abs(x);
  if (size == 0) return "0";
  if (size >= 99.95) return size < 999999.5 ? fmt::format("{:.0f}", x) : fmt::format("{:.2e}", x);
  return size >= 1e-3 ? fmt::format("{:#.3g}", x) : fmt::format("{:.2e}", x);
}

// The share of the fit that is done: of its steps, or of its budget of time if more of that is used.
std::optional<double> share_done(const FitView& fit, const BarState& state) {
  std::optional<double> share;
  if (fit.total_steps > 0) share = static_cast<double>(state.step.step) / static_cast<double>(fit.total_steps);
  if (fit.time_budget > 0) share = std::max(share.value_or(0), state.seconds / fit.time_budget);
  return share ? std::optional(std::clamp(*share, 0.0, 1.0)) : std::nullopt;
}

// Seconds until the fit ends: by its steps at this speed, or when its budget of time is used, whichever comes first.
std::optional<double> time_left(const FitView& fit, const BarState& state) {
  std::optional<double> left;
  if (fit.total_steps > 0 && state.steps_per_second > 0)
    left = static_cast<double>(fit.total_steps - state.step.step) / state.steps_per_second;
  if (fit.time_budget > 0) {
    const double of_budget = fit.time_budget - state.seconds;
    left = std::min(left.value_or(of_budget), of_budget);
  }
  return left;
}

std::int64_t epochs_of(const FitView& fit) {
  const bool known = fit.total_steps > 0 && fit.steps_per_epoch > 0;
  return known ? (fit.total_steps + fit.steps_per_epoch - 1) / fit.steps_per_epoch : 0;
}

std::string percent(double share) { return std::to_string(static_cast<int>(100 * share)) + "%"; }

}  // namespace

std::string short_count(double x) {
  const char* suffix = "";
  for (const char* next : {"k", "M", "G", "T"}) {
    if (x < 999.5) break;
    x /= 1000;
    suffix = next;
  }
  return fmt::format("{:.{}f}{}", x, x >= 99.95 || *suffix == 0 ? 0 : (x >= 9.995 ? 1 : 2), suffix);
}

std::string short_time(double seconds) {
  const auto whole = static_cast<std::int64_t>(std::max(0.0, std::ceil(seconds)));
  const std::int64_t days = whole / 86400, hours = whole / 3600 % 24, minutes = whole / 60 % 60;
  if (days > 0) return fmt::format("{} d {} h", days, hours);
  return hours > 0 ? fmt::format("{}:{:02}:{:02}", hours, minutes, whole % 60)
                   : fmt::format("{}:{:02}", minutes, whole % 60);
}

std::string validation_line(const ValidationView& view, double samples_per_second, const std::string& forecast) {
  std::vector<std::pair<std::string, double>> metrics(view.metrics.begin(), view.metrics.end());
  std::ranges::sort(metrics, {}, [](const auto& metric) { return order_of(metric.first); });
  std::string line = "epoch " + std::to_string(view.epoch) + "  step " + std::to_string(view.step);
  for (const auto& [name, value] : metrics) line += "  " + name + " " + three_digits(value);
  if (!std::isnan(view.rate)) line += fmt::format("  lr {:.1e}", view.rate);
  if (samples_per_second > 0) line += "  " + short_count(samples_per_second) + " samples/s";
  if (view.best) line += "  best";
  if (!forecast.empty()) line += "  " + forecast;
  return line;
}

std::string bar_line(const FitView& fit, const BarState& state, int columns) {
  struct Piece {
    std::string text;
    int importance;  // 0: goes last
  };
  constexpr int bar = 6, narrowest_bar = 8, widest_bar = 32;
  std::vector<Piece> pieces;
  const std::optional<double> share = share_done(fit, state);
  const double done = share.value_or(0);
  if (!fit.name.empty()) pieces.push_back({fit.name, 8});
  pieces.push_back({"epoch " + of_total(state.step.epoch + 1, epochs_of(fit)), 3});
  pieces.push_back({"step " + of_total(state.step.step, fit.total_steps), 7});
  if (share) pieces.push_back({drawn_bar(done, narrowest_bar), bar});
  if (share) pieces.push_back({percent(done), 0});
  pieces.push_back({"loss " + three_digits(state.loss), 1});
  pieces.push_back({fmt::format("lr {:.1e}", state.step.rate), 4});
  if (state.samples_per_second > 0) pieces.push_back({short_count(state.samples_per_second) + " samples/s", 5});
  if (const auto left = time_left(fit, state)) pieces.push_back({"ETA " + short_time(*left), 2});
  if (!state.forecast.empty()) pieces.push_back({state.forecast, 9});

  const auto room = static_cast<std::size_t>(std::max(0, columns - 1));
  const auto line = [&] { return joined(pieces, "  ", &Piece::text); };
  while (line().size() > room && !pieces.empty())
    pieces.erase(std::ranges::max_element(pieces, {}, &Piece::importance));
  // The bar takes the remaining width.
  const auto drawn = std::ranges::find(pieces, bar, &Piece::importance);
  if (drawn != pieces.end()) {
    const auto left = static_cast<int>(room - line().size());
    drawn->text = drawn_bar(done, std::min(narrowest_bar + left, widest_bar));
  }
  return line();
}

std::string step_line(const FitView& fit, const BarState& state) {
  // A task knows steps alone.
  std::string line = fit.steps_per_epoch > 0 ? "epoch " + of_total(state.step.epoch + 1, epochs_of(fit)) + "  " : "";
  line += "step " + of_total(state.step.step, fit.total_steps);
  if (const auto share = share_done(fit, state)) line += "  " + percent(*share);
  if (!std::isnan(state.loss)) line += "  train.loss " + three_digits(state.loss);
  if (!std::isnan(state.step.rate)) line += fmt::format("  lr {:.1e}", state.step.rate);
  if (state.samples_per_second > 0) line += "  " + short_count(state.samples_per_second) + " samples/s";
  if (const auto left = time_left(fit, state)) line += "  ETA " + short_time(*left);
  return line;
}

}  // namespace trainlab

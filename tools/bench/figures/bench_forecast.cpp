// How good the forecasts of stored learning curves are: bench_forecast FOLDER, with runs of one sweep below it, which
// have the same points and other seeds.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/files.h"
#include "core/statistics.h"
#include "families.h"
#include "forecast/forecast.h"

using namespace trainlab;

namespace {

namespace fs = std::filesystem;

constexpr const char* metric = "val.loss";

struct Curve {
  int trial = 0;  // the same recipe in each run
  std::vector<double> steps, values, rates;

  // The curve until a share of its validations is done.
  std::size_t cut(double share) const { return static_cast<std::size_t>(share * static_cast<double>(steps.size())); }
  LearningCurve until(std::size_t end) const {
    LearningCurve seen(true);
    for (std::size_t i = 0; i < end; ++i) seen.add(steps[i], values[i]);
    return seen;
  }
  // Whether the rate falls after the validation before `end`, as a fit asks its schedule.
  bool rate_falls(std::size_t end) const { return rates.back() < 0.9 * rates[end - 1]; }
  std::int64_t length() const { return static_cast<std::int64_t>(steps.back()); }
  double best() const { return *std::ranges::min_element(values); }
};

std::vector<Curve> stored_curves(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const auto& one : fs::recursive_directory_iterator(folder)) {
    if (one.path().filename() == "metrics.jsonl") files.push_back(one.path());
  }
  std::ranges::sort(files);
  std::vector<Curve> curves;
  for (const fs::path& file : files) {
    Curve curve;
    curve.trial = std::stoi(file.parent_path().parent_path().filename().string());  // trials/0007/seed-1
    std::istringstream lines(read_file(file));
    for (std::string line; std::getline(lines, line);) {
      const Value row = parse_json(line, file.string());
      if (!row[metric].is_number()) continue;
      curve.steps.push_back(row["step"].number());
      curve.values.push_back(row[metric].number());
      curve.rates.push_back(row["lr"].number());
    }
    if (curve.steps.size() >= 20) curves.push_back(std::move(curve));
  }
  return curves;
}

double power_law(const Curve& curve, std::size_t cut, bool keeps_best) {
  std::vector<FittedPoint> points;
  double best = curve.values.front();
  for (std::size_t i = 0; i < cut; ++i) {
    best = std::min(best, curve.values[i]);
    points.push_back({.x = curve.steps[i] / curve.steps[cut - 1], .y = keeps_best ? best : curve.values[i]});
  }
  const FamilyFit fit = fit_power_law(points, curve.steps.back() / curve.steps[cut - 1], {.low = 0, .high = best});
  const double found = fit.level + fit.change;
  return keeps_best ? std::min(found, best) : found;
}

double quantile(std::vector<double> numbers, double share) {
  if (numbers.empty()) return std::nan("");
  std::ranges::sort(numbers);
  return lower_quantile(numbers, share);
}

struct Errors {
  std::vector<double> forecast, last, power;  // relative
  std::vector<double> factor;                 // error over the interval's half-width
  int held = 0;

  void add(const Curve& curve, double share, bool keeps_best, std::span<const FinishedCurve> finished = {}) {
    const std::size_t cut = curve.cut(share);
    if (cut < fewest_validations) return;
    const LearningCurve seen = curve.until(cut);
    const auto found = forecast_of(
        seen, metric, {.at = curve.length(), .keeps_best = keeps_best, .rate_falls = curve.rate_falls(cut)}, finished);
    const double reached = keeps_best ? curve.best() : curve.values.back();
    const CurvePoint& now = seen.points().back();
    forecast.push_back(std::abs(found->value / reached - 1));
    last.push_back(std::abs((keeps_best ? now.best : now.value) / reached - 1));
    power.push_back(std::abs(power_law(curve, cut, keeps_best) / reached - 1));
    const double half = reached < found->value ? found->value - found->low : found->high - found->value;
    factor.push_back(std::abs(found->value - reached) / std::max(half, 1e-12));
    held += found->low <= reached && reached <= found->high;
  }
};

void print(const std::vector<Curve>& curves, bool keeps_best) {
  std::printf("\n%s\n%-22s %5s %7s %10s %10s %10s %10s %10s\n",
              keeps_best ? "the best value until the end (keep = \"best\")" : "the last value (keep = \"last\")",
              "rate", "seen", "curves", "forecast", "last", "power law", "held", "factor");
  for (const int kind : {0, 1, 2}) {
    for (const double share : {0.125, 0.25, 0.5, 0.75, 0.9}) {
      Errors errors;
      for (const Curve& one : curves) {
        const bool rate_falls = one.rate_falls(one.cut(share));
        if ((kind == 0 && rate_falls) || (kind == 1 && !rate_falls)) continue;
        errors.add(one, share, keeps_best);
      }
      if (errors.forecast.empty()) continue;
      const auto count = errors.forecast.size();
      std::printf("%-22s %4.0f%% %7zu %10.4f %10.4f %10.4f %9.0f%% %10.2f\n",
                  kind == 0   ? "constant"
                  : kind == 1 ? "falls"
                              : "all",
                  100 * share, count, quantile(errors.forecast, 0.5), quantile(errors.last, 0.5),
                  quantile(errors.power, 0.5), 100.0 * errors.held / static_cast<double>(count),
                  quantile(errors.factor, 0.8));
    }
  }
}

// Each curve of every second trial by curves of the same trial in other runs; the factor is that of the other trials.
void print_finished(const std::vector<Curve>& curves, bool keeps_best) {
  std::map<int, std::vector<const Curve*>> by_trial;
  for (const Curve& one : curves) by_trial[one.trial].push_back(&one);
  std::printf("\n%s, from finished runs\n%-22s %5s %7s %10s %10s %10s\n",
              keeps_best ? "the best value until the end" : "the last value", "finished", "seen", "curves", "forecast",
              "held", "factor");
  for (const std::size_t count : {0, 1, 3, 9}) {  // 0: from the curve alone
    for (const double share : {0.25, 0.5, 0.75}) {
      Errors reported, chosen_on;
      for (const auto& [trial, all] : by_trial) {
        if (all.size() <= std::max<std::size_t>(count, 1)) continue;
        for (std::size_t i = 0; i < all.size(); ++i) {
          std::vector<FinishedCurve> finished;
          for (std::size_t k = 1; k <= count; ++k) {
            const Curve& other = *all[(i + k) % all.size()];
            finished.push_back({.curve = other.until(other.steps.size()), .length = other.steps.back()});
          }
          (trial % 2 ? reported : chosen_on).add(*all[i], share, keeps_best, finished);
        }
      }
      if (reported.forecast.empty()) continue;
      const auto size = reported.forecast.size();
      std::printf("%-22zu %4.0f%% %7zu %10.4f %9.0f%% %10.2f\n", count, 100 * share, size,
                  quantile(reported.forecast, 0.5), 100.0 * reported.held / static_cast<double>(size),
                  quantile(chosen_on.factor, 0.8));
    }
  }
}

// How often stop.forecast would have stopped a training whose end was better by more than `worth`, and how much the
// best value would have lost.
void print_stops(const std::vector<Curve>& curves) {
  std::printf("\nstop.forecast\n%-22s %7s %8s %8s %10s %10s %8s\n", "worth", "curves", "stopped", "falsely",
              "mean lost", "most lost", "saved");
  for (const double worth : {0.002, 0.005, 0.02}) {
    std::size_t stopped = 0, falsely = 0;
    double sum = 0, most = 0, saved = 0;
    for (const Curve& one : curves) {
      LearningCurve seen(true);
      for (std::size_t i = 0; i + 1 < one.steps.size(); ++i) {
        seen.add(one.steps[i], one.values[i]);
        if (one.rate_falls(i + 1)) continue;
        const std::optional<double> gain = most_gain(seen, one.length());
        if (!gain || !(*gain < worth)) continue;
        const double lost = seen.points().back().best - one.best();
        ++stopped;
        falsely += lost > worth;
        sum += lost;
        most = std::max(most, lost);
        saved += 1 - one.steps[i] / one.steps.back();
        break;
      }
    }
    const auto size = static_cast<double>(std::max<std::size_t>(stopped, 1));
    std::printf("%-22g %7zu %8zu %8zu %10.4f %10.4f %7.0f%%\n", worth, curves.size(), stopped, falsely, sum / size,
                most, 100 * saved / size);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "bench_forecast FOLDER\n");
    return 2;
  }
  try {
    const std::vector<Curve> curves = stored_curves(argv[1]);
    std::printf(
        "%zu curves of %s with 20 validations or more; medians of relative errors; held: values inside the\n"
        "interval; factor: by which the half-width would hold 80 %%\n",
        curves.size(), metric);
    for (const bool keeps_best : {true, false}) {
      print(curves, keeps_best);
      print_finished(curves, keeps_best);
    }
    print_stops(curves);
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.headline().c_str());
    return 1;
  }
  return 0;
}

// How good the forecasts of stored learning curves are: bench_forecast FOLDER, with runs of one sweep below it, which
// have the same points and other seeds.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <map>
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
  std::vector<double> steps, values;
  bool rate_falls = false;

  // The curve until a share of its validations is done.
  std::size_t cut(double share) const { return static_cast<std::size_t>(share * static_cast<double>(steps.size())); }
  LearningCurve until(std::size_t end) const {
    LearningCurve seen(true);
    for (std::size_t i = 0; i < end; ++i) seen.add(steps[i], values[i]);
    return seen;
  }
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
    double first_rate = 0, last_rate = 0;
    for (std::string line; std::getline(lines, line);) {
      const Value row = parse_json(line, file.string());
      if (!row[metric].is_number()) continue;
      curve.steps.push_back(row["step"].number());
      curve.values.push_back(row[metric].number());
      last_rate = row["lr"].number();
      first_rate = std::max(first_rate, last_rate);
    }
    curve.rate_falls = last_rate < 0.9 * first_rate;
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

  void add(const Curve& curve, double share, bool keeps_best, std::span<const LearningCurve> finished = {}) {
    const std::size_t cut = curve.cut(share);
    const LearningCurve seen = curve.until(cut);
    const auto found = forecast_of(
        seen, metric,
        {.at = static_cast<std::int64_t>(curve.steps.back()), .keeps_best = keeps_best, .rate_falls = curve.rate_falls},
        finished);
    const double reached = keeps_best ? *std::ranges::min_element(curve.values) : curve.values.back();
    const CurvePoint& now = seen.points().back();
    forecast.push_back(std::abs(found->value / reached - 1));
    last.push_back(std::abs((keeps_best ? now.best : now.value) / reached - 1));
    power.push_back(std::abs(power_law(curve, cut, keeps_best) / reached - 1));
    factor.push_back(2 * std::abs(found->value - reached) / std::max(found->high - found->low, 1e-12));
    held += found->low <= reached && reached <= found->high;
  }
};

void print(const std::vector<Curve>& curves, bool keeps_best) {
  std::printf("\n%s\n%-22s %5s %7s %10s %10s %10s %10s %10s\n",
              keeps_best ? "the best value until the end (keep = \"best\")" : "the last value (keep = \"last\")",
              "rate", "seen", "curves", "forecast", "last", "power law", "held", "factor");
  for (const int kind : {0, 1, 2}) {
    for (const double share : {0.25, 0.5, 0.75}) {
      Errors reported, chosen_on;
      for (std::size_t i = 0; i < curves.size(); ++i) {
        if (kind == 0 && curves[i].rate_falls) continue;
        if (kind == 1 && !curves[i].rate_falls) continue;
        (curves[i].trial % 2 ? reported : chosen_on).add(curves[i], share, keeps_best);
      }
      if (reported.forecast.empty()) continue;
      const auto count = reported.forecast.size();
      std::printf("%-22s %4.0f%% %7zu %10.4f %10.4f %10.4f %9.0f%% %10.2f\n",
                  kind == 0   ? "constant"
                  : kind == 1 ? "falls"
                              : "all",
                  100 * share, count, quantile(reported.forecast, 0.5), quantile(reported.last, 0.5),
                  quantile(reported.power, 0.5), 100.0 * reported.held / static_cast<double>(count),
                  quantile(chosen_on.factor, 0.8));
    }
  }
}

// Each curve by curves of the same trial in other runs.
void print_finished(const std::vector<Curve>& curves, bool keeps_best) {
  std::map<int, std::vector<const Curve*>> by_trial;
  for (const Curve& one : curves) by_trial[one.trial].push_back(&one);
  std::printf("\n%s, from finished runs\n%-22s %5s %7s %10s %10s %10s\n",
              keeps_best ? "the best value until the end" : "the last value", "finished", "seen", "curves", "forecast",
              "held", "factor");
  for (const std::size_t count : {1, 3, 9}) {
    for (const double share : {0.25, 0.5, 0.75}) {
      Errors reported, chosen_on;
      for (const auto& [trial, all] : by_trial) {
        if (all.size() <= count) continue;
        for (std::size_t i = 0; i < all.size(); ++i) {
          std::vector<LearningCurve> finished;
          for (std::size_t k = 1; k <= count; ++k) {
            const Curve& other = *all[(i + k) % all.size()];
            finished.push_back(other.until(other.steps.size()));
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

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "bench_forecast FOLDER\n");
    return 2;
  }
  try {
    const std::vector<Curve> curves = stored_curves(argv[1]);
    std::printf(
        "%zu curves of %s with 20 validations or more; medians of relative errors on every second trial;\n"
        "held: values inside the interval; factor: by which the half-width would hold 80 %% of the others\n",
        curves.size(), metric);
    for (const bool keeps_best : {true, false}) {
      print(curves, keeps_best);
      print_finished(curves, keeps_best);
    }
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.headline().c_str());
    return 1;
  }
  return 0;
}

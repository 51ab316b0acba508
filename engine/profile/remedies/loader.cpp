#include "profile/loader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "run/run.h"
#include "steps/in_turns.h"
#include "tensor/types.h"
#include "variant.h"

namespace trainlab {

namespace {

constexpr std::int64_t loader_rounds = 4;  // rounds of A B B A, which give eight ratios
constexpr double least_wait = 0.02;        // a step that waits a smaller share of its time has nothing to gain

LoaderSize size_of(const FitPlan& plan) { return {plan.loader.threads, plan.loader.prefetch}; }

class LoaderSearch {
 public:
  LoaderSearch(const Options& stage, const RunSettings& settings, const std::function<void(const std::string&)>& say)
      : say_(say), fit_(variant_of(stage, settings, nullptr)) {}

  FoundLoader search() {
    const Profile first = profile_of_variant(fit_, {.seconds = 1, .precision = 0, .counted = 0}, say_);
    limits_ = {.seconds = short_run_seconds(first.steps.mean), .precision = 0, .counted = 0};
    FoundLoader found{.now = size_of(fit_.plan), .input = shares_of(first).input};
    const double own = samples_per_second(fit_, first);
    found.tried.push_back({.size = found.now, .speed = {own, own, own}, .ratio = {1, 1, 1}});
    if (found.input < least_wait) return found;
    const std::int64_t cores = usable_cores();
    for (std::int64_t threads = 1; threads <= 2 * cores; threads *= 2) try_one(found, {threads, found.now.prefetch});
    const LoaderSize best = found.tried[fewest_of_the_fastest(found.tried)].size;
    for (const std::int64_t prefetch : {best.prefetch / 4, 4 * best.prefetch})
      if (prefetch >= 1 && prefetch <= 1024 && best.threads > 0) try_one(found, {best.threads, prefetch});
    found.tried.front().speed = median_interval(own_speeds_);
    found.suggestion = fewest_of_the_fastest(found.tried);
    return found;
  }

 private:
  void try_one(FoundLoader& found, LoaderSize size) {
    if (size == found.now) return;
    if (say_) say_(fmt::format("loader.threads = {}, loader.prefetch = {}", size.threads, size.prefetch));
    std::vector<double> speeds, ratios;
    in_turns(
        loader_rounds, [&] { return speed(found.now); }, [&] { return speed(size); },
        [&](double own, double changed) {
          own_speeds_.push_back(own);
          speeds.push_back(changed);
          ratios.push_back(changed / own);
        });
    found.tried.push_back({.size = size, .speed = median_interval(speeds), .ratio = median_interval(ratios)});
  }

  double speed(LoaderSize size) {
    fit_.plan.loader.threads = static_cast<int>(size.threads);
    fit_.plan.loader.prefetch = static_cast<int>(size.prefetch);
    return samples_per_second(fit_, profile_of_variant(fit_, limits_, say_));
  }

  const std::function<void(const std::string&)>& say_;
  Variant fit_;
  StepLimits limits_;
  std::vector<double> own_speeds_;
};

Value size_value(LoaderSize size) { return Value::Map{{"threads", size.threads}, {"prefetch", size.prefetch}}; }

}  // namespace

std::size_t fewest_of_the_fastest(const std::vector<TriedLoader>& tried) {
  double fastest = 1;
  for (const TriedLoader& one : tried)
    if (one.ratio.low > 1) fastest = std::max(fastest, one.ratio.median);
  std::size_t fewest = 0;
  for (std::size_t i = 1; i < tried.size(); ++i) {
    const TriedLoader& one = tried[i];
    if (!is_gain(one.ratio) || one.ratio.median * least_gain < fastest) continue;
    const auto cost = [](LoaderSize size) { return std::pair(size.threads, size.prefetch); };
    if (fewest == 0 || cost(one.size) < cost(tried[fewest].size)) fewest = i;
  }
  return fewest;
}

FoundLoader find_loader(const Options& stage, const RunSettings& settings,
                        const std::function<void(const std::string&)>& say) {
  return with_torch_errors([&] { return LoaderSearch(stage, settings, say).search(); });
}

std::string loader_text(const FoundLoader& found) {
  const TriedLoader& best = found.tried[found.suggestion];
  std::string text =
      fmt::format("loader.threads = {}, loader.prefetch = {}{}\n\n", best.size.threads, best.size.prefetch,
                  found.suggestion != 0    ? ""
                  : found.tried.size() > 1 ? ", as it is: none is faster"
                                           : ", as it is: there is nothing to gain");
  text += fmt::format("a step waits for data for {:.0f} % of its time with the loader as it is\n", 100 * found.input);
  if (found.tried.size() == 1) return text;
  text +=
      fmt::format("\n{:>7}  {:>8}  {:>9}  {}\n", "threads", "prefetch", "samples/s", "speed to the loader as it is");
  for (const TriedLoader& one : found.tried) {
    text += fmt::format("{:>7}  {:>8}  {:>9}  ", one.size.threads, one.size.prefetch,
                        count_text(std::round(one.speed.median)));
    text += &one == found.tried.data()
                ? "1\n"
                : fmt::format("{:.2f} ({:.2f} to {:.2f})\n", one.ratio.median, one.ratio.low, one.ratio.high);
  }
  return text;
}

Value to_value(const FoundLoader& found) {
  const TriedLoader& best = found.tried[found.suggestion];
  Value::List curve;
  for (const TriedLoader& one : found.tried) {
    Value row = size_value(one.size);
    row.set("samples_per_second", one.speed.to_value());
    row.set("ratio", one.ratio.to_value());
    curve.push_back(std::move(row));
  }
  return Value::Map{{"kind", "finder"},
                    {"status", "done"},
                    {"loader", Value::Map{{"now", size_value(found.now)},
                                          {"suggestion", size_value(best.size)},
                                          {"ratio", best.ratio.to_value()},
                                          {"input", found.input}}},
                    {"curve", std::move(curve)}};
}

}  // namespace trainlab

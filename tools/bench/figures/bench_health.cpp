// The time that the watch on its health adds to a training (docs/health.md): a perceptron and a small CNN on MNIST,
// batch 64.
//
// One fit takes turns with the watch and without it, for as many steps as lie between two steps whose layers, weights
// and gradients the watch reads: each stretch with the watch has one of these, as in any training of this length.
//
//   bench_health MNIST-FOLDER    prints {"model", "steps", "step_us", "watch"} for each: medians; `watch` is a
//                                share of a step, from "low" to "high" with 95 %
#include <algorithm>
#include <cstdio>
#include <ctime>
#include <memory>

#include "core/statistics.h"
#include "health/health.h"
#include "support/fit_support.h"
#include "tensor/types.h"

using namespace trainlab;

namespace {

constexpr std::size_t least_pairs = 60;
constexpr double least_seconds = 20;  // in which pairs are made

// Seconds that the thread which trains has computed, so that other work on the machine counts little.
double computed_seconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

// Whether the watch is on in the present stretch, and the seconds of the stretches so far.
struct Turns {
  std::int64_t stretch = 0;
  // The order is on, off, off, on: a training that becomes faster while it warms up must not favour one of the two.
  bool is_on = true;
  double begun = 0;
  std::vector<double> with = {}, without = {};
};

// Called at the end of each step, before the watch.
class TakesTurns final : public LoopObserver {
 public:
  explicit TakesTurns(std::shared_ptr<Turns> turns) : turns_(std::move(turns)) {}
  void stepped(std::int64_t step) override {
    if (step % turns_->stretch != 0) return;
    const double now = computed_seconds();
    if (step > 2 * turns_->stretch) (turns_->is_on ? turns_->with : turns_->without).push_back(now - turns_->begun);
    turns_->is_on = (step / turns_->stretch + 1) / 2 % 2 == 0;
    turns_->begun = now;
  }

 private:
  std::shared_ptr<Turns> turns_;
};

class PassInTurn final : public GradientPass {
 public:
  PassInTurn(std::shared_ptr<GradientPass> pass, std::shared_ptr<Turns> turns)
      : pass_(std::move(pass)), turns_(std::move(turns)) {}
  std::string_view name() const override { return pass_->name(); }
  bool may_skip() const override { return pass_->may_skip(); }
  Verdict apply(std::span<at::Tensor> gradients, const StepFacts& facts) override {
    return turns_->is_on ? pass_->apply(gradients, facts) : Verdict{};
  }

 private:
  std::shared_ptr<GradientPass> pass_;
  std::shared_ptr<Turns> turns_;
};

class ObserverInTurn final : public LoopObserver {
 public:
  ObserverInTurn(std::shared_ptr<LoopObserver> observer, std::shared_ptr<Turns> turns)
      : observer_(std::move(observer)), turns_(std::move(turns)) {}
  void started(std::int64_t step, std::size_t members) override { observer_->started(step, members); }
  void stepped(std::int64_t step) override {
    if (turns_->is_on) observer_->stepped(step);
  }
  void finished(std::int64_t step) override { observer_->finished(step); }

 private:
  std::shared_ptr<LoopObserver> observer_;
  std::shared_ptr<Turns> turns_;
};

// The observer of the fit's rows, whose validations the bench does not reach before its end.
class RowsInTurn final : public Observer {
 public:
  RowsInTurn(std::shared_ptr<Observer> observer, std::shared_ptr<Turns> turns)
      : observer_(std::move(observer)), turns_(std::move(turns)) {}
  bool wants_step(std::int64_t step) override { return turns_->is_on && observer_->wants_step(step); }
  void stepped(const StepView& view) override { observer_->stepped(view); }

 private:
  std::shared_ptr<Observer> observer_;
  std::shared_ptr<Turns> turns_;
};

void run_in_turns(const Options& fit, const std::shared_ptr<Turns>& turns) {
  const test::TemporaryFolder folder;
  const RunSettings settings = test::cpu_settings();
  const FitPlan plan = plan_fit(fit, settings);
  turns->stretch = std::clamp<std::int64_t>(plan.length.total_steps / 20, 5, 500);  // as HealthWatch
  turns->is_on = true;
  turns->begun = computed_seconds();
  FitMember member{.options = plan.options, .context = test::quiet_context(folder.path(), settings)};
  FitCompany company{.observers = {std::make_shared<TakesTurns>(turns)}};
  health_addition().join(plan, member, company);
  for (auto& one : member.observers) one = std::make_shared<RowsInTurn>(one, turns);
  for (auto& one : company.passes) one = std::make_shared<PassInTurn>(one, turns);
  for (std::size_t i = 1; i < company.observers.size(); ++i)
    company.observers[i] = std::make_shared<ObserverInTurn>(company.observers[i], turns);
  run_fits(plan, {&member, 1}, false, company);
}

void measure(const Registry& registry, const char* model, const std::string& layers, const std::string& data,
             int steps) {
  auto spec = std::make_shared<Spec>();
  const std::string text = R"({"@": "fit", "name": "watched", "data": {"@": "data.mnist", "path": ")" + data +
                           R"("}, "model": {"@": "nn.Sequential", "layers": [)" + layers +
                           R"(]}, "loss": "cross_entropy", "optim": {"@": "optim.AdamW", "lr": 0.001}, "batch": 64,
    "steps": )" + std::to_string(steps) +
                           R"(, "validate": ")" + std::to_string(steps) + R"( steps"})";
  spec->value = registry.check(parse_json(text, "bench"), "fit");
  const auto turns = std::make_shared<Turns>();
  const double began = computed_seconds();
  while (turns->with.size() < least_pairs || computed_seconds() - began < least_seconds)
    run_in_turns(Options(registry, spec, "fit"), turns);
  std::vector<double> shares;
  const std::size_t pairs = std::min(turns->with.size(), turns->without.size());
  for (std::size_t i = 0; i < pairs; ++i) shares.push_back(turns->with[i] / turns->without[i] - 1);
  const MedianInterval watch = median_interval(shares);
  std::printf(
      "{\"model\": \"%s\", \"steps\": %d, \"step_us\": %.1f, \"watch\": %.4f, \"low\": %.4f, \"high\": %.4f, "
      "\"pairs\": %zu}\n",
      model, steps, upper_median(turns->without) / static_cast<double>(turns->stretch) * 1e6, watch.median, watch.low,
      watch.high, pairs);
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: bench_health MNIST-FOLDER\n");
    return 2;
  }
  Registry registry;
  test::register_fits(registry, {health_addition()});
  prepare_arithmetic(1);
  const std::string perceptron = R"({"@": "nn.Flatten"}, {"@": "nn.Linear", "out_features": 128}, {"@": "nn.ReLU"},
    {"@": "nn.Linear", "out_features": 10})";
  const std::string cnn = R"({"@": "nn.Conv2d", "out_channels": 8, "kernel_size": 3, "padding": 1}, {"@": "nn.ReLU"},
    {"@": "nn.MaxPool2d", "kernel_size": 2}, {"@": "nn.Conv2d", "out_channels": 16, "kernel_size": 3, "padding": 1},
    {"@": "nn.ReLU"}, {"@": "nn.MaxPool2d", "kernel_size": 2}, {"@": "nn.Flatten"},
    {"@": "nn.Linear", "out_features": 10})";
  for (const int steps : {400, 2000}) {
    measure(registry, "perceptron", perceptron, argv[1], steps);
    measure(registry, "cnn", cnn, argv[1], steps);
  }
  return 0;
}

#include "trial.h"

#include <fmt/format.h>

#include <cmath>

#include "core/clock.h"
#include "journal/artifact.h"
#include "train/group.h"
#include "train/own_step.h"
#include "train/rules.h"

namespace trainlab {
namespace {

// The run that a recipe's functions get: it checks what they ask for and does nothing of it.
class TrialHandle final : public RunHandle {
 public:
  TrialHandle(const FitPlan& plan, const Trained& trained) : plan_(plan), trained_(trained) {}

  std::int64_t step() const override { return 0; }
  std::int64_t epoch() const override { return 0; }
  std::int64_t samples() const override { return 0; }
  double metric(const std::string& name) const override {
    plan_.check_metric(name);
    return std::nan("");
  }
  std::vector<std::string> metric_names() const override { return plan_.metric_names(); }
  void stop(const std::string&) override {}
  void set_lr(double rate) override { check_rate(rate); }
  void save(const std::string& name) override { check_file_name("run:save", name); }
  void log(const std::string& name, Logged value) override {
    check_log_name(name);
    if (const auto* tensor = std::get_if<at::Tensor>(&value)) logged_tensor(*tensor, "run:log." + name);
  }
  void artifact(const std::string& name, const Artifact&) override { check_file_name("run:artifact", name); }
  const Objects& models() const override { return trained_.models(); }
  const Objects& optimizers() const override { return trained_.optimizers(); }

 private:
  const FitPlan& plan_;
  const Trained& trained_;
};

std::string metrics_text(const char* what, const MetricMap& metrics, double seconds) {
  std::string text = fmt::format("{:<20}", what);
  for (const auto& [name, value] : metrics) text += fmt::format(" {} {:.4g},", name, value);
  return text + fmt::format(" {:.3g} ms\n", 1e3 * seconds);
}

void call_start(const FitPlan& plan, const std::shared_ptr<RunHandle>& run, Key key) {
  if (!plan.options.given("on")) return;
  const Options on = plan.options.child("on");
  if (!on.given("start")) return;
  const auto start = on.function("start");
  start->rekey(key.fold("callback").fold(plan.options.string("name")).fold("start").fold(std::uint64_t{0}));
  const std::vector<Argument> arguments{std::static_pointer_cast<Object>(run)};
  start->call(arguments);
}

}  // namespace

std::string try_step(const FitPlan& plan) {
  const Key key(static_cast<std::uint64_t>(plan.seed));
  Loader loader(plan.data.train, plan.loader, {key}, false);
  std::unique_ptr<Trained> trained;
  double rate = 0, momentum = 1, weight_decay = 1;
  std::shared_ptr<TrialHandle> run;
  if (plan.step) {
    auto own = std::make_unique<OwnStep>(plan, key);
    run = std::make_shared<TrialHandle>(plan, *own);
    own->set_run(run);
    trained = std::move(own);
    call_start(plan, run, key);
  } else {
    const std::vector<Options> optimizer{plan.options.child("optim")};
    const std::vector<Options> average =
        plan.options.given("ema") ? std::vector{plan.options.child("ema")} : std::vector<Options>{};
    trained = std::make_unique<Group>(plan, std::span(&key, 1), optimizer, false, average);
    const Schedules schedules = schedules_of(plan.options, "schedule", optimizer.front(), plan.length, key);
    rate = learning_rate(optimizer.front()) * schedules.lr->factor(0);
    if (schedules.momentum) momentum = schedules.momentum->factor(0);
    if (schedules.weight_decay) weight_decay = schedules.weight_decay->factor(0);
  }
  const Batch batch = loader.next();
  const double begin = steady_seconds();
  trained->step({&batch, 1}, 0, {.rates = {&rate, 1}, .momentum = {&momentum, 1}, .weight_decay = {&weight_decay, 1}});
  std::string text = metrics_text("one training step", trained->metrics(0), steady_seconds() - begin);
  if (!plan.data.val || !plan.measures()) return text;
  const double start = steady_seconds();
  const MetricMap metrics = Evaluator(plan, *plan.data.val, "val", 0).run(trained->state()).front();
  return text + metrics_text("one validation", metrics, steady_seconds() - start);
}

}  // namespace trainlab

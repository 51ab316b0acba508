// Metrics written in the recipe: function(out, batch) → value, or a table with init, update and compute.
#include <ATen/core/grad_mode.h>

#include <limits>

#include "functions.h"
#include "objective/metrics.h"
#include "tensor/text.h"

namespace trainlab {

namespace {

// Mean by sample of the function's results for each batch. Values on a device are read when they are needed.
class MeanMetric final : public Metric {
 public:
  MeanMetric(std::shared_ptr<Callable> function, const Head& head) : call_(std::move(function), head, "metric") {}

  void update(const at::Tensor& out, const BatchView& batch) override {
    const at::NoGradGuard no_grad;
    const std::vector<Argument> results = call_(out, batch);
    if (results.empty())
      throw call_.error("expected a number or a scalar tensor, found nothing").hint("return the value");
    const at::Tensor value = call_.scalar(results[0], "a number or a scalar tensor");
    if (value.defined()) {
      const at::Tensor added = value.detach().to(at::kDouble).mul(static_cast<double>(batch.size));
      on_device_ = on_device_.defined() ? on_device_.add(added) : added;
    } else {
      sum_ += std::get<Value>(results[0]).number() * static_cast<double>(batch.size);
    }
    samples_ += batch.size;
  }
  std::vector<double> compute() const override {
    const double sum = sum_ + (on_device_.defined() ? on_device_.item<double>() : 0);
    return {samples_ > 0 ? sum / static_cast<double>(samples_) : std::numeric_limits<double>::quiet_NaN()};
  }
  void reset() override {
    sum_ = 0;
    on_device_.reset();
    samples_ = 0;
  }

 private:
  BatchFunction call_;
  double sum_ = 0;
  at::Tensor on_device_;
  std::int64_t samples_ = 0;
};

// init() → state; update(state, out, batch) → state; compute(state) → number.
class StateMetric final : public Metric {
 public:
  StateMetric(const Options& table, const Head& head)
      : init_(table.function("init")),
        update_(table.function("update"), head, "metric"),
        compute_(table.function("compute")) {}

  void update(const at::Tensor& out, const BatchView& batch) override {
    const at::NoGradGuard no_grad;
    if (!state_) {
      init_->rekey(batch.key.fold("init"));
      std::vector<Argument> made = init_->call({});
      state_ = made.empty() ? Argument(Value()) : std::move(made[0]);
    }
    std::vector<Argument> results = update_(out, batch, {*state_});
    const Value* value = results.empty() ? nullptr : std::get_if<Value>(&results[0]);
    if (results.empty() || (value && value->is_nil())) {
      throw update_.error("update(state, out, batch) returns the new state, found nothing");
    }
    state_ = std::move(results[0]);
    key_ = batch.key.fold("compute");
  }
  std::vector<double> compute() const override {
    if (!state_) return {std::numeric_limits<double>::quiet_NaN()};
    compute_->rekey(key_);
    const std::vector<Argument> arguments{*state_};
    const std::vector<Argument> results = compute_->call(arguments);
    const Value* value = results.empty() ? nullptr : std::get_if<Value>(&results[0]);
    if (value && value->is_number()) return {value->number()};
    if (results.empty() || value) {
      throw update_.error("compute(state) returns a number, found " +
                          (results.empty() ? "nothing" : found_text(results[0])));
    }
    const at::Tensor scalar = update_.scalar(results[0], "a number from compute(state)");
    return {scalar.to(at::kDouble).item<double>()};
  }
  void reset() override { state_.reset(); }

 private:
  std::shared_ptr<Callable> init_;
  BatchFunction update_;
  std::shared_ptr<Callable> compute_;
  std::optional<Argument> state_;
  Key key_ = Key(0);
};

}  // namespace

Option metrics_option() {
  return Option("metrics",
                "measured at each validation and on the test part. Functions that get a batch get the run as a last "
                "argument; with several models `out` is nil")
      .entry("metric")
      .function("function(out, batch) → value")
      .fields(
          {Option("name", "name of the metric, which is measured as val.NAME").string().required(),
           Option("goal", "better direction of the metric, needed if a rule or `monitor` watches the metric")
               .choice({"min", "max"}),
           Option("init", "makes the state before the first batch").function("function() → state"),
           Option("update",
                  "adds a batch to the state; without `init` and `compute`, returns a value that is averaged by sample")
               .function("function(state, out, batch) → state")
               .function("function(out, batch) → value")
               .required(),
           Option("compute", "returns the metric after the last batch").function("function(state) → number")})
      .many();
}

PlannedMetric metric_of(const Options::Element& element, std::size_t place) {
  if (element.function) {
    return {.name = "metric_" + std::to_string(place),
            .minimize = {},
            .is_number = true,
            .make = [function = element.function](const Head& head, std::int64_t) -> std::unique_ptr<Metric> {
              return std::make_unique<MeanMetric>(function, head);
            }};
  }
  const Options& options = *element.entry;
  if (!options.value()["@"].is_nil()) {
    const auto& kind = options.registry().implementation<MetricKind>(options.entry());
    return {
        .name = kind.name(options),
        .minimize = kind.minimize,
        .is_number = kind.is_number,
        .at_most_one = kind.at_most_one,
        .make = [&kind, options](const Head& head, std::int64_t members) { return kind.make(options, head, members); }};
  }
  PlannedMetric metric{.name = options.string("name"), .minimize = {}, .is_number = true, .make = {}};
  if (metric.name.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") !=
          std::string::npos ||
      metric.name.empty() || metric.name == "loss") {
    throw options.error("name", "expected letters, digits and _, and not loss, found \"" + metric.name + "\"");
  }
  if (options.given("goal")) metric.minimize = options.string("goal") == "min";
  if (options.given("init") != options.given("compute")) {
    throw options.error(options.given("init") ? "compute" : "init",
                        "init, update and compute go together, this one is missing");
  }
  metric.make = [options](const Head& head, std::int64_t) -> std::unique_ptr<Metric> {
    if (options.given("init")) return std::make_unique<StateMetric>(options, head);
    return std::make_unique<MeanMetric>(options.function("update"), head);
  };
  return metric;
}

}  // namespace trainlab

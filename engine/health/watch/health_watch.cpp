#include "health_watch.h"

#include <ATen/ops/empty_like.h>
#include <ATen/ops/stack.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "not_finite.h"
#include "objects/run_handle.h"
#include "run/budget.h"
#include "samples.h"
#include "tensor/device.h"
#include "tensor/dry_run.h"
#include "wanted_fix.h"

namespace trainlab {
namespace {

constexpr std::int64_t most_values = 1024;  // most values that are read of a parameter
// Tensors of single losses that are kept until they become one tensor: each takes a block of its own on a device.
constexpr std::size_t most_losses = 256;

// Where the step cannot be repeated.
NotFinite not_finite_at(std::int64_t step) {
  return {.step = step, .origin = "unknown", .path = "", .text = "the training loss is not finite"};
}

bool is_power_of_two(std::int64_t n) { return n > 0 && (n & (n - 1)) == 0; }

std::vector<ParameterFacts> parameter_facts(const FitPlan& plan) {
  std::vector<ParameterFacts> all;
  if (!plan.model || plan.step) return all;
  for (const ParameterInfo& one : plan.model->parameters()) {
    if (one.trains) all.push_back({.values = element_count(one.shape), .is_matrix = one.shape.size() > 1});
  }
  return all;
}

std::vector<std::string> trained_names(const FitPlan& plan) {
  std::vector<std::string> names;
  if (!plan.model || plan.step) return names;
  for (const ParameterInfo& one : plan.model->parameters()) {
    if (one.trains) names.push_back("model." + one.name);
  }
  return names;
}

// Whether the model's inputs are numbers rather than indices. An embedding's gradient is zero but for a few rows, so
// that it cannot be compared with that of another layer.
bool reads_numbers(const FitPlan& plan) {
  if (!plan.model || plan.step) return false;
  return std::ranges::none_of(plan.model->columns(), [&](const std::string& name) {
    return plan.model->signals().find(name)->second.integers;
  });
}

// Takes samples of gradients and weights at the same places.
void sample_both(std::span<at::Tensor> gradients, std::span<const at::Tensor> weights,
                 std::vector<at::Tensor>& gradient_samples, std::vector<at::Tensor>& weight_samples) {
  gradient_samples.resize(gradients.size());
  weight_samples.resize(gradients.size());
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    if (!gradients[i].defined()) continue;
    const bool is_alike = gradients[i].strides() == weights[i].strides();
    weight_samples[i] = sample_of(weights[i], most_values);
    gradient_samples[i] =
        sample_of(is_alike ? gradients[i] : at::empty_like(weights[i]).copy_(gradients[i]), most_values);
  }
}

std::int64_t sample_bytes(std::int64_t values) { return block_bytes(values * std::int64_t{sizeof(float)}); }

// The bytes of the samples of a layer's activations, and of those in it. Only a forward pass knows which axis is that
// of the units: the more of two ways counts.
std::int64_t activation_bytes(const FitPlan& plan, const Layer& layer) {
  std::int64_t sum = 0;
  if (layer.traits.nonlinearity != Nonlinearity::none && !layer.output.empty()) {
    Shape shape = layer.output;
    shape.insert(shape.begin(),
                 plan.micro_batch > 0 ? std::min(plan.micro_batch, plan.loader.batch) : plan.loader.batch);
    sum = sample_bytes(std::max(sampled_unit_values(shape, 1), sampled_unit_values(shape, std::ssize(shape) - 1)));
  }
  for (const Layer* child : layer.children()) sum += activation_bytes(plan, *child);
  return sum;
}

}  // namespace

CompanyBytes watched_bytes(const FitPlan& plan) {
  if (!watches_steps(plan) || !plan.model) return {};
  const std::int64_t activations = activation_bytes(plan, plan.model->root());
  std::int64_t weights = 0;  // of a sample of each weight; a sample of each gradient takes the same
  for (const ParameterInfo& one : plan.model->parameters())
    if (one.trains) weights += sample_bytes(sampled_values(element_count(one.shape), most_values));
  return {.in_step = 2 * activations + 2 * weights, .in_pass = 2 * weights, .between = activations + 2 * weights};
}

HealthWatch::HealthWatch(const FitPlan& plan, RunFacts facts, std::function<void(const std::string&)> say,
                         const RunSettings* fixes_with)
    : plan_(plan),
      say_(std::move(say)),
      is_synchronous_(device_at(plan.device).is_synchronous()),
      every_(plan.length.total_steps > 0 ? std::clamp<std::int64_t>(plan.length.total_steps / 20, 5, 500) : 500),
      figures_{.run = facts, .weights = trained_names(plan)},
      reading_figures_(parameter_facts(plan), reads_numbers(plan)),
      layers_(figures_, plan.model && !plan.step ? plan.model->root().path : "", plan.head.classes) {
  if (fixes_with) fixes_with_ = *fixes_with;
}

Resumable HealthWatch::part() {
  return {.name = "health",
          .state =
              [this] {
                Value::List told;
                for (const HealthVerdict& verdict : told_) {
                  // A run that is killed now finds the fault again, and fixes it then.
                  if (!may_be_fixed(verdict)) told.push_back(to_stored(verdict));
                }
                Value state = Value::Map{{"figures", to_value(figures_)}, {"told", std::move(told)}};
                if (!plan_.fixes.empty()) state.set("fixes", std::ssize(plan_.fixes));
                return state;
              },
          .restore =
              [this](const Value& state, const NamedTensors&) {
                // A checkpoint of an earlier version has no figures, or in another form: the training is judged from
                // here on.
                if (!state["figures"]["measured"].is_map()) return;
                // The training before a fix says nothing about the training with the fix.
                const std::int64_t fixes = state["fixes"].is_integer() ? state["fixes"].integer() : 0;
                if (fixes != std::ssize(plan_.fixes)) return;
                restore(figures_, state["figures"]);
                restored_at_ = figures_.steps_done();
                told_.clear();
                for (const Value& stored : state["told"].list()) {
                  HealthVerdict& verdict = told_.emplace_back(verdict_of_stored(stored));
                  // An earlier version did not write what the function has heard of: what was found until a validation.
                  if (stored["heard"].is_nil() && !figures_.evaluations.empty())
                    verdict.is_heard = static_cast<double>(verdict.step) <= figures_.evaluations.back().step;
                }
              }};
}

std::vector<HealthVerdict> HealthWatch::unheard() const {
  std::vector<HealthVerdict> all;
  std::ranges::copy_if(told_, std::back_inserter(all),
                       [&](const HealthVerdict& verdict) { return !verdict.is_heard && !may_be_fixed(verdict); });
  return all;
}

void HealthWatch::hear(HealthKind kind) { std::ranges::find(told_, kind, &HealthVerdict::kind)->is_heard = true; }

bool HealthWatch::note_0(std::size_t place, bool is_0) {
  if (is_0) figures_.began_at_0.insert(place);
  return figures_.began_at_0.contains(place);
}

bool HealthWatch::is_measured(std::int64_t step) const {
  return step == 0 || is_power_of_two(step) || step % every_ == 0;
}

void HealthWatch::add_to(Value& summary) {
  fetch();
  // A fit that only a budget bounds has reached its length then.
  const Value& reason = summary["reason"];
  if (plan_.length.total_steps == 0 && reason.is_string() && is_of_budget(reason.string()))
    figures_.run.total_steps = figures_.steps_done();
  look();
  unfixed_.clear();  // the fit has ended
  summary.set("health", to_value(told_));
  if (figures_.run.floor) summary.set("floor", to_value(*figures_.run.floor));
  if (!std::isnan(figures_.run.prior_loss)) summary.set("constant_loss", figures_.run.prior_loss);
  if (plan_.fixes.empty()) return;
  Value::List fixes;
  for (const Fix& fix : plan_.fixes) fixes.push_back(to_value(fix));
  summary.set("fixes", std::move(fixes));
}

void HealthWatch::stepped(const StepView& view) {
  latest_rate_ = view.rate;
  figures_.run.total_steps = view.total_steps;
  if (paired_ && paired_->step == view.step - 1) paired_->rate = view.rate;
}

void HealthWatch::validated(const ValidationView& view) {
  const auto metric = [&](const char* name) {
    const auto found = view.metrics.find(name);
    return found == view.metrics.end() ? unmeasured : found->second;
  };
  fetch();
  if (view.total_steps > 0) figures_.run.total_steps = view.total_steps;
  figures_.add(MeasuredEvaluation{
      .step = static_cast<double>(view.step), .train_loss = metric("train.loss"), .val_loss = metric("val.loss")});
  figures_.may_rate_fall = view.may_rate_fall && view.may_rate_fall();
  look();
}

void HealthWatch::started(std::int64_t step, std::size_t) {
  begin(step);
  stepped(step);
}

void HealthWatch::begin(std::int64_t step) {
  if (figures_.losses.steps() == 0) figures_.first_step = step;
}

void HealthWatch::between_steps(bool may_go_back) {
  const std::vector<HealthVerdict> unfixed = std::exchange(unfixed_, {});
  if (!may_go_back) return;  // they are told, and stay as they are
  for (const HealthVerdict& verdict : unfixed) {
    if (std::optional<Fix> fix = wanted_fix(verdict, plan_, *fixes_with_)) throw FixWanted{*std::move(fix)};
  }
}

void HealthWatch::stepped(std::int64_t step) {
  if (figures_.not_finite || !is_measured(step)) return;
  open_ = std::make_unique<Reading>(Reading{.step = step});
  layers_.start(*open_);
}

void HealthWatch::validated(std::int64_t) {
  if (losses_.empty() && stacked_.empty()) return;  // a member that failed got no losses
  fetch();
  look();
}

void HealthWatch::finished(std::int64_t) { layers_.stop(); }

bool HealthWatch::is_enormous(double loss) const {
  const double first = figures_.losses.first(), usual = std::isnan(first) ? figures_.run.prior_loss : first;
  return std::isfinite(loss) && loss > 1e6 * usual;
}

void HealthWatch::take_loss(const StepFacts& facts) {
  if (!is_synchronous_) {
    if (losses_.empty() && stacked_.empty()) first_loss_ = facts.step;
    // The loss of a step that is left out does not count.
    losses_.push_back(may_lose_steps_
                          ? facts.loss.detach().masked_fill(facts.found_inf.front().squeeze(0).gt(0), std::nan(""))
                          : facts.loss.detach());
    if (losses_.size() == most_losses) stack_losses();
    return;
  }
  const double loss = host_number(facts.loss);
  if (!has_jumped_ && is_enormous(loss)) {
    has_jumped_ = true;
    if ((figures_.outliers = find_outliers(facts))) look();
  }
  add_loss(facts.step, loss, std::isfinite(loss) ? std::nullopt : std::optional(find_origin(facts, figures_.weights)));
}

void HealthWatch::add_loss(std::int64_t step, double loss, std::optional<NotFinite> origin) {
  if (figures_.not_finite) return;
  if (std::isfinite(loss)) {
    figures_.losses.add(loss);
  } else {
    figures_.not_finite = origin ? *std::move(origin) : not_finite_at(step);
  }
  if (figures_.not_finite || (step >= 16 && is_power_of_two(step))) look();
}

Verdict HealthWatch::apply(std::span<at::Tensor> gradients, const StepFacts& facts) {
  if (facts.is_again || figures_.not_finite) return {};
  layers_.stop();
  may_lose_steps_ = !facts.found_inf.empty();
  if (paired_) {
    sample_both(gradients, facts.weights, paired_->next_gradients, paired_->next_weights);
    if (may_lose_steps_) paired_->found_inf.push_back(facts.found_inf.front());
    complete_.push_back(std::move(*paired_));
    paired_.reset();
    if (is_synchronous_) fetch();
  }
  if (open_) {
    sample_both(gradients, facts.weights, open_->gradients, open_->weights);
    if (may_lose_steps_) open_->found_inf.push_back(facts.found_inf.front());
    paired_ = std::move(open_);
  }
  take_loss(facts);
  return {};
}

void HealthWatch::fetch() {
  for (; !complete_.empty(); complete_.pop_front())
    if (!complete_.front().is_lost()) reading_figures_.add(complete_.front(), figures_);
  if (!losses_.empty()) stack_losses();
  std::int64_t step = first_loss_;
  for (const at::Tensor& stack : std::exchange(stacked_, {})) {
    const at::Tensor losses = stack.to(at::kDouble).cpu();
    for (std::int64_t i = 0; i < losses.numel() && !figures_.not_finite; ++i, ++step) {
      const double loss = losses.const_data_ptr<double>()[i];
      if (may_lose_steps_ && std::isnan(loss)) continue;
      figures_.losses.add(loss);
      if (!std::isfinite(loss)) {
        figures_.not_finite = not_finite_at(step);
      }
    }
  }
}

void HealthWatch::stack_losses() {
  stacked_.push_back(at::stack(losses_));
  losses_.clear();
}

void HealthWatch::look() {
  if (const auto run = std::dynamic_pointer_cast<RunHandle>(run_.lock())) {
    const std::optional<RunHandle::SetRate> set = run->set_rate();
    figures_.set_rate = set ? set->rate : unmeasured;
    figures_.set_at = set ? set->place : "";
  }
  for (const std::string& line : take_back(told_, figures_)) tell(line);
  for (const HealthVerdict& verdict : add_verdicts(told_, judge(figures_))) {
    tell(text_of(verdict));
    if (fixes_with_ && verdict.cure) unfixed_.push_back(verdict);
  }
}

bool HealthWatch::may_be_fixed(const HealthVerdict& verdict) const {
  return std::ranges::find(unfixed_, verdict.kind, &HealthVerdict::kind) != unfixed_.end();
}

void HealthWatch::tell(const std::string& line) const {
  if (say_) say_(line);
}

}  // namespace trainlab

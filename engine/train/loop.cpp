#include "loop.h"

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "core/clock.h"
#include "core/trace.h"
#include "core/value.h"
#include "journal/disk_threads.h"
#include "memory/room.h"
#include "rows.h"
#include "step/reader_pass.h"
#include "tensor/device.h"
#include "tensor/file_memory.h"
#include "train/fix.h"

namespace trainlab {
namespace {

// All states are there from the second step on, the last batch of an epoch may be smaller than others, and some of the
// first steps are watched more closely than others: the largest of these steps is a step with all that steps hold.
constexpr std::int64_t recorded_steps = 4;
}  // namespace

FitLoop::FitLoop(const FitPlan& plan, std::span<const FitMember> members, bool axis, const FitCompany& company)
    : plan_(plan),
      is_group_(axis),
      company_(company),
      readers_(std::make_shared<ReaderPass>()),
      fits_(members.begin(), members.end()),
      places_(members.size()),
      summaries_(members.size()),
      memory_(plan, row_count(members, axis)),
      pace_(plan, members.front().evaluated_at_end),
      most_steps_(plan.steps_within(members.front().context.most_flops)),
      own_speed_(members.front().shows_progress ? members.front().context.say : nullptr,
                 words_while_training(members.front().context)) {
  std::iota(places_.begin(), places_.end(), std::size_t{0});
  check_room(plan_, row_count(fits_, is_group_));
  if (plan.rule_numbers > 0) company_.passes.push_back(readers_);
  make_rows();
  for (std::size_t m = 0; m < fits_.size(); ++m)
    members_.push_back(std::make_unique<Member>(plan, fits_[m], *trained_, m));
  listen_to_gradients();
  for (const auto& member : members_) member->set_speed([this] { return speed().to_value(); });
  if (!is_group_) {
    trained_->set_run(members_.front()->handle());
    if (validation_) validation_->set_run(members_.front()->handle());
  }
  position_.steps_per_epoch = plan.length.steps_per_epoch;
  position_.batch = plan.length.batch;
  position_.samples_per_epoch = loader_->samples_per_epoch();
  if (members.front().context.resumed) resume();
  recorded_until_ = position_.step + recorded_steps;
}

FitLoop::~FitLoop() { speed_.end(steady_seconds(), device_at(plan_.device).memory().peak); }

void FitLoop::make_rows() {
  const std::size_t rows = row_count(fits_, is_group_);
  axis_ = is_group_ ? static_cast<std::int64_t>(rows) : 0;
  trained_ = make_trained(plan_, fits_, is_group_, company_, places_);
  loader_ =
      std::make_unique<Loader>(plan_.data.train, plan_.training_loader(), row_keys(fits_, plan_, is_group_), is_group_);
  memory_.fed_by(*loader_);
  rates_.assign(rows, 0);
  momentum_.assign(rows, 1);
  weight_decay_.assign(rows, 1);
  active_.assign(rows, 0);
  if (plan_.data.val && plan_.measures())
    validation_ = std::make_unique<Evaluator>(plan_, *plan_.data.val, "val", axis_, validations_of(plan_));
}

void FitLoop::listen_to_gradients() {
  std::vector<std::vector<GradientReader*>> rows;
  for (const auto& member : members_) rows.push_back(member->gradient_readers());
  readers_->read_for(std::move(rows));
}

void FitLoop::compact() {
  std::vector<std::size_t> ended, places;
  std::vector<FitMember> fits;
  for (std::size_t m = 0; m < members_.size(); ++m) {
    if (members_[m]->has_settled()) {
      ended.push_back(m);
    } else {
      fits.push_back(fits_[m]);
      places.push_back(places_[m]);
    }
  }
  if (fits.empty() || 2 * row_count(fits, true) > rates_.size()) return;
  // For a moment the new rows lie beside the old ones. Where they do not fit, the training goes on as it is.
  if (!has_room(plan_, row_count(fits, true))) return;
  commit(ended);
  end(ended, false);

  const std::unique_ptr<Trained> before = std::move(trained_);
  fits_ = std::move(fits);
  places_ = std::move(places);
  make_rows();
  if (const std::int64_t samples = before->micro_batch().samples; samples > 0) trained_->shrink_micro_batch(samples);
  std::vector<std::unique_ptr<Member>> members;
  for (std::size_t m = 0; m < members_.size(); ++m) {
    if (std::ranges::binary_search(ended, m)) continue;
    const std::size_t row = members.size();
    trained_->restore(row, before->tensors(m));
    trained_->restore_progress(row, before->progress(m));
    members_[m]->move_to(*trained_, row);
    members.push_back(std::move(members_[m]));
  }
  members_ = std::move(members);
  listen_to_gradients();
  loader_->seek(position_.epoch(), position_.in_epoch());
}

void FitLoop::resume() {
  std::vector<std::int64_t> steps;
  for (const auto& member : members_) steps.push_back(member->resume());
  position_.step = steps.front();
  if (std::any_of(steps.begin(), steps.end(), [&](std::int64_t step) { return step != steps.front(); })) {
    throw run_error("the members of this group were interrupted at different steps");
  }
  committed_step_ = position_.step;
}

// In a group what a function of the recipe raises for one member ends that one. Alone it is the error of the stage.
template <class F>
void FitLoop::of_one(Member& member, F&& work) {
  try {
    work();
  } catch (const Error& error) {
    if (!is_group_ || error.kind() != ErrorKind::recipe) throw;
    member.fail(error.headline());
  }
}

bool FitLoop::any_active() const {
  return std::any_of(members_.begin(), members_.end(), [](const auto& member) { return member->active(); });
}

bool FitLoop::is_validated() const {
  return std::all_of(members_.begin(), members_.end(), [](const auto& member) {
    return member->failure() || member->position().step == 0 || member->validated_step() == member->position().step;
  });
}

// Does `work` within the memory that the training may take. `explain` adds advice to an error.
template <class Work, class Explain>
auto FitLoop::within_limit(Work&& work, Explain&& explain) {
  try {
    const MemoryBudget budget = memory_.budget();
    return work();
  } catch (TensorMemoryLimit& error) {
    explain(error);
    throw;
  }
}

void FitLoop::train_step() {
  const Span span(Phase::step);
  const double begin = steady_seconds();
  const std::int64_t samples = position_.samples();
  // The micro-batches of a step are of one epoch; its last step may have fewer.
  const std::int64_t first = position_.step % position_.steps_per_epoch * plan_.accumulate;
  for (std::int64_t k = std::min(plan_.accumulate, loader_->batches_per_epoch() - first); k > 0; --k)
    batches_.push_back(next_batch(plan_, *loader_));
  const double fetched = steady_seconds();
  for (std::size_t m = 0; m < members_.size(); ++m) {
    Member::StepValues values;
    if (members_[m]->active()) of_one(*members_[m], [&] { values = members_[m]->values(position_.step); });
    active_[m] = members_[m]->active() ? 1 : 0;
    rates_[m] = values.rate;
    momentum_[m] = values.momentum;
    weight_decay_[m] = values.weight_decay;
  }
  StepInputs inputs{.rates = rates_, .momentum = momentum_, .weight_decay = weight_decay_};
  if (axis_ > 0) inputs.active = active_;
  const std::int64_t at_a_time = trained_->micro_batch().samples;
  is_in_step_ = true;
  try {
    within_limit([&] { trained_->step(batches_, position_.step, inputs); },
                 [&](TensorMemoryLimit& error) { memory_.explain_step(error, rates_.size()); });
  } catch (...) {
    batches_.clear();
    throw;
  }
  is_in_step_ = false;
  batches_.clear();
  position_.step += 1;
  if (trained_->micro_batch().samples != at_a_time) tell_micro_batch();
  if (const std::optional<double> rate = trained_->rate()) rates_.front() = *rate;
  // A device that is not synchronous would have to be waited for: a validation reads its losses.
  const bool can_read = device_at(plan_.device).is_synchronous();
  for (std::size_t m = 0; m < members_.size(); ++m) {
    if (!members_[m]->active() || (can_read && !check_step(m))) continue;
    of_one(*members_[m], [&] { members_[m]->stepped(position_, rates_[m]); });
  }
  for (const auto& observer : company_.observers) observer->stepped(position_.step);
  speed_.stepped(begin, fetched, steady_seconds(), position_.samples() - samples, loader_->take_transform_seconds());
}

void FitLoop::tell_micro_batch() {
  const StageContext& context = fits_.front().context;
  const MicroBatch& now = trained_->micro_batch();
  const std::string line = "from step " + std::to_string(position_.step) + " on a batch goes through the model " +
                           std::to_string(now.samples) + " samples at a time, with the gradients of the whole batch" +
                           (plan_.model->buffers().empty() ? "" : " and statistics of its parts") + ": " + now.because;
  context.say_inexact ? context.say_inexact(line) : context.say(line);
  memory_.record_anew();
  recorded_until_ = position_.step + recorded_steps;
  commits_now_ = true;
}

bool FitLoop::has_failed(std::size_t m) {
  const std::optional<std::string> failure = trained_->failure(m);
  if (failure) members_[m]->fail(*failure + ", at step " + std::to_string(position_.step));
  return failure.has_value();
}

bool FitLoop::check_step(std::size_t m) {
  if (trained_->finite(m)) return !has_failed(m);
  members_[m]->fail("the training loss is not finite at step " + std::to_string(position_.step) +
                    (plan_.step ? "" : " (learning rate " + figure_text(rates_[m], 4) + ")"));
  return false;
}

std::vector<MetricMap> FitLoop::measure(Evaluator& evaluator) {
  trained_->begin_evaluation();
  return within_limit(
      [&] {
        if (plan_.model) return evaluator.run(trained_->state());
        return evaluator.run([](std::span<const at::Tensor>) { return at::Tensor(); });
      },
      [&](TensorMemoryLimit& error) { memory_.explain_evaluation(error); });
}

void FitLoop::validate(bool ends_epoch) {
  const double begin = steady_seconds();
  std::vector<MetricMap> metrics(rates_.size());
  const bool is_measured = breaks_off_in_validation();
  if (validation_ && !is_measured) metrics = measure_validation();
  for (std::size_t m = 0; m < members_.size(); ++m) {
    Member& member = *members_[m];
    if (member.failure()) continue;
    if (is_measured) {
      member.conclude_validation(position_, ends_epoch);
      continue;
    }
    // One that has stopped is validated a last time, where it stopped, and no more.
    if (!member.active() && member.validated_step() == member.position().step) continue;
    if (!trained_->finite(m)) {
      member.fail("the training loss is not finite at step " + std::to_string(position_.step) + " or before");
      continue;
    }
    if (has_failed(m)) continue;
    if (validation_ && !validation_->counts(m)) {
      member.fail("nothing in the validation part counts at step " + std::to_string(position_.step) +
                  ": each target is ignored or has the weight 0");
      continue;
    }
    of_one(member, [&] {
      const Position at = member.active() ? position_ : Position(member.position());
      member.validated(at, std::move(metrics[m]), validation_ ? validation_->reports(m) : Value(),
                       ends_epoch && at.step == position_.step);
    });
  }
  trained_->reset_metrics();
  const double took = steady_seconds() - begin;
  if (validation_ && !is_measured) pace_.validated(took);
  speed_.evaluated(begin, begin + took);
  for (const auto& observer : company_.observers) observer->validated(position_.step);
}

void FitLoop::commit(std::span<const std::size_t> members) {
  std::optional<Span> span;
  if (members_.front()->is_kept()) span.emplace(Phase::commit);
  std::vector<std::pair<Member*, Checkpoint>> gathered;
  for (const std::size_t m : members) {
    of_one(*members_[m], [&] {
      if (std::optional<Checkpoint> next = members_[m]->gather(position_))
        gathered.emplace_back(members_[m].get(), std::move(*next));
    });
  }
  if (gathered.empty()) return;
  const auto write = [&](std::int64_t i) {
    const auto& [member, checkpoint] = gathered[static_cast<std::size_t>(i)];
    member->write(checkpoint);
  };
  // Checkpoints of a group wait for the disk together. Tensors of a device are fetched in the order of this thread.
  if (plan_.device.is_cpu()) {
    side_by_side(std::ssize(gathered), write);
  } else {
    for (std::int64_t i = 0; i < std::ssize(gathered); ++i) write(i);
  }
  committed_step_ = position_.step;
  span.reset();
  for (const auto& observer : company_.observers) observer->committed(position_.step);
}

void FitLoop::commit_all() {
  const double begin = steady_seconds();
  std::vector<std::size_t> members;
  for (std::size_t m = 0; m < members_.size(); ++m) {
    // Alone, a failed member keeps its last good checkpoint; in a group its mark lets the others be resumed.
    if (!members_[m]->failure() || members_.size() > 1) members.push_back(m);
  }
  commit(members);
  last_commit_ = steady_seconds();
  const double took = last_commit_ - begin;
  pace_.committed(took);
  speed_.committed(begin, last_commit_);
}

bool FitLoop::is_checkpoint_due(bool after_validation) const {
  return plan_.checkpoint.is_due(position_.step, steady_seconds() - last_commit_, after_validation);
}

void FitLoop::end_step() {
  const bool last = plan_.length.total_steps > 0 && position_.step >= plan_.length.total_steps;
  const bool validates = position_.step % plan_.validate_every == 0 || last;
  const bool ends_epoch = position_.step % position_.steps_per_epoch == 0;
  if ((validates && !is_validated()) || breaks_off_in_validation()) {
    validate(ends_epoch);
    for (const auto& member : members_) {
      if (!last && member->active()) member->all_validated();
    }
  }
  if (ends_epoch) {
    for (const auto& member : members_) {
      if (member->failure() || member->position().step != position_.step) continue;
      of_one(*member, [&] { member->epoch_ended(position_); });
    }
  }
  for (const auto& member : members_) member->went_on();
  pace_.stepped(position_.step);
  estimate_total();
  if (any_active() && !last && (std::exchange(commits_now_, false) || is_checkpoint_due(validates))) commit_all();
  if (is_group_ && validates && !last) compact();
}

std::vector<Value> FitLoop::run() {
  loader_->seek(position_.epoch(), position_.in_epoch());
  last_commit_ = steady_seconds();
  pace_.begin(position_.step);
  given_seconds_ = seconds_left();
  if (plan_.device.is_cpu()) reset_tensor_peak();
  reset_peak_in_files();
  speed_.begin(last_commit_, *(company_.speed ? company_.speed : &own_speed_));
  for (const auto& member : members_) of_one(*member, [&] { member->start(position_); });
  for (const auto& observer : company_.observers) observer->started(position_.step, members_.size());
  if (is_group_) return train();
  try {
    const MemoryBudget budget = memory_.budget();
    return train();
  } catch (FixWanted& wanted) {
    wanted.fix.seconds = members_.front()->seconds();
    wanted.fix.flops = plan_.flops_until(position_.step);
    throw;
  } catch (const LateError&) {
    throw;
  } catch (const Error& error) {
    if (const std::optional<SavedError> kept = saved(error)) throw SavedError(*kept);
    throw;
  }
}

void FitLoop::tell_between_steps(bool may_go_back) {
  for (const auto& observer : company_.observers) observer->between_steps(may_go_back);
}

std::vector<Value> FitLoop::train() {
  go_on_from_callback();
  for (;;) {
    const bool has_ended = finished();
    if (!has_ended && stop_requested()) {
      commit_all();
      return end_all(true);
    }
    tell_between_steps(may_go_back(has_ended));
    if (has_ended) break;
    position_.step < recorded_until_ ? memory_.record([this] { train_step(); }) : train_step();
    end_step();
  }
  // After a stop between validations: what is reported belongs to the weights at this step.
  if (!is_validated()) {
    validate(false);
    tell_between_steps(false);
  }
  commit_all();
  return end_all(false);
}

void FitLoop::end(std::span<const std::size_t> members, bool interrupted) {
  std::vector<MetricMap> test(rates_.size());
  std::vector<Value> reports(rates_.size());
  const bool is_tested = std::ranges::any_of(members, [this](std::size_t m) { return !members_[m]->failure(); });
  if (!interrupted && plan_.data.test && plan_.measures() && is_tested) {
    for (const std::size_t m : members) members_[m]->restore_kept();
    if (members.size() == members_.size()) validation_.reset();  // gives back the buffers of its loader
    memory_.evaluates(plan_.data.test, 1);
    Evaluator evaluator(plan_, *plan_.data.test, "test", axis_);
    if (!is_group_) evaluator.set_run(members_.front()->handle());
    const double begin = steady_seconds();
    test = measure(evaluator);
    speed_.evaluated(begin, steady_seconds());
    for (const std::size_t m : members) {
      reports[m] = evaluator.reports(m);
      if (!members_[m]->failure()) members_[m]->tell_not_finite(test[m]);
    }
  }
  const Value speed = this->speed().to_value(words_at_end(fits_.front().context)),
              memory = memory_.summary(trained_->micro_batch().samples);
  const auto summary_of = [&](std::size_t m) {
    Value summary = members_[m]->summary(test[m], reports[m], interrupted);
    summary.set("speed", speed);
    summary.set("memory", memory);
    return summary;
  };
  for (const std::size_t m : members) {
    Value summary = summary_of(m);
    try {
      of_one(*members_[m], [&] { members_[m]->finished(summary); });
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::recipe) throw;
      if (!members_[m]->failure()) throw LateError(error, std::move(summary));
      members_[m]->fail(error.headline());
    }
    if (members_[m]->failure()) summary = summary_of(m);
    summaries_[places_[m]] = std::move(summary);
  }
}

SpeedFigures FitLoop::speed() const { return speed_.figures(steady_seconds(), device_at(plan_.device).memory().peak); }

std::vector<Value> FitLoop::end_all(bool interrupted) {
  is_ending_ = true;
  std::vector<std::size_t> all(members_.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  end(all, interrupted);
  for (const auto& observer : company_.observers) observer->finished(position_.step);
  return std::move(summaries_);
}

std::vector<Value> run_fits(const FitPlan& plan, std::span<const FitMember> members, bool axis,
                            const FitCompany& company) {
  return FitLoop(plan, members, axis, company).run();
}

}  // namespace trainlab

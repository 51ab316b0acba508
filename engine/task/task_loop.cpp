#include <ATen/ops/empty_like.h>

#include <algorithm>
#include <cmath>

#include "core/clock.h"
#include "core/trace.h"
#include "task/task.h"
#include "tensor/device.h"
#include "tensor/named_tensors.h"

namespace trainlab {

namespace {

std::string name_of(std::size_t place) { return std::to_string(place + 1) + "."; }

}  // namespace

TaskLoop::TaskLoop(TaskContext& task, TaskLoopOptions options, std::size_t number, Key key)
    : task_(task.weak_from_this()),
      options_(std::move(options)),
      number_(number),
      key_(key),
      is_rehearsal_(task.is_rehearsal_) {
  if (options_.part) {
    options_.loader.device = task.device_;
    loader_ = std::make_unique<Loader>(*options_.part, options_.loader, std::vector<Key>{key_.fold("data")}, false);
    batches_per_epoch_ = loader_->batches_per_epoch();
    samples_per_epoch_ = loader_->samples_per_epoch();
  }
  if (options_.checkpoint && options_.checkpoint->unit == Unit::seconds) {
    checkpoint_.seconds = options_.checkpoint->amount;
  } else if (options_.checkpoint) {
    const auto steps = in_steps(*options_.checkpoint, batches_per_epoch_, options_.loader.batch, total());
    if (!steps || *steps < 1) {
      throw recipe_error("expected the time between checkpoints in steps, epochs or seconds, found \"" +
                         to_text(*options_.checkpoint) + "\"");
    }
    checkpoint_.steps = *steps;
  }
}

std::int64_t TaskLoop::total() const {
  constexpr std::int64_t of_rehearsal = 2;
  const std::int64_t all = options_.part ? options_.epochs * batches_per_epoch_ : options_.steps;
  return is_rehearsal_ ? std::min(all, of_rehearsal) : all;
}

std::int64_t TaskLoop::samples() const {
  if (!options_.part) return 0;
  const std::int64_t whole = done_ / batches_per_epoch_, rest = done_ % batches_per_epoch_;
  return whole * samples_per_epoch_ + std::min(rest * options_.loader.batch, samples_per_epoch_);
}

std::shared_ptr<TaskContext> TaskLoop::task() const {
  const std::shared_ptr<TaskContext> task = task_.lock();
  if (!task)
    throw recipe_error("this task has ended").hint("ctx and its loops can be used only inside the task's function");
  return task;
}

bool TaskLoop::trains(const TaskContext& task) const { return number_ > 0 || !task.loop_; }

Batch TaskLoop::fetch() {
  const Span span(Phase::fetch);
  return loader_->next();
}

bool TaskLoop::next() {
  const std::shared_ptr<TaskContext> task = this->task();
  task->check_open();
  if (ended_) {
    throw recipe_error("this loop has ended, because another loop of ctx has begun since")
        .hint("for a loop inside a loop use data.val:batches { … }");
  }
  return task->between_steps([&] { return advance(*task); });
}

bool TaskLoop::failed() const {
  const std::shared_ptr<TaskContext> task = task_.lock();
  return task && task->failed();
}

bool TaskLoop::advance(TaskContext& task) {
  if (started_) {
    end_step(task);
    if (number_ > 0) task.check_state(done_ == 1);
    if (batches_per_epoch_ > 0 && done_ % batches_per_epoch_ == 0) task.show();
  }
  started_ = true;
  const bool is_whole = passed_over_ || done_ >= total();
  // The function goes on behind a loop that the budget of time cuts short, and may save what the loop has trained.
  const bool is_cut = !is_whole && number_ > 0 && task.is_out_of_time();
  if (is_cut) task.is_cut_short_ = true;
  if (is_whole || is_cut) {
    finish();
    return false;
  }
  if (stop_requested()) {
    const std::string reason = "asked to stop at step " + std::to_string(task.reached());
    task.end_early("interrupted", reason, number_ > 0);
    throw Error(ErrorKind::interrupted, reason);
  }
  if (trains(task)) task.end_if_over(number_ > 0);
  if (number_ > 0 && done_ > 0) {
    if (checkpoint_.is_due(done_, task.record_.seconds_since_commit(), true)) task.commit();
  }
  task.has_logged_ = false;
  begun_ = fetched_ = steady_seconds();
  if (loader_) {
    Batch batch = fetch();
    fetched_ = steady_seconds();
    device_at(task.device_).take(batch.columns);
    batch_ = batch_object(*options_.part->data, std::move(batch));
  }
  return true;
}

NamedTensors TaskLoop::saved() const {
  NamedTensors all;
  for (std::size_t i = 0; i < options_.save.size(); ++i) {
    if (const auto* tensor = std::get_if<at::Tensor>(&options_.save[i])) {
      all.emplace(name_of(i) + "tensor", tensor->detach());
      if (tensor->grad().defined()) all.emplace(name_of(i) + "grad", tensor->grad());
    } else {
      add_below(all, name_of(i), std::get<std::shared_ptr<Stateful>>(options_.save[i])->checkpoint());
    }
  }
  return all;
}

void TaskLoop::restore(const NamedTensors& tensors, const std::string& prefix) const {
  for (std::size_t i = 0; i < options_.save.size(); ++i) {
    const NamedTensors own = tensors_below(tensors, prefix + name_of(i));
    if (const auto* tensor = std::get_if<at::Tensor>(&options_.save[i])) {
      const auto found = own.find("tensor");
      if (found == own.end() || found->second.sizes() != tensor->sizes()) {
        throw recipe_error("the tensors that this loop saves differ from those in the checkpoint: tensor " +
                           std::to_string(i + 1) + " of shape " + shape_text(tensor->sizes()));
      }
      tensor->detach().copy_(found->second);
      tensor->mutable_grad().reset();
      const auto gradient = own.find("grad");
      if (gradient != own.end()) tensor->mutable_grad() = at::empty_like(*tensor).copy_(gradient->second);
    } else {
      std::get<std::shared_ptr<Stateful>>(options_.save[i])->restore(own);
    }
  }
}

void TaskLoop::end_step(TaskContext& task) {
  const bool is_of_training = trains(task);
  if (is_of_training) {
    task.stepped(begun_, fetched_, batch_ ? batch_->size : 0, loader_ ? loader_->take_transform_seconds() : 0);
  }
  ++done_;
  if (number_ == 0) task.uncounted_step();
  task.end_row();
  if (number_ > 0) tell_observers(task);
  if (is_of_training) task.passed();
}

void TaskLoop::tell_observers(TaskContext& task) const {
  const std::int64_t step = task.step();
  for (const auto& observer : task.record_.observers()) {
    if (!observer->wants_step(step)) continue;
    observer->stepped({.step = step,
                       .epoch = batches_per_epoch_ > 0 ? (done_ - 1) / batches_per_epoch_ : 0,
                       .samples = samples(),
                       .rate = std::nan("")});
  }
}

void TaskLoop::leave() {
  if (started_) end_step(*task());
  finish();
}

void TaskLoop::finish() {
  ended_ = true;
  batch_.reset();
  loader_.reset();
  if (number_ > 0) task()->loop_ended(*this);
}

}  // namespace trainlab

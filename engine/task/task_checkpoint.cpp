// The loops of a task in its checkpoints: what is saved of each, and how a resumed task comes to the one under way.
#include <algorithm>
#include <set>
#include <utility>

#include "core/clock.h"
#include "task/task.h"
#include "tensor/named_tensors.h"

namespace trainlab {

namespace {

// The name of the file in checkpoints/ with a loop's final state.
std::string file_of(std::size_t loop) {
  const std::string number = std::to_string(loop);
  return "loop-" + std::string(number.size() < 6 ? 6 - number.size() : 0, '0') + number;
}

NamedTensors copies(const NamedTensors& tensors) {
  NamedTensors all;
  for (const auto& [name, tensor] : tensors) all.emplace(name, tensor.detach().clone());
  return all;
}

// Whether a loop that saves this saves an optimizer without the weights that the optimizer trains.
bool leaves_weights_out(const std::vector<Saved>& saved) {
  std::set<const void*> kept;
  for (const Saved& one : saved) {
    if (const auto* tensor = std::get_if<at::Tensor>(&one)) {
      kept.insert(tensor->const_data_ptr());
    } else {
      for (const auto& [name, each] : std::get<std::shared_ptr<Stateful>>(one)->tensors())
        kept.insert(each.const_data_ptr());
    }
  }
  return std::ranges::any_of(saved, [&](const Saved& one) {
    const auto* object = std::get_if<std::shared_ptr<Stateful>>(&one);
    const auto* optimizer = object ? dynamic_cast<const OptimizerObject*>(object->get()) : nullptr;
    return optimizer && std::ranges::any_of(optimizer->parameters(), [&](const OptimizedParameter& parameter) {
             return !kept.contains(parameter.value.const_data_ptr());
           });
  });
}

}  // namespace

std::shared_ptr<TaskLoop> TaskContext::loop(TaskLoopOptions options) {
  check_open();
  if (options.save.empty()) {
    return std::shared_ptr<TaskLoop>(new TaskLoop(*this, std::move(options), 0, key_.fold("loop")));
  }
  if (leaves_weights_out(options.save))
    warn_(
        recipe_error("save: an optimizer is saved without all of the weights that it trains, so that a resume goes on "
                     "with other weights")
            .hint("save = { model, opt }")
            .what());
  between_steps([this] {
    if (loop_) loop_->leave();
    end_row();
  });
  const std::size_t number = ++loops_;
  const Key key = key_.fold(static_cast<std::uint64_t>(number));
  auto loop = std::shared_ptr<TaskLoop>(new TaskLoop(*this, std::move(options), number, key));
  loop_ = loop;
  if (from_) between_steps([&] { resume(*loop); });
  return loop;
}

void TaskContext::resume(TaskLoop& loop) {
  const Value::List& loops = from_->info["loops"].list();
  if (loop.number_ > loops.size()) throw std::logic_error("task: a loop beyond the checkpoint");
  const Value& info = loops[loop.number_ - 1];
  const bool ended = info["ended"].boolean();
  const std::string file = file_of(loop.number_);
  const NamedTensors tensors = ended ? record_.checkpoints().kept(file) : from_->tensors;
  if (ended) loop.hash_ = from_->kept.at(file);
  loop.restore(tensors, "saved.");
  NamedTensors of_state = copies(tensors_below(tensors, "state."));
  take_to_device(of_state, info["state_on_device"], device_);
  replace_state({.value = info["state"], .tensors = std::move(of_state)});
  const bool last = loop.number_ == loops.size();
  loop.done_ = info["steps"].integer();
  if (!ended && loop.loader_) {
    const std::int64_t epoch = loop.done_ / loop.batches_per_epoch_;
    loop.loader_->seek(epoch, loop.done_ % loop.batches_per_epoch_ * loop.options_.loader.batch);
  }
  loop.passed_over_ = ended;
  // Code from here on was not reached before, unless the function had ended.
  if (last && !from_->info["complete"].boolean()) from_.reset();
}

void TaskContext::loop_ended(TaskLoop& loop) {
  end_row();
  if (loop.options_.part == std::nullopt) show();
  ScriptState now = present_state();
  FinishedLoop left{.tensors = {},
                    .state = std::move(now.value),
                    .on_device = names_on_device(now.tensors),
                    .steps = loop.done_,
                    .hash = loop.hash_};
  if (left.hash.empty()) {
    add_below(left.tensors, "saved.", copies(loop.saved()));
    add_below(left.tensors, "state.", copies(now.tensors));
  }
  finished_.push_back(std::move(left));
  steps_before_ += loop.done_;
  loop_.reset();
  if (state_fault_) commit();
}

ScriptState TaskContext::present_state() {
  if (!read_state) return state;
  ScriptState now = read_state();
  if (!state_fault_) state_fault_ = now.fault;
  return now;
}

void TaskContext::check_state(bool at_first_step) {
  if (!read_state) return;
  state_fault_ = state_looks_.fault(read_state, at_first_step);
  if (state_fault_) commit();
}

void TaskContext::commit() {
  end_row();
  flush();
  if (record_.is_kept()) write_checkpoint();
  if (state_fault_) throw Error(*state_fault_);
}

void TaskContext::write_checkpoint() {
  Checkpoint checkpoint;
  checkpoint.step = step();
  Value::List loops;
  const auto add = [&](std::int64_t steps, bool ended, const Value& kept, const Value& on_device) {
    Value::Map loop{{"steps", steps}, {"ended", ended}, {"state", kept}};
    if (!on_device.is_nil()) loop.emplace("state_on_device", on_device);
    loops.push_back(std::move(loop));
  };
  for (FinishedLoop& left : finished_) {
    add(left.steps, true, left.state, left.on_device);
    const std::string file = file_of(loops.size());
    if (left.hash.empty()) left.hash = record_.checkpoints().keep(file, std::exchange(left.tensors, {}));
    checkpoint.kept.emplace(file, left.hash);
  }
  if (loop_) {
    const ScriptState now = present_state();
    add(loop_->done_, false, now.value, names_on_device(now.tensors));
    add_below(checkpoint.tensors, "saved.", loop_->saved());
    add_below(checkpoint.tensors, "state.", now.tensors);
  }
  // Each loop restores its own state when the function reaches it again (see resume).
  checkpoint.info.set("loops", std::move(loops));
  const double begin = steady_seconds();
  record_.commit(std::move(checkpoint));
  const double end = steady_seconds();
  commit_seconds_ = end - begin;
  speed_.committed(begin, end);
}

}  // namespace trainlab

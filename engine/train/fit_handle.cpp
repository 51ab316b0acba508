#include "fit_handle.h"

#include "journal/artifact.h"
#include "objects/model_object.h"

namespace trainlab {

void FitHandle::set_lr(SetRate rate) {
  if (member().plan_.step) {
    throw recipe_error("run:set_lr: a fit with `step` sets the rates of its optimizers itself")
        .hint("run.optim.lr = rate");
  }
  check_rate(rate.rate);
  member().set_rate_ = std::move(rate);
}

void FitHandle::save(const std::string& name) {
  check_file_name("run:save", name);
  member().saves_.push_back(name);
}

void FitHandle::log(const std::string& name, Logged value) {
  check_log_name(name);
  if (const auto* tensor = std::get_if<at::Tensor>(&value)) value = logged_tensor(*tensor, "run:log." + name);
  member().logged_.insert_or_assign(name, std::move(value));
}

void FitHandle::artifact(const std::string& name, const Artifact& content) {
  check_file_name("run:artifact", name);
  if (member().record_.is_kept()) write_artifact(member().context_.folder, name, content);
}

RunHandle::Objects FitHandle::optimizers() const {
  if (member().plan_.step) return member().trained_->optimizers();
  return {{"", std::make_shared<FitOptimizer>(member().handle_)}};
}

Member& FitHandle::member() const {
  if (!member_) throw recipe_error("this run has ended");
  return *member_;
}

}  // namespace trainlab

#include "fit_handle.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "train/artifact.h"

namespace trainlab {

void FitHandle::set_lr(double rate) {
  if (member().plan_.step) {
    throw recipe_error("run:set_lr: a step of its own has optimizers of its own").hint("run.optim.lr = rate");
  }
  if (!(rate >= 0) || std::isinf(rate)) throw recipe_error("run:set_lr: expected a rate ≥ 0, found " + number_text(rate));
  member().rate_override_ = rate;
}

void FitHandle::save(const std::string& name) {
  check_file_name("run:save", name);
  member().saves_.push_back(name);
}

void FitHandle::log(const std::string& name, Logged value) {
  static const std::set<std::string> own{"step", "epoch", "samples", "seconds", "lr"};
  const std::vector<std::string> measured = metric_names();
  if (own.contains(name) || std::find(measured.begin(), measured.end(), name) != measured.end()) {
    throw recipe_error("run:log: expected a name of its own, found \"" + name + "\", which the fit measures itself");
  }
  if (const auto* tensor = std::get_if<at::Tensor>(&value)) value = logged_tensor(*tensor, "run:log." + name);
  member().logged_.insert_or_assign(name, std::move(value));
}

void FitHandle::artifact(const std::string& name, const std::string& text) {
  check_file_name("run:artifact", name);
  write_artifact(member().context_.folder, name, text);
}

Member& FitHandle::member() const {
  if (!member_) throw recipe_error("this run has ended");
  return *member_;
}

}  // namespace trainlab

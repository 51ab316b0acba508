// FitHandle: the object `run` of a fit, a member as the recipe's functions see it. Private to the module.
#pragma once

#include "train/member.h"

namespace trainlab {

// The object that the recipe's functions may keep. After the member's end its methods only raise errors.
class FitHandle final : public RunHandle {
 public:
  explicit FitHandle(Member* member) : member_(member) {}
  void release() { member_ = nullptr; }

  std::int64_t step() const override { return member().position_.step; }
  std::int64_t epoch() const override { return member().position_.epoch(); }
  std::int64_t samples() const override { return member().position_.samples(); }
  double metric(const std::string& name) const override { return member().metric(name); }
  std::vector<std::string> metric_names() const override { return member().plan_.metric_names(); }
  void stop(const std::string& reason) override { member().stop(reason); }
  void set_lr(SetRate rate) override;
  std::optional<SetRate> set_rate() const override { return member().set_rate_; }
  void save(const std::string& name) override;
  void log(const std::string& name, Logged value) override;
  void artifact(const std::string& name, const Artifact& content) override;
  Objects models() const override { return member().trained_->models(member().index_); }
  Objects optimizers() const override;
  double rate() const override { return member().rate(); }
  Value speed() const override { return member().speed_ ? member().speed_() : Value(); }

 private:
  Member& member() const;

  Member* member_;
};

}  // namespace trainlab

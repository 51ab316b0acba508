#include "clip_passes.h"

#include "optim/clip.h"

namespace trainlab {
namespace {

class ClipByValue final : public GradientPass {
 public:
  explicit ClipByValue(double bound) : bound_(bound) {}
  std::string_view name() const override { return "clip by value"; }
  Verdict apply(std::span<at::Tensor> gradients, const StepFacts&) override {
    clip_by_value(gradients, bound_);
    return {};
  }
  bool takes_lost_steps() const override { return true; }

 private:
  double bound_;
};

class ClipByNorm final : public GradientPass {
 public:
  explicit ClipByNorm(double bound) : bound_(bound) {}
  std::string_view name() const override { return "clip by norm"; }
  Verdict apply(std::span<at::Tensor> gradients, const StepFacts& facts) override {
    clip_by_norm(gradients, bound_, facts.members);
    return {};
  }
  bool takes_lost_steps() const override { return true; }

 private:
  double bound_;
};

}  // namespace

std::vector<std::shared_ptr<GradientPass>> clip_passes(const Clip& clip) {
  std::vector<std::shared_ptr<GradientPass>> passes;
  if (clip.value > 0) passes.push_back(std::make_shared<ClipByValue>(clip.value));
  if (clip.norm > 0) passes.push_back(std::make_shared<ClipByNorm>(clip.norm));
  return passes;
}

}  // namespace trainlab

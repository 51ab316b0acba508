// A weighted sum of losses, and the loss that a recipe gives: an entry or a function.
#include <algorithm>

#include "objective/head.h"
#include "objective/losses.h"

namespace trainlab {

namespace {

constexpr const char* sum_name = "loss.sum";

class Sum final : public Loss {
 public:
  void add(LossPart part, std::unique_ptr<Loss> loss) {
    const std::string name = part.name;
    const auto taken = [this](const std::string& wanted) {
      return std::any_of(parts_.begin(), parts_.end(), [&](const LossPart& other) { return other.name == wanted; });
    };
    for (int n = 2; taken(part.name); ++n) part.name = name + "_" + std::to_string(n);
    parts_.push_back(std::move(part));
    losses_.push_back(std::move(loss));
  }

  LossValue operator()(const at::Tensor& out, const BatchView& batch) const override {
    LossValue sum;
    for (std::size_t i = 0; i < losses_.size(); ++i) {
      LossMean part = (*losses_[i])(out, batch);
      const at::Tensor value = part.value.mul(parts_[i].factor);
      sum.value = sum.value.defined() ? sum.value.add(value) : value;
      sum.parts.push_back(std::move(part));
    }
    return sum;
  }
  bool is_divisible() const override {
    return std::ranges::all_of(losses_, [](const auto& loss) { return loss->is_divisible(); });
  }
  std::vector<LossPart> parts() const override { return parts_; }

 private:
  std::vector<LossPart> parts_;
  std::vector<std::unique_ptr<Loss>> losses_;
};

std::unique_ptr<Loss> of_entry(const Options& options, const Head& head) {
  return options.registry().implementation<LossKind>(options.entry()).make(options, head);
}

std::unique_ptr<Loss> make_sum(const Options& options, const Head& head) {
  auto sum = std::make_unique<Sum>();
  for (const Options::Element& element : options.elements("losses")) {
    if (element.function) {
      sum->add({.name = "function", .factor = 1}, function_loss(element.function, head));
      continue;
    }
    const Options& one = *element.entry;
    if (one.entry().name == options.entry().name)
      throw one.error("", "expected losses, found another loss.sum").hint("write one loss.sum of all losses");
    const std::string& name = one.entry().name;
    sum->add({.name = name.substr(name.find('.') + 1), .factor = one.number("weight")}, of_entry(one, head));
  }
  return sum;
}

}  // namespace

std::unique_ptr<Loss> make_loss(const Options& fit, const Head& head) {
  if (fit.is_function("loss")) return function_loss(fit.function("loss"), head);
  const Options loss = fit.child("loss");
  if (loss.entry().find("weight") && loss.number("weight") != 1) {
    throw loss.error("weight", "is a factor in a loss.sum, and this loss stands alone")
        .hint("loss = lab.loss.sum { … }");
  }
  return of_entry(loss, head);
}

std::vector<Options::Element> single_losses(const Options& fit) {
  std::vector<Options::Element> losses(1);
  if (fit.is_function("loss")) {
    losses.front().function = fit.function("loss");
  } else if (const Options loss = fit.child("loss"); loss.entry().name == sum_name) {
    losses = loss.elements("losses");
  } else {
    losses.front().entry = loss;
  }
  return losses;
}

void register_loss_sum(Registry& registry) {
  registry.add(
      Entry(sum_name, "loss", "A sum of losses, each times its weight.")
          .with(Option("losses", "the losses to add")
                    .entry("loss")
                    .function("function(out, batch) → scalar[, count]")
                    .array()
                    .required())
          .example("loss.sum { \"cross_entropy\", loss.mse { target = \"z\", weight = 0.1 } }")
          .note("Each loss is also a metric, without its weight: val.loss.cross_entropy, val.loss.mse, the second of a "
                "name val.loss.mse_2, a function val.loss.function."),
      LossKind{.make = make_sum});
}

}  // namespace trainlab

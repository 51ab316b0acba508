// optim.Muon: orthogonalised momentum for matrices (Jordan et al. 2024), another optimizer for all other parameters.
#include <ATen/ops/addmm.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/mm.h>

#include <algorithm>
#include <cmath>

#include "core/pattern.h"
#include "entries.h"
#include "set_optimizer.h"

namespace trainlab {
namespace {

// Newton–Schulz iteration towards the orthogonal factor of a matrix, in bfloat16 as PyTorch's torch.optim.Muon.
at::Tensor orthogonalised(const at::Tensor& matrix, const std::vector<double>& abc, std::int64_t steps, double eps) {
  at::Tensor x = matrix.to(at::kBFloat16);
  const bool tall = matrix.size(0) > matrix.size(1);
  if (tall) x = x.t();
  x = x.div(at::linalg_vector_norm(x).clamp_min(eps));
  for (std::int64_t k = 0; k < steps; ++k) {
    const at::Tensor gram = at::mm(x, x.t());
    const at::Tensor change = at::addmm(gram, gram, gram, abc[1], abc[2]);
    x = at::addmm(x, change, x, abc[0]);
  }
  return tall ? x.t() : x;
}

struct MuonSettings {
  double momentum, eps;
  WeightDecay decay;
  bool nesterov, match_adamw;
  std::int64_t steps;
  std::vector<double> abc;

  explicit MuonSettings(const Options& options)
      : momentum(options.number("momentum")),
        eps(options.number("eps")),
        nesterov(options.boolean("nesterov")),
        match_adamw(options.string("adjust_lr_fn") == "match_rms_adamw"),
        steps(options.integer("ns_steps")),
        abc(options.numbers("ns_coefficients")) {
    decay.amount = options.number("weight_decay");
  }

  // The rate of a matrix relative to that of the optimizer.
  double scale(const at::Tensor& matrix) const {
    const double rows = static_cast<double>(matrix.size(0)), columns = static_cast<double>(matrix.size(1));
    return match_adamw ? 0.2 * std::sqrt(std::max(rows, columns)) : std::sqrt(std::max(1.0, rows / columns));
  }
};

class Matrices final : public SetOptimizer {
 public:
  Matrices(std::span<const Options> specs, std::vector<OptimizedParameter> parameters, std::int64_t members)
      : SetOptimizer(specs, std::move(parameters), members, /*has_fused=*/false) {
    for (std::int64_t row = 0; row < set_.rows(); ++row)
      for (std::size_t i = 0; i < set_.size(); ++i) settings_.emplace_back(options_.options(row, i));
    set_.add_state("momentum_buffer");
  }

 private:
  void step_slice(std::size_t i, std::int64_t row, const at::Tensor& gradient, const StepNumbers& now) override {
    const MuonSettings& s = settings_[static_cast<std::size_t>(row) * set_.size() + i];
    const std::int64_t member = set_.members() ? row : -1;
    const double momentum = s.momentum * now.momentum;
    const at::Tensor value = OptimizerSlot::slice(set_[i].parameter.value, member);
    const at::Tensor buffer = OptimizerSlot::slice(set_[i].state[0], member);
    const at::Tensor g = OptimizerSlot::slice(gradient, member);
    buffer.lerp_(g, 1 - momentum);
    const at::Tensor update = orthogonalised(s.nesterov ? g.lerp(buffer, momentum) : buffer, s.abc, s.steps, s.eps);
    value.mul_(1 - now.rate * s.decay.at(now));
    value.add_(update, -now.rate * s.scale(value));
  }

  std::vector<MuonSettings> settings_;  // [row, parameter]
};

// Sends each parameter to one of two optimizers.
class Muon final : public Optimizer {
 public:
  Muon(std::span<const Options> specs, std::vector<OptimizedParameter> parameters, std::int64_t members) {
    refuse_average(specs.front(), "rest");
    is_matrix_ = choose(specs.front(), parameters, members);
    std::vector<OptimizedParameter> matrices, others;
    for (std::size_t i = 0; i < parameters.size(); ++i)
      (is_matrix_[i] ? matrices : others).push_back(std::move(parameters[i]));
    std::vector<Options> rest;
    for (const Options& spec : specs) {
      rest.push_back(spec.child("rest"));
      if (spec.number("lr") == 0) throw spec.error("lr", "expected a rate above 0, found 0");
      rest_share_.push_back(learning_rate(rest.back()) / spec.number("lr"));
    }
    matrices_ = std::make_unique<Matrices>(specs, std::move(matrices), members);
    rest_ = make_optimizer(rest, std::move(others), members);
    if (rest_->evaluates_again())
      throw specs.front().error("rest",
                                "expected an optimizer of one evaluation a step, found " + rest.front().entry().name);
  }

  using Optimizer::step;
  void step(std::span<const at::Tensor> gradients, const StepInputs& inputs) override {
    std::vector<at::Tensor> matrices, others;
    for (std::size_t i = 0; i < gradients.size(); ++i) (is_matrix_[i] ? matrices : others).push_back(gradients[i]);
    matrices_->step(matrices, inputs);
    std::vector<double> rates(inputs.rates.begin(), inputs.rates.end());
    for (std::size_t row = 0; row < rates.size(); ++row) rates[row] *= rest_share_[row];
    StepInputs rest = inputs;
    rest.rates = rates;
    rest_->step(others, rest);
  }

  std::vector<OptimizerTensor> state() override {
    auto all = matrices_->state();
    for (auto& one : rest_->state()) all.push_back(std::move(one));
    return all;
  }

 private:
  // Matrices by pattern, or all but the first and the last.
  static std::vector<bool> choose(const Options& spec, const std::vector<OptimizedParameter>& parameters,
                                  std::int64_t members) {
    std::vector<std::size_t> matrices;
    std::string names;
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      if (parameters[i].value.dim() != (members ? 3 : 2)) continue;
      matrices.push_back(i);
      names += (names.empty() ? "" : ", ") + parameters[i].name;
    }
    std::vector<bool> chosen(parameters.size());
    if (!spec.given("params")) {
      for (std::size_t k = 1; k + 1 < matrices.size(); ++k) chosen[matrices[k]] = true;
      return chosen;
    }
    for (const Value& pattern : spec.get("params").list()) {
      bool found = false;
      for (const std::size_t i : matrices) {
        if (!matches_pattern(pattern.string(), parameters[i].name)) continue;
        chosen[i] = found = true;
      }
      if (!found)
        throw spec
            .error("params", "expected patterns that fit the name of a matrix, found \"" + pattern.string() + "\"")
            .hint(names.empty() ? "the model has no matrices" : "the matrices are " + names);
    }
    return chosen;
  }

  std::vector<bool> is_matrix_;  // by parameter
  std::unique_ptr<Optimizer> matrices_, rest_;
  std::vector<double> rest_share_;  // by row: rate of the rest over that of the matrices
};

}  // namespace

void register_muon(Registry& registry) {
  registry.add(
      Entry("optim.Muon", "optimizer",
            "Orthogonalised momentum for hidden matrices; another optimizer for all other parameters.")
          .with(rate_option(1e-3))
          .with(Option("weight_decay", "the matrices shrink by lr·weight_decay at each step")
                    .number()
                    .at_least(0)
                    .or_default(0.1))
          .with(Option("momentum", "share of the running mean of gradients that is kept")
                    .number()
                    .at_least(0)
                    .at_most(1)
                    .or_default(0.95))
          .with(Option("nesterov", "look ahead along the mean").boolean().or_default(true))
          .with(Option("ns_coefficients", "coefficients of the Newton–Schulz polynomial")
                    .number()
                    .many(3)
                    .or_default(Value::List{3.4445, -4.775, 2.0315}))
          .with(eps_option(1e-7))
          .with(Option("ns_steps", "Newton–Schulz iterations").integer().at_least(1).less_than(100).or_default(5))
          .with(Option("adjust_lr_fn",
                       "factor of the rate for an [A, B] matrix: √max(1, A/B), or 0.2·√max(A, B), which makes steps as "
                       "large as AdamW's")
                    .choice({"original", "match_rms_adamw"})
                    .or_default("original"))
          .with(
              Option("params",
                     "patterns of the names of the hidden matrices (default: all matrices but the first and the last)")
                  .string()
                  .many())
          .with(Option("rest", "optimizer of all other parameters; a schedule multiplies both rates")
                    .entry("optimizer")
                    .or_default(Value::Map{{"@", "optim.AdamW"}}))
          .example("optim.Muon { lr = 0.02, rest = optim.AdamW { lr = 3e-4 } }")
          .note("The first and the last matrix count as input and output, which the authors leave to AdamW; where that "
                "is wrong, name the hidden matrices with `params`. The iteration runs in bfloat16. The same rule and "
                "defaults as PyTorch's torch.optim.Muon."),
      optimizer_kind<Muon>({.largest = 0.3}));
}

}  // namespace trainlab

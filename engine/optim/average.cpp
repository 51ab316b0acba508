#include "optim/average.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>

#include "core/duration.h"
#include "entries.h"
#include "kernels.h"
#include "parameters.h"
#include "tensor/memory.h"

namespace trainlab {
namespace {

// The implementation of an entry of kind "average".
struct AverageKind {
  // The option with the share of the average that each update keeps; nullptr where all updates count alike.
  const char* decay = nullptr;
};

// average ← average + take·(value − average) for the slice of a row; take = 1 copies.
void move_row(const at::Tensor& average, const at::Tensor& value, std::int64_t row, std::int64_t rows, double take) {
  const std::int64_t n = value.numel() / rows, first = row * n;
  if (take != 1 && value.scalar_type() == at::kBFloat16) {
    move_row(average, value.to(average.scalar_type()), row, rows, take);
  } else if (take != 1 && value.is_cpu() && value.scalar_type() == at::kFloat) {
    move_towards(average.mutable_data_ptr<float>() + first, value.const_data_ptr<float>() + first, n, take);
  } else if (take != 1 && value.is_cpu() && value.scalar_type() == at::kDouble) {
    move_towards(average.mutable_data_ptr<double>() + first, value.const_data_ptr<double>() + first, n, take);
  } else {
    const at::Tensor to = average.view({rows, n}).select(0, row), from = value.view({rows, n}).select(0, row);
    if (take == 1 || !at::isFloatingType(value.scalar_type())) {
      to.copy_(from);
    } else {
      to.lerp_(from, take);
    }
  }
}

}  // namespace

WeightAverage::WeightAverage(std::span<const Options> specs, const RunLength& length,
                             std::vector<AveragedTensor> tensors, std::int64_t members)
    : length_(length),
      tensors_(std::move(tensors)),
      updates_(at::zeros({members ? members : 1}, at::kDouble)),
      totals_(updates_.clone()) {
  const at::NoGradGuard no_grad;
  const MemoryCharge charge(MemoryUse::averages);
  for (const AveragedTensor& tensor : tensors_) {
    // An average moves by less than bfloat16 resolves.
    const bool is_coarse = tensor.value.scalar_type() == at::kBFloat16;
    averages_.push_back(at::zeros_like(tensor.value, is_coarse ? at::kFloat : tensor.value.scalar_type()));
  }
  for (const Options& spec : specs) {
    Row row{.spec = spec};
    if (const auto& kind = spec.registry().implementation<AverageKind>(spec.entry()); kind.decay) {
      row.decay = spec.number(kind.decay);
    }
    row.evaluated = spec.boolean("evaluate");
    plan(row, static_cast<double>(length.total_steps));
    if (length.total_steps > 0 && row.start + row.every > length.total_steps) throw never_begins(row);
    rows_.push_back(std::move(row));
  }
}

void WeightAverage::plan(Row& row, double given) const {
  const auto steps = [&](const char* option) {
    const Duration duration = row.spec.duration(option);
    const std::int64_t total = given > 0 ? static_cast<std::int64_t>(given) : assumed_steps;
    const auto count = in_steps(duration, length_.steps_per_epoch, length_.batch, total);
    if (!count)
      throw row.spec.error(option, "expected a duration in steps, epochs, samples or %, found " + to_text(duration));
    return *count;
  };
  row.total = given;
  row.start = steps("start");
  row.every = std::max<std::int64_t>(steps("every"), 1);
  // A start in % fits any length: the first update is that after the last step at the latest.
  if (given > 0 && row.spec.duration("start").unit == Unit::percent) {
    row.start = std::min(row.start, static_cast<std::int64_t>(given) - 1);
    row.every = std::min(row.every, static_cast<std::int64_t>(given) - row.start);
  }
}

Error WeightAverage::never_begins(const Row& row) const {
  const auto text = [&](std::int64_t steps) {
    if (length_.steps_per_epoch < 1) return std::to_string(steps) + " steps";
    return count_text(static_cast<double>(steps) / static_cast<double>(length_.steps_per_epoch)) + " epochs";
  };
  Error error = row.spec.error("start", "expected a start that leaves time for an update within the run's " +
                                            text(length_.total_steps) + ", found a start after " + text(row.start) +
                                            " with the first update " + text(row.every) + " later");
  return error.hint("start = \"75%\" fits runs of any length");
}

void WeightAverage::set_total(std::int64_t total_steps) {
  totals_.fill_(static_cast<double>(std::max<std::int64_t>(total_steps, 1)));
}

void WeightAverage::stepped(std::int64_t step, std::span<const std::uint8_t> active) {
  const at::NoGradGuard no_grad;
  const auto rows = static_cast<std::int64_t>(rows_.size());
  double* const counts = updates_.mutable_data_ptr<double>();
  for (std::int64_t r = 0; r < rows; ++r) {
    Row& row = rows_[static_cast<std::size_t>(r)];
    // Set since, or restored.
    if (const double total = totals_.const_data_ptr<double>()[r]; total > 0 && total != row.total) plan(row, total);
    // The averaged weights are those after steps start + every, start + 2·every, …
    const std::int64_t since = step + 1 - row.start;
    if (!is_active(active, r) || since <= 0 || since % row.every != 0) continue;
    const double before = counts[r]++;
    const double take = before == 0 ? 1 : row.decay < 0 ? 1 / (before + 1) : 1 - row.decay;
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
      move_row(averages_[i], tensors_[i].value, r, rows, tensors_[i].averages ? take : 1);
    }
  }
}

std::vector<std::pair<std::string, at::Tensor>> WeightAverage::state() const {
  std::vector<std::pair<std::string, at::Tensor>> named;
  for (std::size_t i = 0; i < tensors_.size(); ++i) named.emplace_back(tensors_[i].name, averages_[i]);
  named.emplace_back("updates", updates_);
  named.emplace_back("total", totals_);
  return named;
}

void register_average(Registry& registry) {
  const auto entry = [](const char* name, const char* doc) { return Entry(name, "average", doc); };
  const Option evaluate =
      Option("evaluate", "validate, test and keep the average in place of the weights, from the first update on")
          .boolean()
          .or_default(true);
  registry.add(entry("ema", "Exponential moving average of the weights.")
                   .with(Option("decay", "share of the average that is kept at each update")
                             .number()
                             .at_least(0)
                             .less_than(1)
                             .or_default(0.999)
                             .positional())
                   .with(Option("every", "time between two updates").duration().or_default("1 steps"))
                   .with(Option("start", "time before the first update").duration().or_default("0 steps"))
                   .with(evaluate)
                   .example("lab.ema { decay = 0.999 }")
                   .note("The first update copies the weights p; each later update sets a ← decay·a + (1 − decay)·p. "
                         "The running statistics of norms are averaged too, as by PyTorch's AveragedModel with "
                         "get_ema_multi_avg_fn and use_buffers. Training continues with the weights themselves."),
               AverageKind{.decay = "decay"});
  registry.add(
      entry("swa", "Stochastic weight averaging: the plain mean of the weights from a point of the run on.")
          .with(Option("start", "time before the first update").duration().or_default("75%").positional())
          .with(Option("every", "time between two updates").duration().or_default("1 epochs"))
          .with(evaluate)
          .example("lab.swa { start = \"75%\", every = \"1 epochs\" }")
          .note("Averages the weights and the running statistics of norms over all updates, as PyTorch's AveragedModel "
                "does with use_buffers (Izmailov et al. 2018). Works best with a constant or cyclic rate."),
      AverageKind{});
}

}  // namespace trainlab

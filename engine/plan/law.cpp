#include "plan/law.h"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "core/error.h"
#include "core/file_of_flag.h"
#include "core/statistics.h"
#include "core/value.h"
#include "forecast/golden_section.h"
#include "run/shell_word.h"

namespace trainlab {

namespace {

constexpr double repeats_of_data = 15.387756, repeats_of_parameters = 5.309743;  // R*_D and R*_N

double ratio_of_terms(const Law& law) {
  return std::pow(law.alpha * law.a / (law.beta * law.b), 1 / (law.alpha + law.beta));
}

// The parameters that are best for `tokens` in one pass (Muennighoff et al. 2023, equation 16).
double best_parameters_for(const Law& law, double tokens) {
  const double g = ratio_of_terms(law);
  return std::pow(tokens * g, law.beta / law.alpha) * g;
}

// The worth of `unique` tokens or parameters that are repeated `repeats` times, where each repeat is worth less than
// the one before.
double worth(double unique, double repeats, double repeats_that_count) {
  return unique + unique * repeats_that_count * -std::expm1(-repeats / repeats_that_count);
}

double constant_in(const Value& map, const char* name, const std::string& file) {
  const Value& value = map[name];
  if (value.is_number() && value.number() > 0) return value.number();
  throw usage_error("expected the JSON of `trainlab plan fit … --json`, but law." + std::string(name) + " is " +
                    value.brief())
      .at(file, 1);
}

Value fit_in(const std::string& file, const std::string& text) try {
  return parse_json(text, file);
} catch (const Error&) {
  throw usage_error("--law: expected the JSON of `trainlab plan fit … --json`, and " + file + " is no JSON")
      .hint("a law for a table of runs: trainlab plan fit " + shell_word(file) + " --json > law.json");
}

// The range of `what` (parameters, tokens or FLOPs) in a law's file; files of earlier versions lack an end, or both.
RunRange run_range_in(const Value& fit, const std::string& what) {
  RunRange range;
  const Value &least = fit["least_" + what], &most = fit["most_" + what];
  if (least.is_number() && least.number() > 0) range.least = least.number();
  if (most.is_number() && most.number() > 0) range.most = most.number();
  return range;
}

Law law_from(const Value& map, const std::string& file) {
  const auto number = [&](const char* name) { return constant_in(map, name, file); };
  return {number("E"), number("A"), number("B"), number("alpha"), number("beta")};
}

}  // namespace

const KnownLaw& known_law(const std::string& name) {
  // The runs: for the first law the FLOPs as Besiroglu et al. read them off figure 4 of Hoffmann et al., whose models
  // had 44 million to 16 billion parameters; for the second the FLOPs of the runs on C4 of Hoffmann et al. whose losses
  // Muennighoff et al. fitted, 1e19, 1e20, 6e20 and 1e21 (utils/parametric_fit.ipynb of their repository
  // huggingface/datablations).
  static const std::vector<KnownLaw> laws = {
      {.name = "besiroglu",
       .source = "Besiroglu et al. 2024, the runs of Hoffmann et al. 2022 fitted again",
       .law = {.e = 1.81686, .a = 482.00572, .b = 2085.43420, .alpha = 0.34781, .beta = 0.36585},
       .flops = {1.4e18, 1.3e22},
       .parameters = {4.4e7, 1.6e10}},
      {.name = "muennighoff",
       .source = "Muennighoff et al. 2023, runs on C4",
       .law = {.e = std::exp(0.6254804),
               .a = std::exp(6.255414),
               .b = std::exp(7.3049974),
               .alpha = 0.3526596,
               .beta = 0.3526596},
       .flops = {1e19, 1e21}}};
  if (name == "hoffmann" || name == "chinchilla") {
    throw usage_error(
        "the constants that Hoffmann et al. 2022 print (406.4, 410.7, 1.69, 0.34, 0.28) are rounded and "
        "come from a fit that ended early: for 67 billion parameters they give 108 tokens for each, "
        "unrounded 65, but the paper's own table of training curves gives 22 and the repeated fit 18")
        .hint("--law besiroglu, the default, has the same runs fitted again");
  }
  const auto found = std::ranges::find(laws, name, &KnownLaw::name);
  if (found != laws.end()) return *found;
  throw usage_error("--law: expected besiroglu, muennighoff or a file of `trainlab plan fit … --json`, found \"" +
                    name + "\"");
}

KnownLaw read_law(const std::string& file) {
  constexpr std::int64_t most_bytes = std::int64_t{16} << 20;
  return law_in(fit_in(file, read_file_of("--law", file, most_bytes)), file);
}

KnownLaw law_in(const Value& fit, const std::string& source) {
  KnownLaw known{.name = "fit", .source = source, .law = law_from(fit["law"], source)};
  if (fit["samples"].is_list()) {
    for (const Value& sample : fit["samples"].list()) known.samples.push_back(law_from(sample, source));
  }
  constexpr double constants = 5;  // which the fit has chosen so that the runs deviate least
  const Value &deviation = fit["deviation"], &runs = fit["runs"];
  if (deviation.is_number() && runs.is_number() && runs.number() > constants) {
    known.freedom = runs.number() - constants;
    known.deviation = std::abs(deviation.number()) * std::sqrt(runs.number() / known.freedom);
  }
  known.flops = run_range_in(fit, "flops");
  known.parameters = run_range_in(fit, "parameters");
  known.tokens = run_range_in(fit, "tokens");
  if (fit["drift"].is_number()) known.drift = std::abs(fit["drift"].number());
  return known;
}

KnownLaw law_named(const std::string& name) {
  if (name.find('.') != std::string::npos || name.find('/') != std::string::npos) return read_law(name);
  try {
    return known_law(name);
  } catch (const Error&) {
    std::error_code ignored;
    if (std::filesystem::is_regular_file(name, ignored)) return read_law(name);
    throw;
  }
}

Allocation effective(const Law& law, const Allocation& allocation, double unique_tokens) {
  const double tokens = std::min(allocation.tokens, unique_tokens);
  const double parameters = std::min(allocation.parameters, best_parameters_for(law, tokens));
  return {worth(parameters, allocation.parameters / parameters - 1, repeats_of_parameters),
          worth(tokens, allocation.tokens / tokens - 1, repeats_of_data)};
}

double loss_of(const Law& law, const Allocation& allocation, double unique_tokens) {
  const auto [n, d] = std::isfinite(unique_tokens) ? effective(law, allocation, unique_tokens) : allocation;
  return law.e + law.a / std::pow(n, law.alpha) + law.b / std::pow(d, law.beta);
}

std::optional<LossInterval> interval_of(const KnownLaw& law, const Allocation& allocation, double unique_tokens) {
  if (law.samples.empty()) return std::nullopt;
  constexpr double tail = 0.1;
  const double middle = std::log(loss_of(law.law, allocation, unique_tokens));
  std::vector<double> logs;
  for (const Law& sample : law.samples) logs.push_back(std::log(loss_of(sample, allocation, unique_tokens)));
  std::ranges::sort(logs);
  const double doublings = std::max(std::log2(allocation.flops() / law.flops.most), 0.0);
  // The resamples, too, differ less than laws of other runs would where few runs are left beyond the constants.
  const double quantile = student_quantile(1 - tail, law.freedom), few = quantile / normal_quantile_90;
  const double of_run = std::hypot(quantile * law.deviation, normal_quantile_90 * law.drift * doublings);
  const double below = few * std::max(middle - linear_quantile(logs, tail), 0.0),
               above = few * std::max(linear_quantile(logs, 1 - tail) - middle, 0.0);
  return LossInterval{.low = std::exp(middle - std::hypot(below, of_run)),
                      .high = std::exp(middle + std::hypot(above, of_run))};
}

Allocation best_allocation(const Law& law, double flops, double unique_tokens) {
  const double product = flops / flops_per_parameter_and_token;
  const double in_one_pass = ratio_of_terms(law) * std::pow(product, law.beta / (law.alpha + law.beta));
  if (product / in_one_pass <= unique_tokens) return {in_one_pass, product / in_one_pass};

  // The loss has a kink where repeats begin, so a grid first finds the valley, and a local search then its minimum.
  const auto loss = [&](double log_parameters) {
    const double parameters = std::exp(log_parameters);
    return loss_of(law, {parameters, product / parameters}, unique_tokens);
  };
  constexpr double step = 0.05;
  constexpr int reach = 240, sections = 44;  // to 1e-10
  const double middle = std::log(in_one_pass);
  double lowest = middle - reach * step;
  for (int i = -reach; i <= reach; ++i) {
    if (loss(middle + i * step) < loss(lowest)) lowest = middle + i * step;
  }
  const double parameters = std::exp(golden_section(lowest - step, lowest + step, sections, loss));
  return {parameters, product / parameters};
}

double least_flops(const Law& law, double loss, double unique_tokens) {
  if (loss <= law.e) return std::numeric_limits<double>::infinity();
  // For the best allocation, both terms of the loss are proportional to (C/6)^-gamma.
  const double gamma = law.alpha * law.beta / (law.alpha + law.beta), g = ratio_of_terms(law);
  const double terms = law.a * std::pow(g, -law.alpha) + law.b * std::pow(g, law.beta);
  const double in_one_pass = flops_per_parameter_and_token * std::pow(terms / (loss - law.e), 1 / gamma);
  const auto best_loss = [&](double flops) {
    return loss_of(law, best_allocation(law, flops, unique_tokens), unique_tokens);
  };
  if (best_allocation(law, in_one_pass).tokens <= unique_tokens) return in_one_pass;

  double low = in_one_pass, high = in_one_pass;
  while (best_loss(high) > loss) {
    high *= 4;
    if (high > 1e12 * in_one_pass) return std::numeric_limits<double>::infinity();
  }
  while (high > low * (1 + 1e-9)) {
    const double middle = std::sqrt(low * high);
    (best_loss(middle) > loss ? low : high) = middle;
  }
  return high;
}

}  // namespace trainlab

#include "rate.h"

#include <algorithm>
#include <array>

#include "core/error.h"

namespace trainlab {

namespace {

std::optional<double> peak_of(const PlanQuestion& question, const std::optional<Price>& price) {
  if (question.peak) return question.peak;
  if (price && price->peak) return price->peak;
  if (question.device_name) return known_peak(*question.device_name);
  return price ? known_peak(price->name) : std::nullopt;
}

double required_rate(const Speed& speed, const std::string& budget) {
  if (speed.rate) return *speed.rate;
  throw usage_error(budget + " needs how fast training is: --rate FLOP/S, or --mfu with --peak or --device-name");
}

double usable_seconds(const PlanQuestion& question) {
  constexpr double usable_share = 0.97;
  if (!question.usable_seconds) return usable_share * *question.within_seconds;
  if (*question.usable_seconds <= *question.within_seconds) return *question.usable_seconds;
  throw usage_error("--usable is longer than --within");
}

}  // namespace

void check_budget(const PlanQuestion& question) {
  const std::array<bool, 4> given = {question.flops.has_value(), question.gpu_hours.has_value(),
                                     question.money.has_value(), question.within_seconds.has_value()};
  if (std::ranges::count(given, true) > 1) {
    throw usage_error("a plan has one budget: one of --flops, --gpu-hours, --money and --within");
  }
  if (question.usable_seconds && !question.within_seconds) throw usage_error("--usable is a part of --within");
  if (question.money && !question.prices) throw usage_error("--money needs prices: --prices FILE.toml");
}

std::optional<double> Speed::mfu() const { return rate && peak ? std::optional<double>(*rate / *peak) : std::nullopt; }

std::optional<Price> price_of(const PlanQuestion& question) {
  if (!question.prices) return std::nullopt;
  std::optional<std::string> currency;
  if (question.money) currency = parse_money("--money", *question.money).currency;
  return find_price(read_prices(*question.prices), question.device_name, currency);
}

Speed speed_of(const PlanQuestion& question, const std::optional<Price>& price) {
  const std::optional<double> peak = peak_of(question, price);
  if (question.rate && question.mfu) {
    throw usage_error("--rate and --mfu exclude each other: the rate is the share of the peak");
  }
  if (question.rate) {
    if (peak && *question.rate > *peak) throw usage_error("--rate is above the peak of the device");
    return {question.rate, peak};
  }
  if (!question.mfu) {
    if (question.peak) throw usage_error("--peak needs the share of the peak that training reaches: --mfu, or --rate");
    return {std::nullopt, peak};
  }
  if (peak) return {*question.mfu * *peak, peak};
  if (!question.device_name) throw usage_error("--mfu is a share of the peak: --peak FLOP/S or --device-name NAME");
  throw usage_error("the peak of \"" + *question.device_name + "\" is not known: --peak FLOP/S")
      .hint("known are " + devices_with_known_peak());
}

std::optional<double> budget_of(const PlanQuestion& question, const Speed& speed, const std::optional<Price>& price) {
  if (question.flops) return question.flops;
  if (question.gpu_hours) return *question.gpu_hours * 3600 * required_rate(speed, "--gpu-hours");
  if (question.within_seconds) return usable_seconds(question) * required_rate(speed, "--within");
  if (!question.money) return std::nullopt;
  const double rate = required_rate(speed, "--money");
  const double seconds = seconds_for(*price, parse_money("--money", *question.money).amount);
  if (seconds > 0) return seconds * rate;
  throw usage_error("nothing fits into " + *question.money + ": the least that is billed for " + price->name +
                    " costs more");
}

}  // namespace trainlab

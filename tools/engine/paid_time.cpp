#include "paid_time.h"

#include <string>

#include "core/error.h"
#include "plan/prices.h"

namespace trainlab {

namespace {

std::optional<std::string> given(const Value& options, const char* name) {
  return options[name].is_string() ? std::optional(options[name].string()) : std::nullopt;
}

// Errors of flags and files as errors of the option of the recipe that names them.
template <class Read>
auto of_option(const char* option, const Read& read) {
  try {
    return read();
  } catch (const Error& error) {
    Error wrong = recipe_error(error.file().empty() ? error.message() : error.headline()).hint(error.hint());
    throw wrong.in(option);
  }
}

}  // namespace

std::optional<PaidTime> paid_time(const Value& options) {
  const std::optional<std::string> money = given(options, "money"), file = given(options, "prices");
  const std::optional<std::string> machine = given(options, "machine");
  if (!money) {
    for (const char* option : {"prices", "machine"})
      if (given(options, option)) throw recipe_error("goes with money, and there is none").in(option);
    return std::nullopt;
  }
  if (!file) {
    throw recipe_error("expected prices beside it, found none")
        .in("money")
        .hint("lab.budget { money = \"" + *money + "\", prices = \"prices.toml\" }");
  }
  const Money amount = of_option("money", [&] { return parse_money("money", *money); });
  const Price price = of_option(
      "prices", [&] { return find_price(read_prices(*file), machine, amount.currency, "the option machine"); });
  const double seconds = seconds_for(price, amount.amount);
  if (seconds == 0)
    throw recipe_error("nothing fits into " + *money + ": the least that is billed for " + price.name + " costs more")
        .in("money");
  return PaidTime{.amount = amount.amount,
                  .currency = amount.currency,
                  .as_of = price.as_of,
                  .seconds = seconds,
                  .cost_of_seconds = [price](double used) { return cost_of(price, used); }};
}

}  // namespace trainlab

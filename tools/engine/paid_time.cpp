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

Value to_value(const Price& price) {
  return Value::Map{
      {"name", price.name},   {"per_hour", price.per_hour.amount},      {"currency", price.per_hour.currency},
      {"as_of", price.as_of}, {"billed_seconds", price.billed_seconds}, {"minimum_seconds", price.minimum_seconds}};
}

Price price_from(const Value& recorded) {
  const auto number = [&](const char* name) {
    if (!recorded[name].is_number()) throw run_error(std::string("manifest.toml: price.") + name + " is no number");
    return recorded[name].number();
  };
  const auto text = [&](const char* name) {
    if (!recorded[name].is_string()) throw run_error(std::string("manifest.toml: price.") + name + " is no text");
    return recorded[name].string();
  };
  return {.name = text("name"),
          .per_hour = {.amount = number("per_hour"), .currency = text("currency")},
          .as_of = text("as_of"),
          .billed_seconds = number("billed_seconds"),
          .minimum_seconds = number("minimum_seconds")};
}

}  // namespace

std::optional<PaidTime> paid_time(const Value& options, const Value& recorded) {
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
  // A mended recipe may be paid in another currency, or name another machine.
  const bool is_recorded =
      recorded["currency"] == Value(amount.currency) && (!machine || recorded["name"] == Value(*machine));
  const Price price = is_recorded ? price_from(recorded) : of_option("prices", [&] {
    return find_price(read_prices(*file), machine, amount.currency, "the option machine");
  });
  const double seconds = seconds_for(price, amount.amount);
  if (seconds == 0)
    throw recipe_error("nothing fits into " + *money + ": the least that is billed for " + price.name + " costs more")
        .in("money");
  return PaidTime{.amount = amount.amount,
                  .currency = amount.currency,
                  .as_of = price.as_of,
                  .price = to_value(price),
                  .seconds = seconds,
                  .cost_of_seconds = [price](double used) { return cost_of(price, used); }};
}

}  // namespace trainlab

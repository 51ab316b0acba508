// The cost of computing: prices that the user gives in a TOML file, because prices change from day to day.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace trainlab {

struct Money {
  double amount = 0;
  std::string currency;  // "EUR"
};

// "500 EUR". Raises Error{usage} that names `what`, a flag or an option, for anything else.
Money parse_money(const std::string& what, std::string_view text);

// The price of one class of devices: a table [NAME] of the file.
struct Price {
  std::string name;
  Money per_hour;
  std::string as_of;             // the day of the price, as the file says it
  double billed_seconds = 1;     // time is billed in steps of this length, each begun step in full
  double minimum_seconds = 0;    // the least that is billed
  std::optional<double> peak{};  // FLOP/s
};

// Raises Error with the file, and the line of the table, for what is no such file.
std::vector<Price> read_prices(const std::string& file);

// The price of a device of this name, or without a name the only price there is (in this currency, if one is given).
// Raises Error{usage}.
const Price& find_price(const std::vector<Price>& prices, const std::optional<std::string>& device,
                        const std::optional<std::string>& currency);

// The cost of `seconds`, and the seconds that the money pays for: whole steps, 0 where the money is below the
// least that is billed. The currency of both must be the price's.
double cost_of(const Price& price, double seconds);
double seconds_for(const Price& price, double amount);

// The dense bfloat16 peak of a device in FLOP/s, from its maker's data sheet; names in any case of letters. nullopt for
// a device that is not in the list.
std::optional<double> known_peak(std::string_view device);
// "A100, H100 SXM, …"
std::string devices_with_known_peak();

}  // namespace trainlab

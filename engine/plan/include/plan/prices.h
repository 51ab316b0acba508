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

// Reads an amount such as "500 EUR". Raises Error{usage} that names `what`, a flag or an option, for anything else.
Money parse_money(const std::string& what, std::string_view text);

// The price of one class of devices: a table [NAME] of the file.
struct Price {
  std::string name;
  Money per_hour;
  std::string as_of;             // date of the price, as it stands in the file
  double billed_seconds = 1;     // time is billed in steps of this length; a step that has begun is billed in full
  double minimum_seconds = 0;    // shortest time that is billed
  std::optional<double> peak{};  // FLOP/s of the device
};

// Raises Error with the file and the line of the table where the file does not have this form.
std::vector<Price> read_prices(const std::string& file);

// The price of a device of this name; without a name, the only price in the file, or the only one in the currency if a
// currency is given. Raises Error{usage}; `chooser` is the flag or option that names one of several.
const Price& find_price(const std::vector<Price>& prices, const std::optional<std::string>& device,
                        const std::optional<std::string>& currency, const std::string& chooser = "--device-name");

// The cost of `seconds`; and the seconds that an amount of money pays for, in whole steps, which are 0 where the amount
// is below the smallest bill. The amount must be in the currency of the price.
double cost_of(const Price& price, double seconds);
double seconds_for(const Price& price, double amount);

// The dense bfloat16 peak of a device in FLOP/s, from its maker's data sheet; the case of letters does not count.
// nullopt for a device that is not in the list.
std::optional<double> known_peak(std::string_view device);
// The names of the devices in the list: "A100, H100 SXM, …".
std::string devices_with_known_peak();

}  // namespace trainlab

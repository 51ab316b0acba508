#include "plan/prices.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>

#include "core/duration.h"
#include "core/error.h"
#include "core/file_of_flag.h"
#include "core/words.h"
#include "formats/fields.h"
#include "run/toml_text.h"

namespace trainlab {

namespace {

// A number and the text after it without blanks, as in "3.20 EUR/h". nullopt for a text without a number.
struct Quantity {
  double number = 0;
  std::string_view unit;
};
std::optional<Quantity> quantity_in(std::string_view text) {
  const std::size_t end = text.find(' ');
  if (end == std::string_view::npos) return std::nullopt;
  const std::optional<double> number = number_in(text.substr(0, end));
  if (!number || !std::isfinite(*number) || *number <= 0) return std::nullopt;
  const std::size_t unit = text.find_first_not_of(' ', end);
  return Quantity{*number, unit == std::string_view::npos ? "" : text.substr(unit)};
}

bool is_currency(std::string_view text) {
  return text.size() == 3 && std::ranges::all_of(text, [](char c) { return c >= 'A' && c <= 'Z'; });
}

// Whether the text is a day of the calendar, as "2026-11-01".
bool is_day(std::string_view text) {
  const auto digits = [&](std::size_t at, std::size_t count) -> std::optional<int> {
    int number = 0;
    const std::string_view part = text.substr(at, count);
    const auto [rest, code] = std::from_chars(part.data(), part.data() + part.size(), number);
    return code == std::errc() && rest == part.data() + part.size() && number > 0 ? std::optional(number)
                                                                                  : std::nullopt;
  };
  if (text.size() != 10 || text[4] != '-' || text[7] != '-') return false;
  const std::optional<int> year = digits(0, 4), month = digits(5, 2), day = digits(8, 2);
  if (!year || !month || !day) return false;
  return std::chrono::year_month_day(std::chrono::year(*year), std::chrono::month(static_cast<unsigned>(*month)),
                                     std::chrono::day(static_cast<unsigned>(*day)))
      .ok();
}

// One table of the file. An error that a member function raises names the path of the table's member.
class PriceTable {
 public:
  PriceTable(const TomlMember& member, const std::string& file) : member_(member), file_(file) {
    if (!member.value.is_map()) throw error("", "a table [" + member.name + "]", member.value);
    for (const auto& [name, value] : member.value.map()) {
      static const std::vector<std::string> known = {"price", "as_of", "billed", "minimum", "peak"};
      if (std::ranges::find(known, name) == known.end()) {
        throw usage_error("expected price, as_of, billed, minimum or peak")
            .in(member_.name + "." + name)
            .at(file_, line());
      }
    }
  }

  Price price() const {
    Price price{.name = member_.name, .per_hour = per_hour(), .as_of = as_of()};
    if (has("billed")) price.billed_seconds = seconds("billed");
    if (has("minimum")) price.minimum_seconds = seconds("minimum");
    if (has("peak")) price.peak = peak();
    return price;
  }

 private:
  int line() const { return member_.line; }
  bool has(const char* name) const { return !member_.value[name].is_nil(); }

  Error error(const std::string& name, const std::string& expected, const Value& found) const {
    return usage_error("expected " + expected + ", found " + (found.is_nil() ? "nothing" : found.brief()))
        .in(name.empty() ? member_.name : member_.name + "." + name)
        .at(file_, line());
  }

  std::string_view text(const char* name) const {
    const Value& value = member_.value[name];
    return value.is_string() ? std::string_view(value.string()) : std::string_view();
  }

  Money per_hour() const {
    const std::optional<Quantity> found = quantity_in(text("price"));
    const std::size_t slash = found ? found->unit.find('/') : std::string_view::npos;
    const std::string_view per = slash == std::string_view::npos ? "" : found->unit.substr(slash + 1);
    if (!is_currency(found ? found->unit.substr(0, slash) : "") || (per != "h" && per != "hour")) {
      throw error("price", "a price for an hour, as \"3.20 EUR/h\"", member_.value["price"]);
    }
    return {found->number, std::string(found->unit.substr(0, slash))};
  }

  std::string as_of() const {
    if (is_day(text("as_of"))) return std::string(text("as_of"));
    throw error("as_of", "the day of the price, as \"2026-11-01\"", member_.value["as_of"]);
  }

  double seconds(const char* name) const {
    std::optional<Duration> time;
    try {
      time = parse_duration(text(name));
    } catch (const Error&) {
      // The message below says what is expected.
    }
    if (time && time->unit == Unit::seconds && time->amount > 0) return time->amount;
    throw error(name, "a time, as \"1 min\"", member_.value[name]);
  }

  double peak() const {
    const std::optional<Quantity> found = quantity_in(text("peak"));
    if (!found || found->unit != "FLOP/s") {
      throw error("peak", "the peak of the device, as \"989e12 FLOP/s\"", member_.value["peak"]);
    }
    return found->number;
  }

  const TomlMember& member_;
  const std::string& file_;
};

using Prices = std::vector<const Price*>;

// The different texts of the prices, each once: "EUR, USD".
template <class F>
std::string listed(const Prices& prices, F&& of) {
  std::vector<std::string> texts;
  for (const Price* price : prices) {
    if (std::ranges::find(texts, of(*price)) == texts.end()) texts.push_back(of(*price));
  }
  return joined(texts);
}

std::string name_of(const Price& price) { return price.name; }
std::string currency_of(const Price& price) { return price.per_hour.currency; }

}  // namespace

Money parse_money(const std::string& what, std::string_view text) {
  const std::optional<Quantity> found = quantity_in(text);
  if (found && is_currency(found->unit)) return {found->number, std::string(found->unit)};
  throw usage_error("expected an amount above 0 with its currency, as \"500 EUR\", found \"" + std::string(text) + "\"")
      .in(what);
}

std::vector<Price> read_prices(const std::string& file) {
  constexpr std::int64_t most_bytes = std::int64_t{1} << 20;
  std::vector<Price> prices;
  for (const TomlMember& member : parse_toml_members(read_file_of("--prices", file, most_bytes), file)) {
    prices.push_back(PriceTable(member, file).price());
  }
  if (prices.empty())
    throw usage_error("expected a table for each class of devices, as [H200], found none").at(file, 1);
  return prices;
}

const Price& find_price(const std::vector<Price>& prices, const std::optional<std::string>& device,
                        const std::optional<std::string>& currency, const std::string& chooser) {
  Prices all;
  for (const Price& price : prices) all.push_back(&price);
  Prices fitting = all;
  if (device) std::erase_if(fitting, [&](const Price* price) { return price->name != *device; });
  if (fitting.empty()) {
    throw usage_error("no price for \"" + *device + "\": there are prices for " + listed(all, name_of));
  }
  const std::string currencies = listed(fitting, currency_of);
  if (currency) std::erase_if(fitting, [&](const Price* price) { return currency_of(*price) != *currency; });
  if (fitting.empty()) throw usage_error("no price in " + *currency + ": prices are in " + currencies);
  if (fitting.size() > 1) {
    throw usage_error("several prices fit: " + chooser + " says which of " + listed(fitting, name_of));
  }
  return *fitting.front();
}

double cost_of(const Price& price, double seconds) {
  const double steps = std::ceil(seconds / price.billed_seconds * (1 - 1e-12)) * price.billed_seconds;
  return std::max(steps, price.minimum_seconds) / 3600 * price.per_hour.amount;
}

double seconds_for(const Price& price, double amount) {
  const double paid = amount / price.per_hour.amount * 3600;
  if (paid < price.minimum_seconds) return 0;
  return std::floor(paid / price.billed_seconds * (1 + 1e-12)) * price.billed_seconds;
}

}  // namespace trainlab

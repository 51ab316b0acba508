// Prices: the file of the user, billing, and what is said to a wrong file.
#include "plan/prices.h"

#include <catch2/catch.hpp>

#include "core/files.h"
#include "support/error_of.h"

namespace trainlab::prices_test {

using Catch::Contains;
using trainlab::test::error_of;

namespace {

std::vector<Price> prices_in(const std::string& text) {
  write_atomic("prices.toml", text);
  return read_prices("prices.toml");
}

std::string refusal(const std::string& text) {
  return error_of([&] { prices_in(text); });
}

}  // namespace

TEST_CASE("a file of prices") {
  const std::vector<Price> prices = prices_in(
      "[H200]\nprice = \"3.20 EUR/h\"\nas_of = 2026-11-01\nbilled = \"1 min\"\nminimum = \"10 min\"\n"
      "[mine]\nprice = \"0.5 USD/hour\"\nas_of = \"2028-02-29\"\npeak = \"67e12 FLOP/s\"\n");
  REQUIRE(prices.size() == 2);
  CHECK(prices[0].name == "H200");
  CHECK(prices[0].per_hour.amount == 3.2);
  CHECK(prices[0].per_hour.currency == "EUR");
  CHECK(prices[0].as_of == "2026-11-01");
  CHECK(prices[0].billed_seconds == 60);
  CHECK(prices[0].minimum_seconds == 600);
  CHECK_FALSE(prices[0].peak);
  CHECK(prices[1].billed_seconds == 1);
  CHECK(prices[1].peak == 67e12);
}

TEST_CASE("begun steps are billed, and at least the minimum") {
  const Price price{.name = "x", .per_hour = {6, "EUR"}, .as_of = "", .billed_seconds = 60, .minimum_seconds = 600};
  CHECK(cost_of(price, 3600) == Approx(6));
  CHECK(cost_of(price, 3601) == Approx(6.1));
  CHECK(cost_of(price, 1) == Approx(1));
  CHECK(seconds_for(price, 6) == Approx(3600));
  CHECK(seconds_for(price, 6.05) == Approx(3600));
  CHECK(seconds_for(price, 0.99) == 0);
  for (const double amount : {1.0, 3.3, 17.0, 500.0})
    CHECK(cost_of(price, seconds_for(price, amount)) <= amount + 1e-9);
}

TEST_CASE("wrong files are refused with file, line and path") {
  CHECK_THAT(refusal(""), Contains("prices.toml:1: expected a table for each class"));
  CHECK_THAT(refusal("\nH200 = 3\n"), Contains("prices.toml:2: H200: expected a table [H200], found 3"));
  CHECK_THAT(refusal("[H200]\nprice = 3\nas_of = \"2026-11-01\"\n"),
             Contains("prices.toml:1: H200.price: expected a price for an hour, as \"3.20 EUR/h\", found 3"));
  CHECK_THAT(refusal("[a]\nprice = \"3 Euro/h\"\nas_of = \"2026-11-01\"\n"), Contains("a.price: expected"));
  CHECK_THAT(refusal("[a]\nprice = \"-3 EUR/h\"\nas_of = \"2026-11-01\"\n"), Contains("a.price: expected"));
  CHECK_THAT(refusal("[a]\nprice = \"3 EUR\"\nas_of = \"2026-11-01\"\n"), Contains("a.price: expected"));
  CHECK_THAT(refusal("[a]\nprice = \"3 EUR/h\"\n"), Contains("a.as_of: expected the day of the price"));
  for (const char* day : {"banana", "today", "", "2026-02-29", "2026-13-01", "2026-1-1", "2026-11-0x", "01-11-2026"}) {
    CHECK_THAT(refusal("[a]\nprice = \"3 EUR/h\"\nas_of = \"" + std::string(day) + "\"\n"),
               Contains("a.as_of: expected the day of the price, as \"2026-11-01\", found \"" + std::string(day)));
  }
  CHECK_THAT(refusal("[a]\nprice = \"3 EUR/h\"\nas_of = \"2026-11-01\"\nbilled = \"2 epochs\"\n"),
             Contains("a.billed: expected a time"));
  CHECK_THAT(refusal("[a]\nprice = \"3 EUR/h\"\nas_of = \"2026-11-01\"\npeak = 3\n"), Contains("a.peak: expected"));
  CHECK_THAT(refusal("[a]\nprize = \"3 EUR/h\"\n"), Contains("a.prize: expected price, as_of, billed"));
  CHECK_THAT(refusal("[a\n"), Contains("prices.toml:1: not TOML"));
}

TEST_CASE("the price of a device") {
  const std::vector<Price> prices = prices_in(
      "[a]\nprice = \"1 EUR/h\"\nas_of = \"2026-11-01\"\n[b]\nprice = \"2 USD/h\"\nas_of = \"2026-11-01\"\n"
      "[c]\nprice = \"3 USD/h\"\nas_of = \"2026-11-01\"\n");
  CHECK(find_price(prices, "b", std::nullopt).name == "b");
  CHECK(find_price(prices, std::nullopt, "EUR").name == "a");
  CHECK_THAT(error_of([&] { find_price(prices, "d", std::nullopt); }),
             Contains("no price for \"d\"") && Contains("a, b, c"));
  CHECK_THAT(error_of([&] { find_price(prices, std::nullopt, "GBP"); }),
             Contains("no price in GBP: prices are in EUR, USD"));
  CHECK_THAT(error_of([&] { find_price(prices, "a", "USD"); }), Contains("no price in USD"));
  CHECK_THAT(error_of([&] { find_price(prices, std::nullopt, "USD"); }), Contains("--device-name says which of b, c"));
}

TEST_CASE("amounts of money") {
  CHECK(parse_money("--money", "500 EUR").amount == 500);
  CHECK(parse_money("--money", "0.5  USD").currency == "USD");
  for (const char* text : {"500", "EUR 500", "500 euros", "-5 EUR", "0 EUR", "", "inf EUR", "5 EUR x"}) {
    CHECK_THAT(error_of([&] { parse_money("--money", text); }), Contains("as \"500 EUR\""));
  }
}

TEST_CASE("peaks of devices") {
  CHECK(known_peak("h200") == 989e12);
  CHECK(known_peak("A100") == 312e12);
  CHECK_FALSE(known_peak("H100"));
  CHECK_FALSE(known_peak("abacus"));
}

}  // namespace trainlab::prices_test

// Remedies as text, and those that are joined.
#include <catch2/catch.hpp>

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "remedies_support.h"

namespace trainlab::remedies_test {

using namespace test;

TEST_CASE("columns of the text are as wide as their longest words") {
  TriedRemedies tried{.all = {Remedy{.name = "short", .reason = "one"},
                              Remedy{.name = "ReLU in place of GELU, SiLU and Tanh in each of the layers",
                                     .set = {"memory.recompute=\"every 30\"", "batch=1"},
                                     .reason = "two"}}};
  const std::string text = remedies_text(tried);
  std::set<std::size_t> columns;
  std::size_t line = text.find("  short");
  for (const char* reason : {"not tried: one", "not tried: two"}) {
    const std::size_t place = text.find(reason);
    REQUIRE(place != std::string::npos);
    columns.insert(place - line);
    line = text.find('\n', place) + 1;
  }
  CHECK(columns.size() == 1);
}

TEST_CASE("remedies that win and keep the result are joined where they are faster still together") {
  const auto remedy = [](const std::string& set, double median, const std::string& result = "same bytes") {
    return Remedy{.name = set, .set = {set}, .ratio = {median, median - 0.1, median + 0.1}, .result = result};
  };
  const std::vector<Remedy> all{remedy("a", 1.5), remedy("b", 3),   remedy("c", 1.01),
                                remedy("d", 2),   remedy("e", 1.2), remedy("f", 9, "changes the result")};
  std::vector<std::pair<Texts, Texts>> asked;
  const auto ratio = [&](const Texts& without, const Texts& with) -> std::optional<MedianInterval> {
    asked.emplace_back(without, with);
    if (with.back() == "d") return MedianInterval{0.9, 0.8, 1.1};  // no gain beside b
    if (with.back() == "a" && !without.empty()) return MedianInterval{1.4, 1.3, 1.5};
    if (with.back() == "e") return std::nullopt;
    return MedianInterval{4, 3.5, 4.5};
  };
  const JoinedRemedies joined = join_remedies(all, ratio);
  CHECK(joined.set == Texts{"b", "a"});
  CHECK(joined.ratio.median == 4);
  CHECK(asked == std::vector<std::pair<Texts, Texts>>{
                     {{"b"}, {"b", "d"}}, {{"b"}, {"b", "a"}}, {{"b", "a"}, {"b", "a", "e"}}, {{}, {"b", "a"}}});
  const auto no_whole = [&](const Texts& without, const Texts& with) -> std::optional<MedianInterval> {
    return without.empty() ? MedianInterval{1.1, 0.9, 1.3} : ratio(without, with);
  };
  // Neither the changes together nor the greatest of them alone are a gain when they are measured once more.
  CHECK(join_remedies(all, no_whole).set.empty());
  const auto alone = [&](const Texts& without, const Texts& with) -> std::optional<MedianInterval> {
    if (without.empty() && with.size() == 1) return MedianInterval{2, 1.8, 2.2};
    return no_whole(without, with);
  };
  CHECK(join_remedies(all, alone).set == Texts{"b"});
  CHECK(join_remedies(all, alone).ratio.median == 2);
  const auto no_time = [&](const Texts& without, const Texts& with) -> std::optional<MedianInterval> {
    return without.empty() ? std::nullopt : ratio(without, with);
  };
  CHECK(join_remedies(all, no_time).set == Texts{"b"});
  CHECK(join_remedies(all, no_time).ratio.median == 3);
  // One remedy alone is measured once more, too.
  asked.clear();
  Remedy of_two = all[1];
  of_two.set = {"b", "c"};
  CHECK(join_remedies({of_two}, ratio).set == Texts{"b", "c"});
  CHECK(join_remedies({of_two}, ratio).ratio.median == 4);
  CHECK(join_remedies({all[1]}, no_whole).set.empty());
  CHECK(asked == std::vector<std::pair<Texts, Texts>>(2, {{}, {"b", "c"}}));
  asked.clear();
  of_two.pairs = 4;  // too few for an interval
  CHECK(join_remedies({of_two}, ratio).set.empty());
  CHECK(join_remedies({all[2], all[5]}, ratio).set.empty());
  CHECK(asked.empty());
}

}  // namespace trainlab::remedies_test

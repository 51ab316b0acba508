// data:append: the training samples of two data sets as one training part.
#include <ATen/ops/allclose.h>
#include <ATen/ops/concat.h>
#include <ATen/ops/equal.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "specs.h"

namespace trainlab::append_test {

using namespace test;
namespace fs = std::filesystem;

namespace {

Value blobs(int samples, int seed, int classes = 3) {
  return data("blobs", {{"samples", samples}, {"classes", classes}, {"seed", seed}});
}

Value appended(Value source, Value more, Value::Map options = {}) {
  options["data"] = std::move(more);
  return method("append", std::move(source), std::move(options));
}

Value table(const std::string& name, const std::string& text, Value::Map options = {}) {
  options["path"] = write_file(name, text);
  options.emplace("target", "y");
  return data("csv", std::move(options));
}

Error refused(const Value& value) {
  return error_of([&] { open(value); });
}

template <class Number>
std::vector<Number> numbers(const at::Tensor& tensor) {
  const at::Tensor whole = tensor.contiguous();
  return {whole.const_data_ptr<Number>(), whole.const_data_ptr<Number>() + whole.numel()};
}

// Batches of `both` hold the samples of the first part and then those of the second.
void check_rows(const Part& both, const Part& first, const Part& second) {
  const Batch all = all_of(both), one = all_of(first), other = all_of(second);
  REQUIRE(all.columns.size() == one.columns.size());
  for (std::size_t i = 0; i < all.columns.size(); ++i)
    CHECK(at::equal(all.columns[i], at::concat({one.columns[i], other.columns[i]})));
}

}  // namespace

TEST_CASE("append: training samples of both, in order; other parts are those of the first") {
  const Value first = method("split", data("digits"), {{"val", 0.2}, {"test", 0.1}, {"seed", 3}});
  const Value second = method("take", data("digits"), {{"n", 50}, {"seed", 4}});
  const DataParts both = open(appended(first, second)), one = open(first), other = open(second);
  check_rows(both.train, one.train, other.train);
  CHECK(at::equal(all_of(*both.val).columns[0], all_of(*one.val).columns[0]));
  CHECK(at::equal(all_of(*both.test).columns[1], all_of(*one.test).columns[1]));
  CHECK(both.val->data == both.train.data);
  CHECK(both.train.data->classes == 10);
  CHECK_FALSE(both.train.draws);

  const DataParts three = open(appended(appended(blobs(10, 1), blobs(4, 2)), blobs(3, 3, 5)));
  CHECK(three.train.size() == 17);
  CHECK(three.train.data->classes == 5);
  CHECK(at::equal(all_of(three.train).columns[0].slice(0, 0, 14),
                  all_of(open(appended(blobs(10, 1), blobs(4, 2))).train).columns[0]));
}

TEST_CASE("append: with a share, an epoch draws that share from the other data") {
  const DataParts parts = open(appended(blobs(30, 1), blobs(10, 2), {{"share", 0.4}}));
  const Draws& draws = *parts.train.draws;
  CHECK(draws.count == 40);
  REQUIRE(draws.cumulative.size() == 40);
  CHECK(draws.cumulative[0] == Approx(0.6 / 30));
  CHECK(draws.cumulative[29] == Approx(0.6));
  CHECK(draws.cumulative[30] == Approx(0.6 + 0.4 / 10));
  CHECK(draws.cumulative.back() == Approx(1));
  const std::vector<std::int64_t> drawn = Draws{100'000, draws.cumulative}.draw(Key(1), parts.train.size());
  const auto of_other = std::ranges::count_if(drawn, [](std::int64_t place) { return place >= 30; });
  CHECK(std::abs(static_cast<double>(of_other) - 40'000) < 5 * std::sqrt(100'000 * 0.4 * 0.6));
}

TEST_CASE("append: a share of data that are drawn already leaves their proportions as they are") {
  const Value two = appended(blobs(30, 1), blobs(10, 2), {{"share", 0.4}});
  const DataParts three = open(appended(two, blobs(20, 3), {{"share", 0.25}}));
  CHECK(three.train.size() == 60);
  CHECK(three.train.draws->count == 60);
  const std::vector<double>& until = three.train.draws->cumulative;
  REQUIRE(until.size() == 60);
  CHECK(until[29] == Approx(0.75 * 0.6));
  CHECK(until[39] == Approx(0.75));
  CHECK(until[49] == Approx(0.75 + 0.25 / 2));
  CHECK(until.back() == Approx(1));

  const DataParts nested = open(appended(blobs(20, 3), two, {{"share", 0.5}}));
  CHECK(nested.train.draws->cumulative[49] == Approx(0.5 + 0.5 * 0.6));
  const Value weighted =
      method("weighted", table("w2.csv", "a,w,y\n1,1,2\n2,3,3\n", {{"exclude", "w"}}), {{"column", "w"}});
  const DataParts mixed = open(appended(weighted, table("v2.csv", "a,y\n3,4\n"), {{"share", 0.2}}));
  CHECK(mixed.train.draws->cumulative[0] == Approx(0.8 / 4));
  CHECK(mixed.train.draws->cumulative[1] == Approx(0.8));
}

TEST_CASE("append: a table takes the categories, fill values and classes of the first one's training part") {
  const Value today = table("today.csv", "age,city,y\n10,Rome,no\n30,Oslo,yes\n50,Bonn,no\n");
  const Value before = table("before.csv", "city,y,age,more\nBonn,yes,,1\nRome,no,7,2\nLima,yes,9,3\n");
  const DataParts parts = open(appended(today, before));
  const Batch batch = all_of(parts.train);
  const at::Tensor x = batch.columns[0];  // age, Bonn, Oslo, Rome
  CHECK(parts.train.data->feature_names.size() == 4);
  CHECK(numbers<float>(x[3]) == std::vector<float>{30, 1, 0, 0});  // the mean age of today's samples
  CHECK(numbers<float>(x[4]) == std::vector<float>{7, 0, 0, 1});
  CHECK(numbers<float>(x[5]) == std::vector<float>{9, 0, 0, 0});  // a city that today lacks
  CHECK(numbers<std::int64_t>(batch.columns[1]) == std::vector<std::int64_t>{0, 1, 0, 1, 0, 1});
  CHECK(parts.state.contains("table"));
  REQUIRE(parts.warnings.size() == 1);
  CHECK(contains(parts.warnings[0], "recipe.lua:7: fit.data.data: "));
  CHECK(contains(parts.warnings[0], "training had no category \"Lima\", only "));

  // Only the training part of a split shapes them, and a second table is encoded by them too.
  const DataParts chain = open(appended(appended(today, before), before));
  CHECK(at::equal(all_of(chain.train).columns[0].slice(0, 6, 9), x.slice(0, 3, 6)));
  const DataParts nested = open(appended(today, appended(today, before)));
  CHECK(at::equal(all_of(nested.train).columns[0].slice(0, 3, 9), x));

  const DataParts weighted = open(method("weighted",
                                         appended(table("w.csv", "a,w,y\n1,1,2\n2,1,3\n", {{"exclude", "w"}}),
                                                  table("v.csv", "a,w,y\n3,2,4\n", {{"exclude", "w"}})),
                                         {{"column", "w"}}));
  CHECK(weighted.train.draws->cumulative == std::vector<double>{1, 2, 4});
}

TEST_CASE("append: normalize takes the mean of all training samples") {
  const DataParts plain = open(appended(blobs(30, 1), blobs(10, 2)));
  const DataParts parts = open(method("normalize", appended(blobs(30, 1), blobs(10, 2))));
  CHECK(at::allclose(parts.state.at("x.mean").reshape({-1}),
                     all_of(plain.train, at::kDouble).columns[0].to(at::kDouble).mean(0).reshape({-1})));
}

TEST_CASE("append: what is refused") {
  const auto message = [](const Value& value) { return refused(value).message(); };
  CHECK(message(appended(blobs(10, 1), data("digits"))) ==
        "column \"x\" is float32 [1, 8, 8] there, and float32 [2] here");
  CHECK(message(appended(data("sine"), blobs(9, 1))).find("its y is a class, and y here is a number") == 0);
  CHECK(contains(message(appended(method("normalize", blobs(9, 1)), blobs(9, 1))), "normalised already"));
  CHECK(contains(message(appended(blobs(9, 1), method("normalize", blobs(9, 1)))), "normalised already"));
  CHECK(contains(message(appended(method("weighted", blobs(9, 1), {{"balanced", true}}), blobs(9, 1))),
                 "drawn with replacement already"));
  CHECK(contains(message(appended(blobs(9, 1), method("weighted", blobs(9, 1), {{"balanced", true}}))),
                 "drawn with replacement already"));
  CHECK(refused(appended(blobs(9, 1), blobs(9, 1), {{"share", 1}})).path() == "fit.data.share");
  const Error without = refused(appended(appended(blobs(9, 1), blobs(9, 1), {{"share", 0.5}}), blobs(9, 1)));
  CHECK(contains(without.message(), "drawn with replacement already"));
  CHECK(contains(without.hint(), "give this :append a share too"));

  const std::string one = "a,y\n1,u\n2,v\n";
  const Value first = table("one.csv", one);
  CHECK(contains(message(appended(first, blobs(9, 1))), "its classes are without names, and those here are u, v"));
  CHECK(contains(message(appended(blobs(9, 1), first)), "its classes are u, v, and those here are without names"));
  CHECK(contains(message(appended(first, table("b.csv", "b,y\n1,u\n"))), "\"a\""));
  CHECK(contains(message(appended(first, table("c.csv", "a,y\n1,w\n"))),
                 "has the class \"w\", which the data here lacks"));
  CHECK(
      contains(message(appended(first, table("d.csv", "a,z\n1,u\n", {{"target", "z"}}))), "its target is z, and that"));
  CHECK(contains(message(appended(first, table("e.csv", "a,y\n1,2\n"))), "its target is a number"));
  CHECK(contains(message(method("split", appended(first, first), {{"val", 0.5}})), "before it is divided"));
  CHECK(contains(message(method("fold", appended(first, first), {{"k", 2}, {"index", 0}})), "before it is divided"));
  CHECK(contains(message(appended(method("pack", first, {{"path", fs::absolute("one.pack").string()}}),
                                  table("f.csv", "a,y\n7,u\n2,v\n"))),
                 "its categories, fill values or vocabulary are others"));
  Value augmented = method("augment", data("digits"), {{"entries", Value::List{Value::Map{{"@", "augment.flip"}}}}});
  CHECK(contains(message(appended(augmented, data("digits"))), "augmented or transformed already"));
  CHECK(contains(message(method("split", appended(blobs(9, 1), blobs(9, 1), {{"share", 0.5}}), {{"val", 0.5}})),
                 "drawn with replacement"));
  const Value words = table("words.csv", "t,y\nab,u\nba,v\nb,u\na,v\n", {{"text", "t"}});
  CHECK(open(method("split", appended(words, words), {{"val", 0.5}})).val->size() == 4);
  const Value text = data("text", {{"path", write_file("t.txt", std::string(100, 'a') + "b")}, {"context", 4}});
  CHECK(contains(message(appended(text, text)), "cannot be joined"));
}

}  // namespace trainlab::append_test

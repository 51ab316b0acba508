#include <ATen/ops/equal.h>
#include <ATen/ops/tensor.h>

#include <cmath>

#include "specs.h"

namespace trainlab::table_test {

using namespace test;

namespace {

Value table(const std::string& text, Value::Map options = {}) {
  options["path"] = write_file("t.csv", text);
  options.try_emplace("target", "y");
  return data("csv", options);
}

Error refused(const std::string& text, Value::Map options = {}) {
  return error_of([&] { open(table(text, std::move(options))); });
}

std::string message_of(const std::string& text, Value::Map options = {}) {
  const std::string message = refused(text, std::move(options)).message();
  const std::size_t name = message.find("t.csv");
  return name == std::string::npos ? message : message.substr(name);
}

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("numbers, categories and a numeric target") {
  const DataParts parts = open(table("size,city,year,y\n1.5,Rome,1,10\n-2e1,\"Ac, ra\",2,+20.5\n0,Rome,1,-3\n",
                                     {{"categorical", Value::List{"year"}}}));
  const Dataset& set = *parts.train.data;
  CHECK(set.feature_names == Names{"size", "city=Ac, ra", "city=Rome", "year=1", "year=2"});
  CHECK(set.classes == 0);
  const Batch all = all_of(parts.train);
  CHECK(at::equal(
      all.columns[0],
      at::tensor({1.5f, 0.f, 1.f, 1.f, 0.f, -20.f, 1.f, 0.f, 0.f, 1.f, 0.f, 0.f, 1.f, 1.f, 0.f}).reshape({3, 5})));
  CHECK(at::equal(all.columns[1], at::tensor({10.f, 20.5f, -3.f}).reshape({3, 1})));
}

TEST_CASE("numbers that float32 rounds keep the value of the file in float64") {
  const std::string text = "id,at,y\n16777217,1700000001,0.1\n16777219,1700000003,0.3\n16777221,,0.7\n";
  const auto check_columns = [](const DataParts& parts) {
    const Batch exact = all_of(parts.train, at::kDouble), rounded = all_of(parts.train);
    const at::Tensor x =
        at::tensor({16777217., 1700000001., 16777219., 1700000003., 16777221., 1700000002.}, at::kDouble)
            .reshape({3, 2});
    CHECK(at::equal(exact.columns[0], x));
    CHECK(at::equal(exact.columns[1].flatten().slice(0, 0, 3), at::tensor({0.1, 0.3, 0.7}, at::kDouble)));
    CHECK(at::equal(rounded.columns[0], x.to(at::kFloat)));
    CHECK(rounded.columns[1].scalar_type() == at::kFloat);
  };
  check_columns(open(table(text)));
  check_columns(
      open(data("table", {{"x", Value::List{Value::List{16777217., 1700000001.}, Value::List{16777219., 1700000003.},
                                            Value::List{16777221., 1700000002.}}},
                          {"y", Value::List{0.1, 0.3, 0.7}}})));

  const DataParts several = open(table("a,t,y\n1,16777217,0.1\n2,16777219,0.3\n", {{"target", Value::List{"t", "y"}}}));
  CHECK(at::equal(all_of(several.train, at::kDouble).columns[1],
                  at::tensor({16777217., 0.1, 16777219., 0.3}, at::kDouble).reshape({2, 2})));

  // (x − mean) / deviation of 1, 3 and 5, which float32 numbers near 16,777,217 would not give.
  const DataParts normal = open(method("normalize", table(text, {{"columns", Value::List{"id"}}})));
  const double largest = std::sqrt(1.5);
  CHECK(all_of(normal.train, at::kDouble)
            .columns[0]
            .flatten()
            .sub(at::tensor({-largest, 0., largest}, at::kDouble))
            .abs()
            .max()
            .item<double>() < 1e-8);
}

TEST_CASE("numbers that float32 holds take no more memory than float32") {
  const DataParts parts = open(table("a,y\n1.5,10\n16777216,-0.25\n"));
  for (const Column& column : parts.train.data->columns) CHECK(column.values.scalar_type() == at::kFloat);
}

TEST_CASE("targets of text, and numbers taken as classes, become classes in order") {
  const DataParts text = open(table("a,y\n1,pear\n2,apple\n3,pear\n"));
  CHECK(text.train.data->class_names == Names{"apple", "pear"});
  CHECK(text.train.data->classes == 2);
  CHECK(at::equal(all_of(text.train).columns[1], at::tensor({1, 0, 1}, at::kLong)));

  const DataParts numbers = open(table("a,y\n1,10\n2,9\n3,-1\n4,9\n", {{"task", "classification"}}));
  CHECK(numbers.train.data->class_names == Names{"-1", "9", "10"});
  CHECK(at::equal(all_of(numbers.train).columns[1], at::tensor({2, 1, 0, 1}, at::kLong)));
}

TEST_CASE("missing values: the mean of the training rows, a category of its own") {
  const std::string text = "a,c,y\n1,u,0\n,v,0\n3,,0\nNA,u,0\n100,w,0\nnan,NA,0\n";
  const DataParts all = open(table(text));
  CHECK(all.train.data->feature_names == Names{"a", "c=u", "c=v", "c=w", "c=(missing)"});
  const at::Tensor x = all_of(all.train).columns[0];
  const float mean = 104 / 3.0f;
  CHECK(at::equal(x.select(1, 0), at::tensor({1.f, mean, 3.f, mean, 100.f, mean})));
  CHECK(at::equal(x.select(1, 4), at::tensor({0.f, 0.f, 1.f, 0.f, 0.f, 1.f})));

  // Split until the row of 100 and w is not among the training rows: it then has no say.
  for (int seed = 1;; ++seed) {
    REQUIRE(seed < 100);
    const DataParts parts = open(method("split", table(text), {{"val", 0.34}, {"seed", seed}}));
    const std::vector<std::int64_t> train = rows_of(parts.train);
    const auto has = [&](std::int64_t row) { return std::find(train.begin(), train.end(), row) != train.end(); };
    if (has(4) || !has(0) || !has(1) || !has(2)) continue;
    CHECK(parts.train.data->feature_names == Names{"a", "c=u", "c=v", "c=(missing)"});
    const at::Tensor settled = parts.train.data->find("x")->values;
    CHECK(settled[1][0].item<float>() == 2);
    CHECK(at::equal(settled[4], at::tensor({100.f, 0.f, 0.f, 0.f})));
    const at::Tensor stored = parts.state.at("table");
    const Value state = parse_json({reinterpret_cast<const char*>(stored.const_data_ptr<std::uint8_t>()),
                                    static_cast<std::size_t>(stored.numel())},
                                   "state");
    CHECK(state["inputs"].list()[0]["fill"].number() == 2);
    CHECK(state["inputs"].list()[1]["categories"] == Value(Value::List{"u", "v"}));
    CHECK(state["target"]["names"] == Value(Value::List{"y"}));
    break;
  }
}

TEST_CASE("a normalised table is filled before its moments are taken") {
  const DataParts parts = open(method("normalize", table("a,y\n1,0\n,0\n5,0\n")));
  // 1, 3, 5 has mean 3 and variance 8/3.
  CHECK(parts.state.at("x.mean")[0].item<double>() == 3);
  CHECK(parts.state.at("x.std")[0].item<double>() == Approx(std::sqrt(8 / 3.0)).epsilon(1e-12));
  CHECK(all_of(parts.train).columns[0][1][0].item<float>() == Approx(0).margin(1e-6));
}

TEST_CASE("which columns are inputs") {
  const std::string text = "id,a,b,y\n1,2,3,4\n5,6,7,8\n";
  CHECK(open(table(text)).train.data->feature_names == Names{"id", "a", "b"});
  CHECK(open(table(text, {{"exclude", "id"}})).train.data->feature_names == Names{"a", "b"});
  CHECK(open(table(text, {{"columns", Value::List{"b", "a"}}})).train.data->feature_names == Names{"b", "a"});
  CHECK(contains(refused(text, {{"columns", "a"}, {"exclude", "b"}}).message(), "says already which columns"));
  CHECK(contains(message_of(text, {{"columns", Value::List{"a", "y"}}}), "the target \"y\" cannot be an input too"));
  CHECK(contains(message_of(text, {{"columns", Value::List{"a", "a"}}}), "names \"a\" twice"));
  CHECK(contains(message_of("y\n1\n"), "no column is left beside the target"));
}

TEST_CASE("a compressed table, and one with other delimiters") {
  const std::string path = write_file("t.csv.gz", gzipped("a;y\n1;2\n"));
  const DataParts parts = open(data("csv", {{"path", path}, {"target", "y"}, {"delimiter", ";"}}));
  CHECK(all_of(parts.train).columns[1].item<float>() == 2);
  CHECK(contains(refused("a,y\n1,2\n", {{"delimiter", "ab"}}).what(),
                 "recipe.lua:7: fit.data.delimiter: expected one character"));
}

TEST_CASE("what is wrong with a table is named with line and column") {
  CHECK(message_of("a,y\n1,1\n\nx,2\n") == "t.csv:4: column \"a\": expected a number, found \"x\"");
  CHECK(contains(refused("a,y\n1,1\nx,2\n").hint(), "`categorical = { \"a\" }` makes it one of categories"));
  CHECK(message_of("a,y\n1,1\ninf,2\n") == "t.csv:3: column \"a\": \"inf\" is not finite or too large for float32");
  CHECK(message_of("a,y\n1,1\n1e39,2\n") == "t.csv:3: column \"a\": \"1e39\" is not finite or too large for float32");
  CHECK(message_of("a,y\n1,1\n1e999,2\n") == "t.csv:3: column \"a\": \"1e999\" is not finite or too large for float32");
  CHECK(message_of("a,y\n1,1\n2,nan\n") == "t.csv:3: column \"y\": the target is missing");
  CHECK(message_of("a,y\n1,1\n2,-inf\n") == "t.csv:3: column \"y\": \"-inf\" is not finite or too large for float32");
  CHECK(message_of("a,y\n1,1\n2,b\n") == "t.csv:3: column \"y\": expected a number, found \"b\"");
  CHECK(message_of("a,y\n1,u\n2,b\n", {{"task", "regression"}}) ==
        "t.csv:2: column \"y\": a regression's target is a number, found \"u\"");
  CHECK(message_of("a,b,y\n1,,1\n2,NA,2\n") == "t.csv: column \"b\" has no values at all");
  CHECK(message_of("a,y\n1,1\n2\n") == "t.csv:3: expected 2 fields as in the header, found 1");

  const Error unknown = refused("price,size\n1,2\n", {{"target", "prize"}});
  CHECK(contains(unknown.what(), "recipe.lua:7: fit.data.path: "));
  CHECK(contains(unknown.message(), "there is no column \"prize\", which `target` names"));
  CHECK(unknown.hint() == "did you mean \"price\"?");
  CHECK(refused("price;size\n1;2\n", {{"target", "price"}}).hint() ==
        "the only column is \"price;size\": is the delimiter another one?");
  CHECK(refused("a,b\n1,2\n").hint() == "the columns are a, b");
  CHECK(refused("1.5,u\n1,u\n").hint() ==
        "the columns are 1.5, u; if that line is data, put a line with the columns' names above it");
  CHECK(contains(message_of("a,y\n1,2\n", {{"exclude", "zz"}}), "which `exclude` names"));
  CHECK(contains(message_of("a,y\n1,2\n", {{"categorical", "zz"}}), "which `categorical` names"));
}

TEST_CASE("a table that has a column of numbers without any in the training part is refused") {
  for (int seed = 1;; ++seed) {
    REQUIRE(seed < 100);
    const Value spec = method("split", table("a,y\n1,1\n,2\n,3\n,4\n"), {{"val", 0.5}, {"seed", seed}});
    try {
      open(spec);
    } catch (const Error& error) {
      CHECK(contains(error.message(), "column \"a\" has no values in the rows that train"));
      CHECK(error.path() == "fit.data");
      break;
    }
  }
}

TEST_CASE("several targets, and inputs that are columns of their own") {
  const DataParts parts = open(table("a,b,when,place,t,u\n1,2,5,x,10,-1\n3,4,,y,20,-2\n5,6,7,x,30,-3\n",
                                     {{"target", Value::List{"t", "u"}}, {"more", Value::List{"when", "place"}}}));
  const Dataset& data = *parts.train.data;
  CHECK(data.feature_names == Names{"a", "b"});
  REQUIRE(data.columns.size() == 4);
  CHECK(data.columns[2].name == "when");
  CHECK(data.columns[3].name == "place");
  const Batch all = all_of(parts.train);
  CHECK(at::equal(all.columns[0], at::tensor({1.f, 2.f, 3.f, 4.f, 5.f, 6.f}).reshape({3, 2})));
  CHECK(at::equal(all.columns[1], at::tensor({10.f, -1.f, 20.f, -2.f, 30.f, -3.f}).reshape({3, 2})));
  CHECK(at::equal(all.columns[2], at::tensor({5.f, 6.f, 7.f}).reshape({3, 1})));
  CHECK(at::equal(all.columns[3], at::tensor({1.f, 0.f, 0.f, 1.f, 1.f, 0.f}).reshape({3, 2})));

  const std::string text = "a,b,c\n1,2,p\n3,4,q\n";
  CHECK(contains(message_of(text, {{"target", Value::List{"a", "c"}}}), "several targets are numbers, found \"p\""));
  CHECK(contains(message_of(text, {{"target", Value::List{"a", "b"}}, {"task", "classification"}}),
                 "a classification has one target"));
  CHECK(contains(message_of(text, {{"target", Value::List{"a", "a"}}}), "`target` names \"a\", which is used already"));
  CHECK(contains(message_of(text, {{"target", "a"}, {"more", Value::List{"a"}}}),
                 "`more` names \"a\", which is used already"));
  CHECK(contains(message_of(text, {{"target", "a"}, {"more", Value::List{"b"}}, {"columns", Value::List{"b", "c"}}}),
                 "both name \"b\""));
  CHECK(contains(message_of("x,a,y\n1,2,3\n", {{"target", "y"}, {"more", Value::List{"x"}}}), "a batch has already"));
}

TEST_CASE("a column of text is characters, zeros before it") {
  const std::string text = "name,country\nZoé,fr\nAl,us\n\"Bo B\",us\n";
  const DataParts parts = open(table(text, {{"target", "country"}, {"text", "name"}}));
  const Batch all = all_of(parts.train);
  // Vocabulary: space A B Z l o é, counted from 1.
  CHECK(at::equal(all.columns[0], at::tensor({0, 4, 6, 7, 0, 0, 2, 5, 3, 6, 1, 3}, at::kLong).reshape({3, 4})));
  CHECK(parts.train.data->class_names == Names{"fr", "us"});
  CHECK(parts.state.contains("tokenizer"));

  const Batch cut = all_of(open(table(text, {{"target", "country"}, {"text", "name"}, {"length", 2}})).train);
  CHECK(at::equal(cut.columns[0], at::tensor({4, 6, 2, 5, 3, 6}, at::kLong).reshape({3, 2})));

  CHECK(contains(message_of("n,y\n,1\n", {{"text", "n"}}), "column \"n\": the text is empty"));
  CHECK(contains(message_of("n,y\n\xff,1\n", {{"text", "n"}}), "is not UTF-8"));
  CHECK(contains(message_of("n,y\na,1\n", {{"length", 3}}), "goes with the option `text`"));
  CHECK(contains(message_of("n,y\na,1\n", {{"text", "n"}, {"exclude", Value::List{"n"}}}),
                 "goes without other inputs in x: a column of text is x alone"));
}

TEST_CASE("a column of a million different values is no target of a classification") {
  std::string text = "x,y\n";
  for (int i = 0; i <= 1'000'000; ++i) text += "1," + std::to_string(i) + "\n";
  const Error error = refused(text, {{"task", "classification"}});
  CHECK(contains(error.message(), "column \"y\": 1000001 different targets, expected at most 1000000 classes"));
  CHECK(error.hint() == "task = \"regression\" takes numbers");
}

}  // namespace trainlab::table_test

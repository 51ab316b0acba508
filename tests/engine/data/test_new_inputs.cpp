#include <ATen/ops/equal.h>
#include <ATen/ops/tensor.h>

#include <numeric>

#include "data/new_inputs.h"
#include "specs.h"
#include "tensor/safetensors.h"

namespace trainlab::new_inputs_test {

using namespace test;

namespace {

Value table(const std::string& text, Value::Map options = {}) {
  options["path"] = write_file("trained.csv", text);
  options.try_emplace("target", "y");
  return data("csv", options);
}

// What the model of this data reads.
std::vector<InputColumn> inputs(const DataParts& parts) {
  std::vector<InputColumn> all;
  for (const Column& column : parts.train.data->columns) {
    if (column.name == "y") continue;
    all.push_back({.name = column.name,
                   .shape = column.sample_shape(),
                   .integers = at::isIntegralType(column.batch_type(), /*includeBool=*/true)});
  }
  return all;
}

Batch read(const DataParts& parts, const std::string& file) {
  return all_of(read_inputs(file, inputs(parts), parts.state).part);
}

std::string message_of(const DataParts& parts, const std::string& file) {
  const std::string message = error_of([&] { read(parts, file); }).message();
  const std::size_t name = message.find("new.csv");
  return name == std::string::npos ? message : message.substr(name);
}

}  // namespace

TEST_CASE("the rows of a table come back as training had them, whatever the order of its columns") {
  // Column `more` and missing values; each row of the file is in some part.
  const std::string header = "a,colour,age,y\n";
  const std::string rows = "1,red,3,1\n,blue,4,2\n3,,5,3\n4,red,,4\n5,green,7,5\n6,blue,8,6\n7,red,1,7\n8,red,2,8\n";
  const DataParts parts =
      open(method("normalize", method("split", table(header + rows, {{"more", "age"}}), {{"val", 0.25}, {"seed", 5}})));
  const Batch again = read(parts, write_file("new.csv", header + rows));
  std::size_t seen = 0;
  for (const Part* part : {&parts.train, &*parts.val}) {
    const Batch own = all_of(*part);
    for (std::int64_t i = 0; i < part->size(); ++i, ++seen) {
      CHECK(at::equal(own.columns[0][i], again.columns[0][part->row(i)]));  // x
      CHECK(at::equal(own.columns[2][i], again.columns[1][part->row(i)]));  // age
    }
  }
  CHECK(seen == 8);
  const std::string turned = "age,colour,other,a\n3,red,x,1\n4,blue,,\n";
  const Batch two = read(parts, write_file("new.csv", turned));
  CHECK(at::equal(two.columns[0], again.columns[0].slice(0, 0, 2)));
  CHECK(at::equal(two.columns[1], again.columns[1].slice(0, 0, 2)));
}

TEST_CASE("a category that did not train is none of those that did") {
  const DataParts parts = open(table("colour,y\nred,1\nblue,2\nred,3\n"));
  const Batch batch = read(parts, write_file("new.csv", "colour\nblue\nmauve\n\nNA\nred\n"));
  CHECK(at::equal(batch.columns[0], at::tensor({1.f, 0.f, 0.f, 0.f, 0.f, 0.f, 0.f, 1.f}).reshape({4, 2})));
  const std::vector<std::string> warnings = read_inputs("new.csv", inputs(parts), parts.state).warnings;
  REQUIRE(warnings.size() == 1);
  CHECK(
      warnings[0].ends_with("new.csv:3: column \"colour\": training had no category \"mauve\", (missing), only "
                            "\"blue\", \"red\"; all features of the column are 0 in 2 of 4 rows"));
  const DataParts with_missing = open(table("colour,y\nred,1\n,2\n"));
  const Batch known = read(with_missing, write_file("new.csv", "colour\nNA\nmauve\n"));
  CHECK(at::equal(known.columns[0], at::tensor({0.f, 1.f, 0.f, 0.f}).reshape({2, 2})));
}

TEST_CASE("texts of a table are cut and filled as in training") {
  const DataParts parts = open(table("name,y\nab,1\ncba,2\n", {{"text", "name"}}));
  const Batch batch = read(parts, write_file("new.csv", "name\na\nabcabc\n"));
  CHECK(at::equal(batch.columns[0], at::tensor({0, 0, 1, 1, 2, 3}, at::kLong).reshape({2, 3})));
  CHECK(message_of(parts, write_file("new.csv", "name\nabc\naxe\n"))
            .starts_with("new.csv:3: column \"name\":1: character 2, 'x'"));
}

TEST_CASE("what new rows must have") {
  const DataParts parts = open(table("a,b,y\n1,red,1\n2,blue,2\n"));
  const auto message = [&](const std::string& text) { return message_of(parts, write_file("new.csv", text)); };
  CHECK(message("b\nred\n") == "new.csv: expected the columns of the training data; missing: \"a\"");
  CHECK(message("a,b\n1,red\nx,red\n") == "new.csv:3: column \"a\": expected a number, as in training, found \"x\"");
  CHECK(contains(message("a,b\n1e39,red\n"), "new.csv:2: column \"a\": \"1e39\" is not finite or too large"));
  // x2 is a column that the model reads, and no other name of x1.
  const DataParts two = open(table("x1,x2,y\n1,1,1\n2,2,2\n"));
  const auto hint = [&](const std::string& text) {
    write_file("new.csv", text);
    return error_of([&] { read(two, "new.csv"); }).hint();
  };
  CHECK(hint("z,x2\n1,1\n") == "its columns are z, x2; an input whose value is not known is an empty field");
  CHECK(hint("x2,x_1\n1,1\n") == "is \"x_1\" the column \"x1\"?");
  const DataParts semicolons = open(table("a;y\n1;1\n2;2\n", {{"delimiter", ";"}}));
  CHECK(at::equal(read(semicolons, write_file("new.csv", "z;a\n5;7\n")).columns[0], at::tensor({7.f}).reshape({1, 1})));
}

TEST_CASE("images are brought to the model's input") {
  std::filesystem::create_directories("new-images");
  const NamedTensors golden = load_safetensors(TRAINLAB_SOURCE_DIR "/tests/golden/image_golden.safetensors").tensors;
  const at::Tensor bytes = golden.at("file/rgb.png"), pixels = golden.at("rgb/rgb.png");
  const std::string png(static_cast<const char*>(bytes.const_data_ptr()), static_cast<std::size_t>(bytes.numel()));
  write_file("new-images/b.png", png);
  write_file("new-images/a.PNG", png);
  const std::vector<InputColumn> same{{.name = "x", .shape = pixels.sizes().vec()}};
  const NewInputs inputs = read_inputs("new-images", same, {});
  CHECK(inputs.names == std::vector<std::string>{"a.PNG", "b.png"});
  const at::Tensor x = all_of(inputs.part).columns[0];
  CHECK(at::equal(x[1], pixels.to(at::kFloat).mul(1.0f / 255)));
  CHECK(at::equal(x[0], x[1]));
  const std::vector<InputColumn> columns{{.name = "x", .shape = {1, 4, 4}}};
  CHECK(all_of(read_inputs("new-images/b.png", columns, {}).part).columns[0].sizes() == at::IntArrayRef({1, 1, 4, 4}));
  write_file("new-images/b.png", png.substr(0, png.size() / 2));
  CHECK(contains(error_of([&] { all_of(read_inputs("new-images", columns, {}).part); }).message(), "new-images/b.png"));
  const std::vector<InputColumn> table_model{{.name = "x", .shape = {3}}};
  CHECK(contains(error_of([&] { read_inputs("new-images/b.png", table_model, {}); }).message(),
                 "an image, but the model reads x of numbers [N, 3]"));
  write_file("new-images/notes.txt", "x");
  CHECK(contains(error_of([&] { read_inputs("new-images", columns, {}); }).message(),
                 "expected JPEG and PNG files only, found notes.txt"));
}

TEST_CASE("arrays are found by the names of the columns") {
  const auto file = std::filesystem::absolute("new.safetensors");
  const at::Tensor x = at::tensor({1.f, 2.f, 3.f, 4.f}).reshape({2, 2}),
                   ids = at::tensor({4, 5}, at::kLong).reshape({2, 1});
  save_safetensors(file, {{"x", x}, {"ids", ids}, {"y", x}});
  const std::vector<InputColumn> columns{{.name = "ids", .shape = {1}, .integers = true}, {.name = "x", .shape = {2}}};
  const Batch batch = all_of(read_inputs(file, columns, {}).part);
  CHECK(at::equal(batch.columns[0], ids));
  CHECK(at::equal(batch.columns[1], x));
  const std::vector<InputColumn> other{{.name = "z", .shape = {2}}};
  CHECK(contains(error_of([&] { read_inputs(file, other, {}); }).message(), "there is no array \"z\" in it"));
  CHECK(contains(error_of([&] {
                   inputs_of({{"x", x}, {"ids", x}}, "x", columns, {});
                 }).message(),
                 "expected ids of whole numbers [N, 1], as the model was trained on, found numbers [N, 2]"));
}

}  // namespace trainlab::new_inputs_test

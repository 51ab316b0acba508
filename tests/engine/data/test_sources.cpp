#include <ATen/ops/bincount.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/sin.h>
#include <ATen/ops/tensor.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <numbers>

#include "specs.h"

namespace trainlab::sources_test {

using namespace test;
namespace fs = std::filesystem;

namespace {

std::vector<std::int64_t> label_counts(const Part& part) {
  const at::Tensor counts = at::bincount(all_of(part).columns[1]);
  return {counts.const_data_ptr<std::int64_t>(), counts.const_data_ptr<std::int64_t>() + counts.numel()};
}

Error refused(const Value& value) {
  return error_of([&] { open(value); });
}

// A folder like MNIST's, of 4 + 2 images of 2 × 3 pixels.
std::string small_mnist(const std::string& name) {
  fs::remove_all(name);
  fs::create_directories(name);
  std::string pixels;
  for (int i = 0; i < 24; ++i) pixels += static_cast<char>(i * 10);
  write_file(name + "/train-images-idx3-ubyte", idx_bytes(8, {4, 2, 3}, pixels));
  write_file(name + "/train-labels-idx1-ubyte.gz", gzipped(idx_bytes(8, {4}, std::string("\x07\x00\x09\x01", 4))));
  write_file(name + "/t10k-images.idx3-ubyte.gz", gzipped(idx_bytes(8, {2, 2, 3}, pixels.substr(12))));
  write_file(name + "/t10k-labels.idx1-ubyte", idx_bytes(8, {2}, "\x03\x02"));
  return fs::absolute(name).string();
}

}  // namespace

// The numbers were read from the same files with Python's gzip and NumPy.
TEST_CASE("digits") {
  const DataParts parts = open(data("digits"));
  CHECK(parts.train.size() == 1797);
  CHECK(parts.train.data->classes == 10);
  CHECK_FALSE(parts.val);
  CHECK_FALSE(parts.test);
  const Batch all = all_of(parts.train);
  const at::Tensor x = all.columns[0], y = all.columns[1];
  REQUIRE(x.sizes() == at::IntArrayRef({1797, 1, 8, 8}));
  CHECK(x.scalar_type() == at::kFloat);
  CHECK(parts.train.data->columns[0].batch_type() == at::kFloat);
  CHECK(y.scalar_type() == at::kLong);
  CHECK(x.sum(at::kDouble).item<double>() == 561718.0 / 16);
  CHECK(x[1796].sum(at::kDouble).item<double>() == 392.0 / 16);
  CHECK(x.max().item<float>() == 1);
  CHECK(x.min().item<float>() == 0);
  CHECK(at::equal(x.flatten().slice(0, 0, 16).mul(16),
                  at::tensor({0.f, 0.f, 5.f, 13.f, 9.f, 1.f, 0.f, 0.f, 0.f, 0.f, 13.f, 15.f, 10.f, 15.f, 5.f, 0.f})));
  CHECK(label_counts(parts.train) == std::vector<std::int64_t>{178, 182, 177, 183, 181, 182, 181, 179, 174, 180});
  CHECK(y[1796].item<std::int64_t>() == 8);
}

TEST_CASE("MNIST") {
  const fs::path folder = fs::path(TRAINLAB_SHARED_DATA) / "mnist";
  if (!fs::exists(folder)) {
    WARN("skipped: " << folder << " is not there");
    return;
  }
  const DataParts parts = open(data("mnist", {{"path", folder.string()}}));
  const auto pixels = [](const Part& part) { return part.data->find("x")->values; };
  CHECK(pixels(parts.train).sizes() == at::IntArrayRef({60000, 1, 28, 28}));
  CHECK(pixels(parts.train).scalar_type() == at::kByte);
  CHECK(pixels(parts.train).sum().item<std::int64_t>() == 1567298545);
  CHECK(pixels(*parts.test).sum().item<std::int64_t>() == 264923200);
  CHECK(label_counts(parts.train) ==
        std::vector<std::int64_t>{5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949});
  CHECK(label_counts(*parts.test) == std::vector<std::int64_t>{980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009});
  const Batch one = gather(parts.train, std::vector<std::int64_t>{0});
  CHECK(one.columns[1].item<std::int64_t>() == 5);
  CHECK(one.columns[0].sum(at::kDouble).item<double>() == Approx(27525 / 255.0).epsilon(1e-7));
  CHECK(one.columns[0][0][0][5][16].item<float>() == 126 * (1 / 255.0f));

  const DataParts normal = open(method("normalize", data("mnist", {{"path", folder.string()}})));
  CHECK(normal.state.at("x.mean").item<double>() == Approx(0.1306604762738429).epsilon(1e-7));
  CHECK(normal.state.at("x.std").item<double>() == Approx(0.30810780385646264).epsilon(1e-7));
}

TEST_CASE("a folder of MNIST's form: names with dash or dot, plain or gzip") {
  const DataParts parts = open(data("mnist", {{"path", small_mnist("small")}}));
  const Batch train = all_of(parts.train), test = all_of(*parts.test);
  CHECK(train.columns[0].sizes() == at::IntArrayRef({4, 1, 2, 3}));
  CHECK(train.columns[0][1][0][1][2].item<float>() == 110 * (1 / 255.0f));
  CHECK(at::equal(train.columns[1], at::tensor({7, 0, 9, 1}, at::kLong)));
  CHECK(at::equal(test.columns[1], at::tensor({3, 2}, at::kLong)));
  CHECK(parts.train.data->classes == 10);

  // The normalisation of the training part is the test part's too.
  const DataParts normal = open(method("normalize", data("mnist", {{"path", small_mnist("small")}})));
  const at::Tensor wanted =
      test.columns[0].to(at::kDouble).sub(normal.state.at("x.mean")).div(normal.state.at("x.std"));
  CHECK(all_of(*normal.test).columns[0].sub(wanted).abs().max().item<double>() < 1e-6);
}

TEST_CASE("MNIST: what is wrong with the files") {
  const std::string folder = small_mnist("broken");
  const Value spec = data("mnist", {{"path", folder}});
  const std::string position = "recipe.lua:7: fit.data.path: ";

  SECTION("no folder") {
    const Error error = refused(data("mnist", {{"path", folder + "x"}}));
    CHECK(contains(error.what(), position + "no such file or folder: " + folder + "x"));
    CHECK(contains(error.hint(), "did you mean " + folder + "?"));
  }
  SECTION("a file missing") {
    fs::rename(folder + "/train-images-idx3-ubyte", folder + "/train-images-idx3-byte");
    const Error error = refused(spec);
    CHECK(contains(error.what(), position + "no such file or folder: " + folder + "/train-images-idx3-ubyte.gz"));
    CHECK(contains(error.hint(), "train-images-idx3-byte"));
  }
  SECTION("counts that differ") {
    write_file(folder + "/t10k-labels.idx1-ubyte", idx_bytes(8, {3}, "\x03\x02\x01"));
    CHECK(refused(spec).message() ==
          folder + "/t10k-images.idx3-ubyte.gz holds 2 images, but " + folder + "/t10k-labels.idx1-ubyte 3 labels");
  }
  SECTION("a label out of range") {
    write_file(folder + "/t10k-labels.idx1-ubyte", idx_bytes(8, {2}, "\x03\x0a"));
    CHECK(refused(spec).message() == folder + "/t10k-labels.idx1-ubyte: labels from 3 to 10, expected 0 to 9");
  }
  SECTION("sizes that differ") {
    write_file(folder + "/t10k-images.idx3-ubyte.gz", idx_bytes(8, {2, 1, 3}, "abcdef"));
    CHECK(refused(spec).message() == folder + ": training images are [1, 2, 3], test images [1, 1, 3]");
  }
  SECTION("labels where images belong") {
    write_file(folder + "/train-images-idx3-ubyte", idx_bytes(8, {4}, "abcd"));
    CHECK(contains(refused(spec).message(), "expected images of uint8 [N, height, width], found uint8 [4]"));
  }
  SECTION("a truncated file") {
    write_file(folder + "/train-images-idx3-ubyte", idx_bytes(8, {4, 2, 3}, "abc"));
    CHECK(contains(refused(spec).what(),
                   position + folder + "/train-images-idx3-ubyte: the header promises 4 x 2 x 3 values"));
  }
}

TEST_CASE("data.idx takes any pair of files") {
  const auto pair = [](const std::string& images, const std::string& labels) {
    return data("idx", {{"images", write_file("images.idx", images)}, {"labels", write_file("labels.idx", labels)}});
  };
  const std::string two_labels = idx_bytes(8, {2}, std::string("\x2a\x00", 2));

  const DataParts bytes = open(pair(idx_bytes(8, {2, 3}, "\x01\x02\x03\xff\x05\x06"), two_labels));
  CHECK(bytes.train.data->classes == 43);
  CHECK(all_of(bytes.train).columns[0].sizes() == at::IntArrayRef({2, 3}));
  CHECK(all_of(bytes.train).columns[0][1][0].item<float>() == 255 * (1 / 255.0f));

  const DataParts shorts = open(pair(idx_bytes(0x0b, {2, 1}, "\x01\x02\xff\xfe"), two_labels));
  CHECK(at::equal(all_of(shorts.train).columns[0], at::tensor({258.f, -2.f}).unsqueeze(1)));

  // 1.5 and −2.5 as doubles; the targets of a regression as floats.
  const std::string doubles = idx_bytes(0x0e, {2}, std::string("\x3f\xf8\0\0\0\0\0\0\xc0\x04\0\0\0\0\0\0", 16));
  const std::string floats = idx_bytes(0x0d, {2}, std::string("\x3f\xc0\0\0\xc0\x20\0\0", 8));
  const DataParts numbers = open(pair(doubles, floats));
  CHECK(at::equal(all_of(numbers.train).columns[0], at::tensor({1.5f, -2.5f}).unsqueeze(1)));
  CHECK(at::equal(all_of(numbers.train).columns[1], at::tensor({1.5f, -2.5f}).unsqueeze(1)));
  CHECK(numbers.train.data->classes == 0);

  const std::string nan = idx_bytes(0x0d, {2}, std::string("\x7f\xc0\0\0\xc0\x20\0\0", 8));
  CHECK(contains(refused(pair(doubles, nan)).what(), "recipe.lua:7: fit.data.labels: "));
  CHECK(contains(refused(pair(doubles, nan)).message(), "labels.idx: some values are not finite"));
  CHECK(contains(refused(pair(nan, floats)).what(), "fit.data.images: "));
  // What lies beyond classes marks what does not count, as in data.npy.
  const DataParts marked = open(pair(doubles, idx_bytes(9, {2}, "\x01\xff")));
  CHECK(marked.train.data->classes == 2);
  CHECK(marked.train.data->lowest_label == -1);
  const std::string million("\x00\x0f\x42\x40\x00\x00\x00\x01", 8);
  const DataParts high = open(pair(doubles, idx_bytes(0x0c, {2}, million)));
  CHECK(high.train.data->classes == 2);
  CHECK(high.train.data->highest_mark == 1'000'000);
  CHECK(contains(refused(pair(doubles, idx_bytes(9, {2}, "\xff\xff"))).message(),
                 "labels.idx: labels from -1 to -1, expected whole numbers from 0 to at most 999999"));
  CHECK(contains(refused(pair(doubles, idx_bytes(8, {2, 1}, "ab"))).message(),
                 "whole numbers in one dimension, found uint8 [2, 1]"));
  CHECK(contains(refused(data("idx", {{"images", fs::absolute("image.idx").string()}, {"labels", "/x"}})).hint(),
                 "images.idx"));
}

TEST_CASE("blobs: clouds of the asked width, classes of one size") {
  const DataParts parts = open(data("blobs", {{"samples", 6000}, {"classes", 3}, {"features", 4}, {"deviation", 0.5}}));
  const Batch all = all_of(parts.train);
  CHECK(parts.train.data->classes == 3);
  CHECK(label_counts(parts.train) == std::vector<std::int64_t>{2000, 2000, 2000});
  for (int label = 0; label < 3; ++label) {
    const at::Tensor cloud = all.columns[0].index_select(0, all.columns[1].eq(label).nonzero().flatten());
    // Standard error of a deviation from 2,000 draws: 0.5 / √4000 = 0.008.
    CHECK(cloud.std(0, true).sub(0.5).abs().max().item<double>() < 0.04);
    CHECK(cloud.mean(0).abs().max().item<double>() < 10.1);
  }
  const Batch few =
      all_of(open(data("blobs", {{"samples", 30}, {"classes", 3}, {"features", 4}, {"deviation", 0.5}})).train);
  CHECK(at::equal(few.columns[0], all.columns[0].slice(0, 0, 30)));
  CHECK_FALSE(at::equal(
      few.columns[0],
      all_of(open(data("blobs", {{"samples", 30}, {"features", 4}, {"deviation", 0.5}}), 2).train).columns[0]));
}

TEST_CASE("spirals: without noise every point lies on its arm") {
  const DataParts parts = open(data("spirals", {{"samples", 300}, {"classes", 3}, {"noise", 0}, {"turns", 1.25}}));
  const Batch all = all_of(parts.train);
  for (std::int64_t i = 0; i < 300; ++i) {
    const double x = all.columns[0][i][0].item<double>(), y = all.columns[0][i][1].item<double>();
    const double radius = std::hypot(x, y), label = all.columns[1][i].item<double>();
    const double angle = 2 * std::numbers::pi * (label / 3 + 1.25 * radius);
    REQUIRE(radius < 1);
    REQUIRE(x == Approx(radius * std::cos(angle)).margin(2e-6));
    REQUIRE(y == Approx(radius * std::sin(angle)).margin(2e-6));
  }
}

TEST_CASE("sine: the curve, and noise of the asked width") {
  const Batch exact = all_of(open(data("sine", {{"noise", 0}, {"frequency", 2}})).train);
  REQUIRE(exact.columns[1].sizes() == at::IntArrayRef({1000, 1}));
  const auto curve = [](const at::Tensor& x) { return at::sin(x.to(at::kDouble).mul(4 * std::numbers::pi)); };
  CHECK(exact.columns[1].sub(curve(exact.columns[0])).abs().max().item<double>() < 1e-6);
  const Batch noisy = all_of(open(data("sine", {{"samples", 20000}, {"noise", 0.3}, {"frequency", 2}})).train);
  // Standard error: 0.3 / √40000 = 0.0015.
  CHECK(noisy.columns[1].sub(curve(noisy.columns[0])).std(true).item<double>() == Approx(0.3).margin(0.008));
  CHECK(noisy.columns[0].min().item<float>() >= -1);
  CHECK(noisy.columns[0].max().item<float>() < 1);
}

TEST_CASE("every data entry is documented") {
  for (const Entry* entry : registry().entries()) {
    INFO(entry->name);
    const bool changes_images = entry->kind == "augment";
    CHECK((entry->kind == "data" || entry->kind == "method" || changes_images));
    CHECK_FALSE(entry->doc.empty());
    CHECK(entry->result.empty() == changes_images);
    CHECK_FALSE(entry->sample.empty());
    for (const Option& option : entry->options) CHECK_FALSE(option.doc.empty());
  }
}

}  // namespace trainlab::sources_test

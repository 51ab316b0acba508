// Images from files, augmentation, mixing, transforms and packing, through the loader.
#include <ATen/ops/arange.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <set>

#include "augment/augmentation.h"
#include "core/files.h"
#include "data/batch_object.h"
#include "data/rng_object.h"
#include "loader/filling.h"
#include "methods/packed_file.h"
#include "specs.h"
#include "support/pack_bytes.h"
#include "support/tar_support.h"
#include "tensor/npy.h"
#include "tensor/safetensors.h"

namespace trainlab::augment_test {

using namespace test;

namespace {

std::string golden_file(const std::string& name) {
  const NamedTensors all = load_safetensors(TRAINLAB_SOURCE_DIR "/tests/golden/image_golden.safetensors").tensors;
  const at::Tensor& bytes = all.at("file/" + name);
  return {static_cast<const char*>(bytes.const_data_ptr()), static_cast<std::size_t>(bytes.numel())};
}

// 12 training and 2 test images in two classes.
std::string archive() {
  std::string tar;
  const std::string files[] = {golden_file("420.jpg"), golden_file("444.jpg"), golden_file("rgb.png"),
                               golden_file("progressive.jpg")};
  for (std::size_t i = 0; i < 12; ++i)
    tar += tar_entry(
        "train/" + std::string(i % 3 ? "dog" : "cat") + "/" + std::to_string(i) + (i % 4 == 2 ? ".png" : ".jpg"),
        files[i % 4]);
  tar += tar_entry("test/cat/1.jpg", files[0]) + tar_entry("test/dog/1.jpg", files[1]);
  return write_file("set.tar", tar + tar_end());
}

Value augment(const std::string& name, Value::Map options = {}) {
  options["@"] = "augment." + name;
  return options;
}

Value images(Value::Map options = {}) {
  options["path"] = archive();
  return data("images", options);
}

// Two epochs of a part's batches.
std::vector<Batch> batches_of(const Part& part, int threads, Key key = Key(5)) {
  Loader loader(part, {.batch = 5, .threads = threads}, {key}, false);
  std::vector<Batch> all;
  for (std::int64_t i = 0; i < 2 * loader.batches_per_epoch(); ++i) all.push_back(loader.next());
  return all;
}

bool same(const std::vector<Batch>& a, const std::vector<Batch>& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i)
    for (std::size_t c = 0; c < a[i].columns.size(); ++c)
      if (!at::equal(a[i].columns[c], b[i].columns[c])) return false;
  return true;
}

const Value every_change =
    Value::List{augment("crop", {{"padding", 3}}),
                augment("flip"),
                augment("resize", {{"area", Value::List{0.3, 1.0}}}),
                augment("rotate"),
                augment("color", {{"brightness", 0.3}, {"contrast", 0.3}, {"saturation", 0.3}, {"hue", 0.1}}),
                augment("rand_augment"),
                augment("noise"),
                augment("cutout", {{"size", 5}}),
                augment("erase")};

// Adds 1 to x; remembers what it was called with.
class AddOne : public Callable {
 public:
  std::vector<Argument> call(std::span<const Argument> arguments) override {
    const auto batch = std::dynamic_pointer_cast<BatchObject>(std::get<std::shared_ptr<Object>>(arguments[0]));
    auto& rng = dynamic_cast<RngObject&>(*std::get<std::shared_ptr<Object>>(arguments[1]));
    seeds.push_back(rng.stream.next_u64());
    batch->columns["x"] = batch->columns["x"].add(1);
    if (spoils) batch->columns["x"] = batch->columns["x"].slice(0, 1);
    return {std::shared_ptr<Object>(batch)};
  }
  void rekey(Key key) override { keys.push_back(key); }
  const std::string& where() const override { return where_; }
  std::vector<std::uint64_t> seeds;
  std::vector<Key> keys;
  bool spoils = false;

 private:
  std::string where_ = "recipe.lua:9";
};

}  // namespace

TEST_CASE("images: decoded as they are asked for, scaled, with names of classes") {
  const DataParts parts = open(images());
  CHECK(parts.train.size() == 12);
  REQUIRE(parts.test);
  CHECK(parts.train.data->class_names == std::vector<std::string>{"cat", "dog"});
  CHECK(parts.train.data->find("x")->sample_shape() == Shape{3, 20, 27});
  const Batch all = all_of(parts.train);
  const NamedTensors golden = load_safetensors(TRAINLAB_SOURCE_DIR "/tests/golden/image_golden.safetensors").tensors;
  // Sorted by name: cat/0, cat/3, cat/6, cat/9, dog/1, dog/10, …
  CHECK(at::equal(all.columns[0][0], golden.at("rgb/420.jpg").to(at::kFloat).mul(1.0f / 255)));
  CHECK(at::equal(all.columns[0][5], golden.at("rgb/rgb.png").to(at::kFloat).mul(1.0f / 255)));
  CHECK(all.columns[1].sum().item<std::int64_t>() == 8);
  CHECK(open(images({{"size", 9}, {"channels", 1}})).train.data->find("x")->sample_shape() == Shape{1, 9, 9});

  const DataParts normal = open(method("normalize", method("split", images(), {{"val", 0.25}, {"seed", 3}})));
  const at::Tensor x = all_of(normal.train).columns[0];
  CHECK(x.mean(at::IntArrayRef({0, 2, 3})).abs().max().item<float>() < 1e-5f);
  const DataParts given = open(method("normalize", images(), {{"mean", Value::List{0.5}}, {"std", Value::List{0.25}}}));
  CHECK(all_of(given.train).columns[0].sub(all.columns[0].sub(0.5).div(0.25)).abs().max().item<float>() < 1e-5f);
}

TEST_CASE("append: images are made when a batch is gathered, decoded ones and packed ones alike") {
  std::filesystem::remove("set.pack");
  const Value packed = method("pack", images(), {{"path", std::filesystem::absolute("set.pack").string()}});
  const at::Tensor x = all_of(open(images()).train).columns[0];
  for (const Value& first : {images(), packed}) {
    for (const Value& second : {images(), packed}) {
      const DataParts both = open(method("append", first, {{"data", second}}));
      CHECK(both.train.size() == 24);
      const Batch all = all_of(both.train);
      CHECK(at::equal(all.columns[0].slice(0, 0, 12), x));
      CHECK(at::equal(all.columns[0].slice(0, 12, 24), x));
      CHECK(same(batches_of(both.train, 0), batches_of(both.train, 2)));
    }
  }
}

TEST_CASE("images of different sizes are refused by name unless a size is given") {
  const std::string path = write_file(
      "mixed.tar", tar_entry("a/1.jpg", golden_file("420.jpg")) + tar_entry("a/2.jpg", "\xff\xd8 broken") + tar_end());
  const DataParts parts = open(data("images", {{"path", path}}));
  const Error error = error_of([&] { all_of(parts.train); });
  CHECK(contains(error.message(), "mixed.tar: a/2.jpg: damaged JPEG"));
  for (const int threads : {0, 2}) {
    Loader loader(parts.train, {.batch = 2, .threads = threads}, {Key(1)}, false);
    CHECK(contains(error_of([&] { loader.next(); }).message(), "a/2.jpg"));
  }
}

TEST_CASE("augmentation: a function of seed, epoch and sample; other parts are untouched") {
  const Value plain = method("split", images(), {{"val", 0.25}, {"seed", 3}});
  const DataParts raw = open(plain), parts = open(method("augment", plain, {{"entries", every_change}}));
  REQUIRE(parts.train.augmentation);
  CHECK(!parts.val->augmentation);
  CHECK(!parts.test->augmentation);
  const std::vector<Batch> right = batches_of(parts.train, 0);
  for (const int threads : {1, 4}) CHECK(same(batches_of(parts.train, threads), right));
  CHECK(!same(batches_of(raw.train, 0), right));
  CHECK(!same(batches_of(parts.train, 0, Key(6)), right));
  CHECK(same(batches_of(*parts.val, 2), batches_of(*raw.val, 0)));

  // From the middle, as after a resume.
  Loader loader(parts.train, {.batch = 5, .threads = 2}, {Key(5)}, false);
  loader.seek(1, 5);
  CHECK(at::equal(loader.next().columns[0], right[3].columns[0]));

  // A sample is another image in the next epoch, and the same one whatever the size of the batch.
  Loader single(parts.train, {.batch = 1}, {Key(5)}, false);
  for (std::int64_t i = 0; i < 5; ++i) CHECK(at::equal(single.next().columns[0][0], right[0].columns[0][i]));
}

TEST_CASE("augmentation: entries do what they say") {
  const at::Tensor stored = at::arange(2 * 3 * 8 * 8, at::kLong).remainder(251).to(at::kByte).reshape({2, 3, 8, 8});
  const auto changed = [&](const Value& entry, std::uint64_t seed) {
    Augmentation augmentation({3, 8, 8}, 255, 2);
    auto spec = std::make_shared<Spec>();
    spec->value = registry().check(entry);
    const Options options(registry(), spec, "augment");
    augmentation.add(std::any_cast<ImageChangeFactory>(options.entry().implementation)(options, augmentation));
    at::Tensor image = stored[0].clone();
    augmentation.change(image.mutable_data_ptr<std::uint8_t>(), Key(seed));
    return image;
  };
  int mirrored = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const at::Tensor flipped = changed(augment("flip"), seed);
    const bool is = at::equal(flipped, stored[0].flip({2}));
    CHECK((is || at::equal(flipped, stored[0])));
    mirrored += is;

    const at::Tensor cropped = changed(augment("crop", {{"padding", 2}}), seed);
    const at::Tensor padded = at::zeros({3, 12, 12}, at::kByte);
    padded.slice(1, 2, 10).slice(2, 2, 10).copy_(stored[0]);
    int found = 0;
    for (std::int64_t y = 0; y < 5; ++y)
      for (std::int64_t x = 0; x < 5; ++x) found += at::equal(cropped, padded.slice(1, y, y + 8).slice(2, x, x + 8));
    CHECK(found == 1);

    const at::Tensor cut = changed(augment("cutout", {{"size", 4}}), seed);
    const std::int64_t holes = cut.ne(stored[0]).any(0).sum().item<std::int64_t>();
    CHECK(holes >= 3);
    CHECK(holes <= 16);
  }
  CHECK(mirrored > 70);
  CHECK(mirrored < 130);
  CHECK(at::equal(changed(augment("flip", {{"p", 0}}), 1), stored[0]));
  CHECK(at::equal(changed(augment("flip", {{"axis", "vertical"}, {"p", 1}}), 1), stored[0].flip({1})));
  CHECK(at::equal(changed(augment("rotate", {{"degrees", 0}}), 1), stored[0]));
}

TEST_CASE("noise has its own deviation on bytes, whatever their steps, and keeps images within 0…1") {
  const auto noise = [](double deviation) { return Value::List{augment("noise", {{"deviation", deviation}})}; };
  const Value normal = method("normalize", images(), {{"mean", Value::List{0.5}}, {"std", Value::List{0.25}}});
  const auto noisy = [&](const Value& source, double deviation, at::ScalarType type = at::kFloat) {
    const DataParts parts = open(method("augment", source, {{"entries", noise(deviation)}}));
    Loader loader(parts.train, {.batch = 12, .threads = 0, .float_type = type}, {Key(5)}, false);
    const Batch batch = loader.next();
    return batch.columns[0].sub(all_of(open(source).train, type).columns[0].index_select(0, batch.index));
  };
  // A hundredth of the step between two bytes; 19,440 draws, of which the image's black and white cut some.
  const at::Tensor small = noisy(images(), 0.01 / 255);
  CHECK(small.ne(0).to(at::kFloat).mean().item<double>() > 0.9);
  CHECK(small.std().item<double>() == Approx(0.01 / 255).epsilon(0.1));
  const at::Tensor scaled = noisy(normal, 0.01 / 255, at::kDouble);
  CHECK(scaled.std().item<double>() == Approx(0.01 / 255 / 0.25).epsilon(0.1));

  const DataParts loud = open(method("augment", images(), {{"entries", noise(2)}}));
  Loader loader(loud.train, {.batch = 12, .threads = 0}, {Key(5)}, false);
  const at::Tensor x = loader.next().columns[0];
  CHECK(x.min().item<float>() >= 0);
  CHECK(x.max().item<float>() <= 1.00001f);
}

TEST_CASE("noise on columns of numbers is neither rounded nor clipped, and other changes want images") {
  const at::Tensor values = at::arange(4000, at::kFloat).sub(2000).reshape({400, 10});
  const Value source = data("npy", {{"x", write_file("numbers.npy", npy_bytes(values, "numbers.npy"))}});
  const auto with = [&](const Value& entry) { return method("augment", source, {{"entries", Value::List{entry}}}); };
  const DataParts parts = open(with(augment("noise", {{"deviation", 0.3}})));
  for (const at::ScalarType type : {at::kFloat, at::kDouble}) {
    Loader loader(parts.train, {.batch = 400, .threads = 0, .float_type = type}, {Key(5)}, false);
    const Batch batch = loader.next();
    const at::Tensor added = batch.columns[0].sub(values.to(type).index_select(0, batch.index));
    CHECK(std::abs(added.mean().item<double>()) < 0.024);  // five standard errors
    CHECK(added.std().item<double>() == Approx(0.3).epsilon(0.06));
  }
  CHECK(same(batches_of(parts.train, 0), batches_of(parts.train, 3)));
  const Error refused = error_of([&] { open(with(augment("flip"))); });
  CHECK(contains(refused.message(), "no images to augment"));
  CHECK(contains(refused.hint(), "augment.noise"));
}

TEST_CASE("mixup and cutmix: shares of targets follow the images") {
  for (const char* kind : {"mixup", "cutmix"}) {
    const Value list = Value::List{augment(kind, {{"alpha", 1.0}})};
    const DataParts raw = open(images()), parts = open(method("augment", images(), {{"entries", list}}));
    const std::vector<Batch> mixed = batches_of(parts.train, 0), plain = batches_of(raw.train, 0);
    CHECK(same(batches_of(parts.train, 3), mixed));
    for (std::size_t i = 0; i < mixed.size(); ++i) {
      const at::Tensor y = mixed[i].columns[1], x = mixed[i].columns[0];
      REQUIRE(y.sizes() == at::IntArrayRef({mixed[i].size, 2}));
      CHECK(y.sum(1).sub(1).abs().max().item<float>() < 1e-6f);
      const at::Tensor other = plain[i].columns[0].roll({1}, {0}), labels = plain[i].columns[1];
      const Mix mix = parts.train.augmentation->mix(Key(5)
                                                        .fold("augment")
                                                        .fold(static_cast<std::uint64_t>(mixed[i].epoch))
                                                        .fold("batch")
                                                        .fold(static_cast<std::uint64_t>(mixed[i].position / 5)));
      if (std::string(kind) == "mixup") {
        const at::Tensor right = plain[i].columns[0].mul(mix.lambda).add(other.mul(1 - mix.lambda));
        CHECK(x.sub(right).abs().max().item<float>() < 1e-6f);
      } else {
        const at::Tensor right = plain[i].columns[0].clone();
        const auto patch = [&](const at::Tensor& t) {
          return t.slice(2, mix.top, mix.top + mix.height).slice(3, mix.left, mix.left + mix.width);
        };
        patch(right).copy_(patch(other));
        CHECK(at::equal(x, right));
        CHECK(mix.lambda == Approx(1 - mix.height * mix.width / (20.0 * 27)));
      }
      const at::Tensor own = y.gather(1, labels.unsqueeze(1)).squeeze(1), alike = labels.eq(labels.roll({1}, {0}));
      CHECK(own.sub(alike.to(at::kFloat).mul(1 - mix.lambda).add(mix.lambda)).abs().max().item<float>() < 1e-6f);
    }
  }
}

TEST_CASE("lambda of mixup follows its beta distribution") {
  for (const double alpha : {0.2, 1.0, 4.0}) {
    Augmentation augmentation({1, 4, 4}, 255, 2);
    augmentation.add(Mixing{.cuts = false, .alpha = alpha, .probability = 1});
    double sum = 0, squares = 0;
    constexpr int n = 20000;
    for (std::uint64_t i = 0; i < n; ++i) {
      const double lambda = augmentation.mix(Key(9).fold(i)).lambda;
      sum += lambda;
      squares += lambda * lambda;
    }
    const double mean = sum / n, variance = squares / n - mean * mean;
    CHECK(mean == Approx(0.5).margin(0.01));
    CHECK(variance == Approx(1 / (4 * (2 * alpha + 1))).margin(0.005));
  }
}

TEST_CASE("augmentation is refused where it would do harm or nothing") {
  const Value list = Value::List{augment("flip")};
  const auto refused = [](const Value& value) { return error_of([&] { open(value); }).message(); };
  CHECK(contains(refused(method("augment", data("blobs"), {{"entries", list}})), "the data has no images to augment"));
  const Value augmented = method("augment", images(), {{"entries", list}});
  CHECK(contains(refused(method("split", augmented, {{"val", 0.2}})), "the data is split after it is augmented"));
  CHECK(contains(refused(method("augment", augmented, {{"entries", list}})), "augmented already"));
  CHECK(contains(refused(method("augment", data("digits"), {{"entries", Value::List{augment("rand_augment")}}})),
                 "go from 0 to 16"));
  CHECK(contains(refused(method("augment", images(), {{"entries", Value::List{augment("crop", {{"padding", 20}})}}})),
                 "expected less than the 20 pixels"));
  for (const auto& [entry, option] : {std::pair{"crop", "padding"}, std::pair{"cutout", "size"}}) {
    CAPTURE(entry);
    CHECK(contains(
        refused(method("augment", images(), {{"entries", Value::List{augment(entry, {{option, 4294967297}})}}})),
        "16384"));
  }
}

TEST_CASE("pack: the same batches from the file, made anew when the source changes") {
  const Value source = images();
  std::filesystem::remove("set.pack");
  const std::string path = (std::filesystem::current_path() / "set.pack").string();
  const auto packed = [&](const Value& of) {
    return method("split", method("pack", of, {{"path", path}}), {{"val", 0.25}, {"seed", 3}});
  };
  const DataParts direct = open(method("split", source, {{"val", 0.25}, {"seed", 3}}));
  const DataParts first = open(packed(source));
  CHECK(first.train.data->find("x")->values.defined());
  CHECK(first.train.data->class_names == direct.train.data->class_names);
  const auto made = std::filesystem::last_write_time(path);
  const DataParts again = open(packed(source));
  CHECK(std::filesystem::last_write_time(path) == made);
  for (const DataParts* parts : {&first, &again}) {
    CHECK(same(batches_of(parts->train, 2), batches_of(direct.train, 0)));
    CHECK(same(batches_of(*parts->val, 1), batches_of(*direct.val, 0)));
    CHECK(same(batches_of(*parts->test, 1), batches_of(*direct.test, 0)));
  }
  // Other options, or a source that was touched.
  CHECK(open(packed(images({{"size", 9}}))).train.data->find("x")->sample_shape() == Shape{3, 9, 9});
  open(packed(source));
  const auto now = std::filesystem::file_time_type::clock::now();
  std::filesystem::last_write_time(path, now - std::chrono::hours(2));
  std::filesystem::last_write_time("set.tar", now - std::chrono::hours(1));
  open(packed(source));
  CHECK(std::filesystem::last_write_time(path) > now - std::chrono::hours(2));

  // Tables keep what new data needs: scale, shift and state.
  const Value normal = method("normalize", method("split", data("digits"), {{"val", 0.2}, {"seed", 1}}));
  const DataParts digits = open(method("pack", normal, {{"path", path}})), plain = open(normal);
  CHECK(same(batches_of(digits.train, 1), batches_of(plain.train, 0)));
  CHECK(at::equal(digits.state.at("x.mean"), plain.state.at("x.mean")));

  // What is cut short, changed or something else; a form that is no longer written is made anew.
  const std::string whole = read_file(path);
  for (const std::size_t place : {std::size_t{40}, whole.size() / 2, whole.size() - 1}) {
    std::string changed = whole;
    changed[place] = static_cast<char>(changed[place] ^ 1);
    write_file("set.pack", changed);
    CHECK(contains(error_of([&] { open(method("pack", normal, {{"path", path}})); }).message(), "its hash is another"));
  }
  write_file("set.pack", whole.substr(0, whole.size() - 200));
  CHECK(contains(error_of([&] { open(method("pack", normal, {{"path", path}})); }).message(), "is damaged"));
  write_file("set.pack", "trainlab-pack 1\n" + whole.substr(16));
  open(method("pack", normal, {{"path", path}}));
  CHECK(read_file(path) == whole);
  write_file("set.pack", "my only copy of something");
  CHECK(contains(error_of([&] { open(packed(source)); }).message(), "is there, and is no packed data"));
}

TEST_CASE("pack: what a file says of itself is not believed") {
  struct Change {
    const char* from;
    const char* to;
    const char* message;
  };
  const std::string x = R"({"name":"x","as_int64":false,"values":{"type":0,"shape":[4,2],"offset":0},)"
                        R"("scale":{"type":6,"shape":[2],"offset":128}})";
  const std::string y = R"({"name":"y","as_int64":true,"values":{"type":0,"shape":[4],"offset":64}})";
  const std::string header =
      R"({"key":"k","state":{},"train":{"size":4,"classes":2,"class_names":[],"feature_names":[],"columns":[)" + x +
      "," + y + "]}}";
  std::string tensors(192, '\0');
  tensors[66] = 1;
  const auto open_changed = [&](const std::string& from, const std::string& to) {
    std::string changed = header;
    const std::size_t place = changed.find(from);
    REQUIRE(place != std::string::npos);
    write_file("lies.pack", test::pack_bytes(changed.replace(place, from.size(), to), tensors));
    return open_packed("lies.pack", "k");
  };
  REQUIRE(open_changed("4", "4").has_value());
  CHECK_FALSE(open_changed("\"k\"", "\"other\"").has_value());
  const Change change = GENERATE(
      Change{R"("size":4)", R"("size":9)", "train.x"}, Change{R"("size":4)", R"("size":90000000)", "train.x"},
      Change{R"("size":4)", R"("size":"4")", "train"}, Change{R"("size":4)", R"("size":-4)", "train"},
      Change{R"("type":0)", R"("type":99)", "train.x"}, Change{R"("type":0)", R"("type":-1)", "train.x"},
      Change{R"("type":6)", R"("type":7)", "train.x"}, Change{R"([2],"offset":128)", R"([3],"offset":128)", "train.x"},
      Change{R"("offset":0)", R"("offset":-64)", "train.x"}, Change{R"("offset":0)", R"("offset":8)", "train.x"},
      Change{R"("offset":64)", R"("offset":192)", "train.y"}, Change{R"("shape":[4])", R"("shape":[5])", "train.y"},
      Change{R"([4,2])", R"([4,281474976710656,281474976710656])", "train.x"},
      Change{R"([4,2])", R"([4,0])", "train.x"}, Change{R"("classes":2)", R"("classes":1)", "train.y"},
      Change{R"("class_names":[])", R"("class_names":["a"])", "train"},
      Change{R"("name":"y")", R"("name":"x")", "train"}, Change{R"("as_int64":false)", R"("as_int64":true)", "train.x"},
      Change{R"("state":{})", R"("state":[])", "state"});
  CAPTURE(change.from, change.to);
  CHECK(contains(error_of([&] { open_changed(change.from, change.to); }).message(),
                 std::string("lies.pack: the packed data is damaged (what it says of ") + change.message + ")"));
}

TEST_CASE("transforms: in the order of batches, keyed by their place") {
  Part part = open(images()).train;
  const auto function = std::make_shared<AddOne>();
  const std::vector<Batch> plain = batches_of(part, 2);
  part.transforms = {function};
  const std::vector<Batch> changed = batches_of(part, 2);
  REQUIRE(changed.size() == plain.size());
  for (std::size_t i = 0; i < plain.size(); ++i) CHECK(at::equal(changed[i].columns[0], plain[i].columns[0].add(1)));
  CHECK(function->keys.size() == changed.size());
  const std::vector<std::uint64_t> seeds = function->seeds;
  CHECK(std::set<std::uint64_t>(seeds.begin(), seeds.end()).size() == seeds.size());
  Loader loader(part, {.batch = 5}, {Key(5)}, false);
  loader.seek(1, 5);
  CHECK(loader.take_transform_seconds() == 0);
  loader.next();
  CHECK(loader.take_transform_seconds() > 0);
  CHECK(loader.take_transform_seconds() == 0);
  CHECK(function->seeds.back() == seeds[4]);

  function->spoils = true;
  const Error error = error_of([&] { loader.next(); });
  CHECK(contains(error.headline(),
                 "recipe.lua:9: the transform changed column x from float32 [2, 3, 20, 27] to float32 [1, 3"));
}

}  // namespace trainlab::augment_test

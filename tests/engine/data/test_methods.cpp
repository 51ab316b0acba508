#include <algorithm>
#include <map>

#include "specs.h"

namespace trainlab::methods_test {

using namespace test;

namespace {

std::vector<std::int64_t> sorted(std::vector<std::int64_t> rows) {
  std::sort(rows.begin(), rows.end());
  return rows;
}

std::vector<std::int64_t> joined(const DataParts& parts) {
  std::vector<std::int64_t> all = rows_of(parts.train);
  for (const auto& part : {parts.val, parts.test}) {
    if (!part) continue;
    const std::vector<std::int64_t> more = rows_of(*part);
    all.insert(all.end(), more.begin(), more.end());
  }
  return all;
}

std::vector<std::int64_t> first(std::int64_t n) {
  std::vector<std::int64_t> all;
  for (std::int64_t i = 0; i < n; ++i) all.push_back(i);
  return all;
}

Value blobs(int samples, int classes = 3) {
  return data("blobs", {{"samples", samples}, {"classes", classes}, {"seed", 1}});
}

Error refused(const Value& value) {
  return error_of([&] { open(value); });
}

// Mean and standard deviation in double, over all but the axis `channel` (1).
void check_standard(const at::Tensor& x, double tolerance) {
  const at::Tensor flat = x.to(at::kDouble).transpose(0, 1).flatten(1);
  for (std::int64_t c = 0; c < flat.size(0); ++c) {
    CHECK(flat[c].mean().item<double>() == Approx(0).margin(tolerance));
    CHECK(flat[c].std(false).item<double>() == Approx(1).margin(tolerance));
  }
}

}  // namespace

TEST_CASE("split: parts are disjoint, complete, of the asked sizes, and a function of the seed") {
  const Value spec = method("split", data("digits"), {{"train", 0.8}, {"val", 0.1}, {"test", 0.1}, {"seed", 7}});
  const DataParts parts = open(spec);
  CHECK(parts.train.size() == 1438);
  CHECK(parts.val->size() == 179);
  CHECK(parts.test->size() == 180);
  CHECK(sorted(joined(parts)) == first(1797));
  CHECK(joined(open(spec)) == joined(parts));
  CHECK(joined(open(method("split", data("digits"), {{"train", 0.8}, {"val", 0.1}, {"test", 0.1}, {"seed", 8}}))) !=
        joined(parts));
  CHECK(rows_of(parts.train) != sorted(rows_of(parts.train)));

  // Without a seed of its own it follows the run's.
  const Value unseeded = method("split", blobs(50), {{"val", 0.5}});
  CHECK(joined(open(unseeded, 1)) == joined(open(unseeded, 1)));
  CHECK(joined(open(unseeded, 1)) != joined(open(unseeded, 2)));
}

TEST_CASE("split: what the fractions leave") {
  const DataParts rest = open(method("split", blobs(100), {{"val", 0.25}}));
  CHECK(rest.train.size() == 75);
  CHECK(rest.val->size() == 25);
  CHECK_FALSE(rest.test);

  const DataParts unused = open(method("split", blobs(100), {{"train", 0.5}, {"val", 0.2}}));
  CHECK(unused.train.size() == 50);
  CHECK(unused.val->size() == 20);
  CHECK_FALSE(unused.test);
}

TEST_CASE("split: stratified parts keep the classes' shares") {
  const DataParts parts =
      open(method("split", data("digits"), {{"val", 0.1}, {"test", 0.2}, {"stratify", true}, {"seed", 3}}));
  CHECK(sorted(joined(parts)) == first(1797));
  const std::int64_t counts[10] = {178, 182, 177, 183, 181, 182, 181, 179, 174, 180};
  for (const auto& [part, share] : {std::pair{parts.train, 0.7}, {*parts.val, 0.1}, {*parts.test, 0.2}}) {
    std::map<std::int64_t, int> found;
    const at::Tensor labels = all_of(part).columns[1];
    for (std::int64_t i = 0; i < part.size(); ++i) ++found[labels.const_data_ptr<std::int64_t>()[i]];
    for (std::int64_t c = 0; c < 10; ++c) CHECK(std::abs(found[c] - share * static_cast<double>(counts[c])) <= 1);
  }
}

TEST_CASE("split: what is refused") {
  const Error sum = refused(method("split", blobs(10), {{"train", 0.8}, {"val", 0.3}}));
  CHECK(std::string(sum.what()) == "recipe.lua:7: fit.data: the fractions add up to 1.1, which is more than 1");
  CHECK(refused(method("split", blobs(10), {{"val", 0.5}, {"test", 0.5}})).message() == "nothing is left for training");
  CHECK(refused(method("split", blobs(4), {{"val", 0.1}})).message() ==
        "no sample is left for this part: the data has 4 samples");
  CHECK(contains(refused(method("split", method("split", blobs(10), {{"val", 0.5}}), {{"val", 0.5}})).message(),
                 "has a validation part already"));
  CHECK(contains(refused(method("split", method("split", blobs(10), {{"test", 0.5}}), {{"test", 0.5}})).message(),
                 "already has a test part (5 samples)"));
  CHECK(
      contains(refused(method("split", data("sine"), {{"val", 0.5}, {"stratify", true}})).message(), "has no classes"));
  CHECK(contains(refused(method("split", method("normalize", blobs(10)), {{"val", 0.5}})).message(),
                 "normalised before it is divided"));
}

TEST_CASE("split: a test part of before is kept") {
  const DataParts before = open(method("split", blobs(100), {{"test", 0.2}, {"seed", 1}}));
  const DataParts after =
      open(method("split", method("split", blobs(100), {{"test", 0.2}, {"seed", 1}}), {{"val", 0.25}}));
  CHECK(rows_of(*after.test) == rows_of(*before.test));
  CHECK(after.train.size() == 60);
  CHECK(after.val->size() == 20);
  CHECK(sorted(joined(after)) == first(100));
}

TEST_CASE("take keeps n samples of each part, a smaller n a subset") {
  const Value source = method("split", blobs(100), {{"val", 0.3}, {"seed", 2}});
  const DataParts all = open(source), ten = open(method("take", source, {{"n", 10}, {"seed", 5}})),
                  forty = open(method("take", source, {{"n", 40}, {"seed", 5}}));
  CHECK(ten.train.size() == 10);
  CHECK(ten.val->size() == 10);
  CHECK(forty.train.size() == 40);
  CHECK(forty.val->size() == 30);  // all that it had
  const std::vector<std::int64_t> few = rows_of(ten.train), more = rows_of(forty.train);
  CHECK(std::equal(few.begin(), few.end(), more.begin()));
  const std::vector<std::int64_t> whole = sorted(rows_of(all.train)), kept = sorted(more);
  CHECK(std::includes(whole.begin(), whole.end(), kept.begin(), kept.end()));
  CHECK(sorted(rows_of(*forty.val)) == sorted(rows_of(*all.val)));
  CHECK(rows_of(open(method("take", source, {{"n", 10}, {"seed", 6}})).train) != few);
}

TEST_CASE("normalize: mean 0 and deviation 1 over the training part, and only over it") {
  SECTION("flat features") {
    const Value source = method("split", data("blobs", {{"samples", 400}, {"features", 5}}), {{"val", 0.5}});
    const DataParts raw = open(source), parts = open(method("normalize", source));
    check_standard(all_of(parts.train).columns[0], 1e-6);

    const at::Tensor train = all_of(raw.train, at::kDouble).columns[0], val = all_of(*raw.val, at::kDouble).columns[0];
    const at::Tensor mean = train.mean(0), std = train.std(0, false);
    CHECK(mean.sub(parts.state.at("x.mean")).abs().max().item<double>() < 1e-12);
    CHECK(std.sub(parts.state.at("x.std")).abs().max().item<double>() < 1e-12);
    const at::Tensor wanted = val.sub(mean).div(std);
    CHECK(wanted.sub(all_of(*parts.val).columns[0]).abs().max().item<double>() < 2e-6);
    CHECK(all_of(*parts.val).columns[0].mean(0).abs().max().item<double>() > 1e-3);
  }
  SECTION("images have one mean a channel, on top of the source's scale") {
    const Value source = method("split", data("digits"), {{"val", 0.2}, {"seed", 7}});
    const DataParts raw = open(source), parts = open(method("normalize", source));
    CHECK(parts.state.at("x.mean").sizes() == at::IntArrayRef({1, 1, 1}));
    const at::Tensor train = all_of(raw.train, at::kDouble).columns[0];
    CHECK(parts.state.at("x.mean").item<double>() == Approx(train.mean().item<double>()).epsilon(1e-12));
    CHECK(parts.state.at("x.std").item<double>() == Approx(train.std(false).item<double>()).epsilon(1e-12));
    check_standard(all_of(parts.train).columns[0], 1e-6);
    // It costs nothing: the stored bytes are the same ones.
    CHECK(parts.train.data->find("x")->values.scalar_type() == at::kByte);
  }
  SECTION("a constant feature is only shifted") {
    const std::string path = write_file("constant.csv", "a,b,y\n0.1,1,0\n0.1,2,1\n0.1,3,0\n");
    const DataParts parts = open(method("normalize", data("csv", {{"path", path}, {"target", "y"}})));
    const at::Tensor x = all_of(parts.train).columns[0];
    CHECK(x.select(1, 0).abs().max().item<float>() < 1e-7);
    CHECK(parts.state.at("x.std")[0].item<double>() == 1);
  }
  SECTION("twice is refused") {
    CHECK(refused(method("normalize", method("normalize", blobs(10)))).message() == "the data is normalised already");
  }
}

}  // namespace trainlab::methods_test

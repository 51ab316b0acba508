#include <ATen/ops/arange.h>
#include <ATen/ops/equal.h>

#include <map>

#include "data/tokenizer.h"
#include "specs.h"

namespace trainlab::text_test {

using namespace test;

namespace {

// "abcdefghij…" without an end: place i has the letter i mod 26.
std::string letters(std::int64_t n) {
  std::string text;
  for (std::int64_t i = 0; i < n; ++i) text += static_cast<char>('a' + i % 26);
  return text;
}

Value text_of(const std::string& content, Value::Map options = {}) {
  options["path"] = write_file("text.txt", content);
  return data("text", std::move(options));
}

std::string refused(const Value& value) {
  return error_of([&] { open(value); }).message();
}

std::vector<std::int64_t> numbers(const at::Tensor& t) {
  const at::Tensor flat = t.contiguous();
  return {flat.const_data_ptr<std::int64_t>(), flat.const_data_ptr<std::int64_t>() + flat.numel()};
}

constexpr std::int64_t length = 26 * 40 + 1;

}  // namespace

TEST_CASE("text: training windows begin anywhere in the part, validation windows follow each other") {
  const DataParts parts =
      open(method("split", text_of(letters(length), {{"context", 8}}), {{"train", 0.5}, {"val", 0.3}, {"test", 0.2}}));
  const std::int64_t train = 520, val = 312;  // ⌊0.5 n⌋, ⌊0.8 n⌋ − 520
  CHECK(parts.train.size() == train - 8);
  CHECK(parts.train.epoch_size() == train / 8);
  CHECK(parts.val->size() == (val - 1) / 8);
  CHECK(parts.test->size() == (length - train - val - 1) / 8);
  CHECK(parts.train.data->classes == 26);
  CHECK(parts.train.data->find("x")->batch_type() == at::kLong);
  CHECK(parts.train.data->find("x")->sample_shape() == Shape{8});
  // One copy of the text, a byte a character, under all windows.
  CHECK(parts.train.data->bytes() == length);

  // Every window is the text, y one further; together those of the validation part are all of it but what is left over.
  const auto check = [](const Part& part, std::int64_t first, std::int64_t step) {
    const Batch all = all_of(part);
    for (std::int64_t i = 0; i < part.size(); ++i) {
      const at::Tensor wanted = at::arange(first + i * step, first + i * step + 8).remainder(26);
      REQUIRE(at::equal(all.columns[0][i], wanted));
      REQUIRE(at::equal(all.columns[1][i], wanted.add(1).remainder(26)));
    }
  };
  check(parts.train, 0, 1);
  check(*parts.val, train, 8);
  check(*parts.test, train + val, 8);
}

TEST_CASE("text: an epoch of random windows is a function of key and epoch, whatever the threads") {
  const DataParts parts = open(method("split", text_of(letters(length), {{"context", 8}}), {{"val", 0.5}}));
  const auto epoch = [&](int threads, std::int64_t number, std::uint64_t seed) {
    Loader loader(parts.train, {.batch = 7, .threads = threads}, {Key(seed)}, false);
    loader.seek(number, 0);
    std::vector<std::int64_t> starts;
    for (std::int64_t i = 0; i < loader.batches_per_epoch(); ++i) {
      const Batch batch = loader.next();
      REQUIRE(batch.epoch == number);
      for (const std::int64_t start : numbers(batch.index)) starts.push_back(start);
      REQUIRE(at::equal(batch.columns[0].select(1, 0), batch.index.remainder(26)));
    }
    return starts;
  };
  const std::vector<std::int64_t> starts = epoch(1, 3, 5);
  CHECK(static_cast<std::int64_t>(starts.size()) == parts.train.epoch_size());
  CHECK(epoch(4, 3, 5) == starts);
  CHECK(epoch(0, 3, 5) == starts);
  CHECK(epoch(1, 2, 5) != starts);
  CHECK(epoch(1, 3, 6) != starts);

  // Over many epochs every place comes, the first and the last too, all about as often: 64 epochs of 65 draws from
  // 512 places are 8.1 each; a count is binomial with deviation 2.85, and 30 is 7.6 of them.
  std::map<std::int64_t, int> counts;
  for (std::int64_t i = 0; i < 64; ++i)
    for (const std::int64_t start : epoch(0, i, 5)) ++counts[start];
  CHECK(counts.begin()->first == 0);
  CHECK(counts.rbegin()->first == parts.train.size() - 1);
  CHECK(counts.size() > 500);  // expected 511.8: a place is missing with probability e^-8.1
  for (const auto& [start, count] : counts) CHECK(count < 30);
}

TEST_CASE("text: a place between two batches is found again") {
  const DataParts parts = open(text_of(letters(length), {{"context", 8}}));
  Loader whole(parts.train, {.batch = 7, .threads = 2}, {Key(1)}, false),
      resumed(parts.train, {.batch = 7}, {Key(1)}, false);
  std::vector<Batch> batches;
  for (int i = 0; i < 30; ++i) batches.push_back(whole.next());
  resumed.seek(batches[25].epoch, batches[25].position);
  for (int i = 25; i < 30; ++i)
    CHECK(at::equal(resumed.next().columns[0], batches[static_cast<std::size_t>(i)].columns[0]));
}

TEST_CASE("text: tinyshakespeare gives nanoGPT's vocabulary and parts") {
  const std::filesystem::path path = std::filesystem::path(TRAINLAB_SHARED_DATA) / "tinyshakespeare.txt";
  if (!std::filesystem::exists(path)) {
    WARN("skipped: there is no " << path);
    return;
  }
  const DataParts parts =
      open(method("split", data("text", {{"path", path.string()}}), {{"train", 0.9}, {"val", 0.1}}));
  CHECK(parts.train.data->classes == 65);
  CHECK(parts.train.size() == 1'003'854 - 64);
  CHECK(parts.train.epoch_size() == 1'003'854 / 64);
  CHECK(parts.val->size() == (111'540 - 1) / 64);
  const Tokenizer tokenizer = Tokenizer::load(parts.state);
  CHECK(tokenizer.decode(numbers(gather(parts.train, std::vector<std::int64_t>{0}).columns[0][0]))
            .starts_with("First Citizen:"));
  CHECK(tokenizer.encode("\n !$&',-.3:;?AB", "prompt") ==
        std::vector<std::int32_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14});
}

TEST_CASE("text: tokens are characters in the order of their code points, or bytes") {
  const std::string content = "grün ☃ 𝄞 grau";
  const Tokenizer characters = Tokenizer::characters(content, "text");
  CHECK(characters.size() == 9);  // space a g n r u ü ☃ 𝄞
  CHECK(characters.encode("gü☃𝄞", "prompt") == std::vector<std::int32_t>{2, 6, 7, 8});
  CHECK(characters.decode(std::vector<std::int64_t>{8, 7, 6, 1}) == "𝄞☃üa");
  NamedTensors state;
  characters.store(state);
  CHECK(Tokenizer::load(state).decode(std::vector<std::int64_t>{0, 1, 2, 3, 4, 5, 6, 7, 8}) == " agnruü☃𝄞");

  const DataParts bytes = open(text_of(content, {{"tokenizer", "byte"}, {"context", 3}}));
  CHECK(bytes.train.data->classes == 256);
  const Tokenizer tokenizer = Tokenizer::load(bytes.state);
  CHECK(tokenizer.is_bytes());
  CHECK(tokenizer.encode("ü", "prompt") == std::vector<std::int32_t>{0xC3, 0xBC});
  CHECK(tokenizer.decode(std::vector<std::int64_t>{0xC3, 0xBC}) == "ü");
}

TEST_CASE("text: a vocabulary of more than 256 characters") {
  std::string content;
  for (int code = 0x4E00; code < 0x4E00 + 300; ++code)
    content += {static_cast<char>(0xE0 | code >> 12), static_cast<char>(0x80 | (code >> 6 & 63)),
                static_cast<char>(0x80 | (code & 63))};
  const DataParts parts = open(text_of(content, {{"context", 299}}));
  CHECK(parts.train.data->classes == 300);
  const Batch batch = gather(parts.train, std::vector<std::int64_t>{0});
  CHECK(at::equal(batch.columns[0][0], at::arange(299)));
  CHECK(at::equal(batch.columns[1][0], at::arange(1, 300)));
}

TEST_CASE("text: what is refused") {
  CHECK(contains(refused(text_of("")), "text.txt: the file is empty"));
  CHECK(contains(refused(text_of("ab\ncd\xff")), "text.txt:2: byte 6 is not UTF-8"));
  for (const char* bad : {"\xc0\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xe2\x98", "\x80"})
    CHECK(contains(refused(text_of(bad)), "not UTF-8"));
  CHECK(contains(refused(text_of("abcd", {{"context", 4}})),
                 "a part of 4 tokens is too short: a sample is context + 1 = 5"));
  const Value text = text_of(letters(100), {{"context", 8}});
  CHECK(contains(refused(method("split", text, {{"val", 0.05}})), "a part of 5 tokens is too short"));
  CHECK(contains(refused(method("split", method("split", text, {{"test", 0.2}}), {{"val", 0.2}})), "divided already"));
  CHECK(contains(refused(method("split", method("take", text, {{"n", 20}}), {{"val", 0.2}})), "divided already"));
  CHECK(contains(refused(method("split", text, {{"val", 0.2}, {"groups", "x"}})), "these samples follow each other"));
  CHECK(contains(refused(method("fold", text, {{"k", 2}, {"index", 0}})), "neighbouring windows"));
  CHECK(contains(refused(method("weighted", text, {{"balanced", true}})), "drawn already"));

  const Tokenizer tokenizer = Tokenizer::characters("ab\n", "text");
  const Error outside = error_of([&] { tokenizer.encode("ab\nbé", "prompt.txt"); });
  CHECK(outside.message() ==
        "prompt.txt:2: character 2, 'é' (U+00E9), is not among the 3 of the text that the vocabulary was made from");
  CHECK(outside.hint() == "replace this character by one of ab, or train on a text that has the character");
  CHECK(contains(error_of([&] { tokenizer.encode("a\x01", "p"); }).message(), "character 2, U+0001, is not"));
}

}  // namespace trainlab::text_test

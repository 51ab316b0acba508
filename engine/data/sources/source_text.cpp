// data.text: a text as windows of tokens, each with the tokens that follow.
#include <ATen/ops/empty.h>

#include <algorithm>
#include <iterator>

#include "core/long_reading.h"
#include "data/tokenizer.h"
#include "set/input_files.h"
#include "set/sources.h"

namespace trainlab {

namespace {

// As few bytes as the vocabulary needs. Some of the text at a time: the tokenizer's numbers take four times as much
// memory as a text.
at::Tensor tokens_of(const Tokenizer& tokenizer, std::string_view text, const std::string& name) {
  constexpr std::size_t some = std::size_t{1} << 20;
  const auto begins_token = [&](char c) {
    return tokenizer.is_bytes() || (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  };
  const bool is_small = tokenizer.size() <= 256;
  at::Tensor stored =
      at::empty({std::count_if(text.begin(), text.end(), begins_token)}, is_small ? at::kByte : at::kInt);
  for (std::int64_t at = 0; !text.empty();) {
    std::size_t length = std::min(some, text.size());
    while (length < text.size() && !begins_token(text[length])) ++length;
    const std::vector<std::int32_t> tokens = tokenizer.encode(text.substr(0, length), name);
    if (is_small) {
      std::copy(tokens.begin(), tokens.end(), stored.mutable_data_ptr<std::uint8_t>() + at);
    } else {
      std::copy(tokens.begin(), tokens.end(), stored.mutable_data_ptr<std::int32_t>() + at);
    }
    at += std::ssize(tokens);
    text.remove_prefix(length);
  }
  return stored;
}

struct Text {
  at::Tensor tokens;  // [N]
  std::int64_t context = 0, classes = 0;

  // Samples of the tokens begin … end − 1: one from every place for training, else one after the other.
  Part part(std::int64_t begin, std::int64_t end, bool training) const {
    const std::int64_t length = end - begin;
    if (length <= context) {
      throw recipe_error("a part of " + std::to_string(length) +
                         " tokens is too short: a sample is context + 1 = " + std::to_string(context + 1) + " tokens");
    }
    Dataset windows;
    windows.size = training ? length - context : (length - 1) / context;
    windows.classes = classes;
    for (const auto& [name, shift] : {std::pair{"x", 0}, {"y", 1}}) {
      windows.columns.push_back({name,
                                 tokens.as_strided({windows.size, context}, {training ? 1 : context, 1}, begin + shift),
                                 {},
                                 {},
                                 /*as_int64=*/true});
    }
    Part part = whole(std::move(windows));
    if (training) part.draws = std::make_shared<const Draws>(Draws{length / context, {}});
    return part;
  }

  void cut(DataParts& parts, double train, double val, double end) const {
    // Rounds down to whole tokens, except where only rounding errors are missing to a whole token.
    const auto place = [&](double fraction) {
      return static_cast<std::int64_t>(fraction * static_cast<double>(tokens.size(0)) + 1e-6);
    };
    parts.train = part(0, place(train), true);
    if (val > train) parts.val = part(place(train), place(val), false);
    if (end > val) parts.test = part(place(val), place(end), false);
  }
};

DataParts make_text(const Options& spec, const DataContext&) {
  return placed_at(spec, "path", [&] {
    const std::string& path = spec.string("path");
    const LongReading reading(path);
    const std::string content = text_of(path);
    if (content.empty()) throw recipe_error(path + ": the file is empty");
    const Tokenizer tokenizer =
        spec.string("tokenizer") == "byte" ? Tokenizer::bytes() : Tokenizer::characters(content, path);
    const Text text{tokens_of(tokenizer, content, path), spec.integer("context"), tokenizer.size()};

    DataParts parts;
    parts.train = text.part(0, text.tokens.size(0), true);
    parts.cut = [text](DataParts& all, double train, double val, double end) { text.cut(all, train, val, end); };
    tokenizer.store(parts.state);
    return parts;
  });
}

}  // namespace

void register_source_text(Registry& registry) {
  registry.add(
      Entry("data.text", "data",
            "A text file (plain or gzip) as windows of tokens: y holds the token that follows each token of x.")
          .with(Option("path", "the file").path().required().positional())
          .with(Option("tokenizer", "unit of the text: a Unicode character or a byte")
                    .choice({"char", "byte"})
                    .or_default("char"))
          .with(Option("context", "number of tokens in a sample").integer().at_least(1).at_most(1 << 20).or_default(64))
          .returns("x int64 [context], y int64 [context], which is x one token later; one training part")
          .example("lab.data.text { \"shakespeare.txt\", context = 64 }:split { train = 0.9, val = 0.1 }")
          .note("split() cuts the text itself: training first, then validation, then test. Training samples are "
                "windows at random places, length / context windows in an epoch; validation and test parts are "
                "consecutive windows, "
                "and an incomplete last window is left out. The vocabulary holds every character of the whole file, "
                "sorted, and is stored in the checkpoint."),
      DataFactory{make_text});
}

}  // namespace trainlab

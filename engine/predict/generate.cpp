#include "predict/generate.h"

#include <ATen/ops/zeros.h>

#include <algorithm>

#include "core/random/stream.h"
#include "data/tokenizer.h"

namespace trainlab {

namespace {

// Scores for the next token. Only the last `context` tokens are used; shorter inputs are padded with token 0.
std::vector<double> scores_after(const Predictor& predictor, const std::vector<std::int64_t>& tokens) {
  const std::int64_t context = predictor.file().inputs.front().shape[0];
  const std::int64_t count = std::min(context, static_cast<std::int64_t>(tokens.size()));
  const at::Tensor x = at::zeros({1, context}, at::kLong);
  std::copy(tokens.end() - count, tokens.end(), x.mutable_data_ptr<std::int64_t>());
  const at::Tensor row =
      predictor.forward({&x, 1}).select(0, 0).select(0, count - 1).to(at::kCPU, at::kDouble).contiguous();
  const auto* first = row.const_data_ptr<double>();
  return {first, first + row.numel()};
}

}  // namespace

std::string generate(const Predictor& predictor, const std::string& prompt, const Generation& generation) {
  if (!predictor.is_language_model()) {
    throw usage_error(
        "the model is not a language model: it does not read a text and score the token that follows each token")
        .hint("a language model is trained on lab.data.text and has outputs [context, vocabulary]");
  }
  const Tokenizer tokenizer = Tokenizer::load(predictor.data());
  const std::vector<std::int32_t> start = tokenizer.encode(prompt, "the prompt");
  if (start.empty()) throw recipe_error("the prompt: expected at least one character");
  std::vector<std::int64_t> tokens(start.begin(), start.end());
  Stream stream(Key(static_cast<std::uint64_t>(generation.seed)).fold("generate"));
  for (std::int64_t i = 0; i < generation.length; ++i) {
    const std::vector<double> next = next_probabilities(scores_after(predictor, tokens), generation.sampling);
    tokens.push_back(static_cast<std::int64_t>(draw(next, stream.uniform())));
  }
  return tokenizer.decode(tokens);
}

}  // namespace trainlab

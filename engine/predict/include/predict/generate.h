// Text that a trained language model goes on with.
#pragma once

#include <cstdint>
#include <string>

#include "predict/predictor.h"
#include "predict/sampling.h"

namespace trainlab {

struct Generation {
  std::int64_t length = 200;  // tokens to add
  Sampling sampling;
  std::int64_t seed = 1;
};

// The prompt and its continuation. The model sees the last tokens that its context has room for; what comes after a
// position must not matter to it (causal). The same prompt, seed and sampling give the same text.
// Error{usage} where the model is no language model, Error{recipe} for an empty prompt and for a character that is not
// in the vocabulary, with its place.
std::string generate(const Predictor& predictor, const std::string& prompt, const Generation& generation);

}  // namespace trainlab

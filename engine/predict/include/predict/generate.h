// Continues a text with a trained language model.
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

// The prompt and its continuation. The model sees as many of the last tokens as its context holds, and must not depend
// on later positions (causal). The same prompt, seed and sampling give the same text. Error{usage} if the model is not
// a language model, Error{recipe} for an empty prompt and for a character that is not in the vocabulary, with its
// place.
std::string generate(const Predictor& predictor, const std::string& prompt, const Generation& generation);

}  // namespace trainlab

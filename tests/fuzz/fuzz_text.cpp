#include "data/tokenizer.h"
#include "fuzz.h"

namespace trainlab::test {

// The text comes back from its tokens.
void fuzz(std::string_view bytes) {
  const Tokenizer tokenizer = Tokenizer::characters(bytes, "fuzz.txt");
  const std::vector<std::int32_t> tokens = tokenizer.encode(bytes, "fuzz.txt");
  if (tokenizer.decode(std::vector<std::int64_t>(tokens.begin(), tokens.end())) != bytes) __builtin_trap();
  NamedTensors state;
  tokenizer.store(state);
  if (Tokenizer::load(state).size() != tokenizer.size()) __builtin_trap();
}

}  // namespace trainlab::test

#include "fuzz.h"
#include "tensor/safetensors.h"

namespace trainlab::test {

void fuzz(std::string_view bytes) {
  const FuzzFile file(bytes);
  for (const auto& [name, tensor] : load_safetensors(file.path()).tensors)
    if (!tensor.is_contiguous()) __builtin_trap();
}

}  // namespace trainlab::test

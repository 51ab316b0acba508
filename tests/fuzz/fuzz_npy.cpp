#include "fuzz.h"
#include "tensor/npy.h"

namespace trainlab::test {

// What is read comes back from what is written.
void fuzz(std::string_view bytes) {
  const at::Tensor tensor = load_npy(bytes, "fuzz.npy");
  const std::string written = npy_bytes(tensor, "fuzz");
  if (npy_bytes(load_npy(written, "written"), "fuzz") != written) __builtin_trap();
}

}  // namespace trainlab::test

#include "fuzz.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>

#include "core/error.h"

namespace trainlab::test {

FuzzFile::FuzzFile(std::string_view bytes) : descriptor_(memfd_create("fuzz", 0)) {
  if (descriptor_ < 0) std::abort();
  while (!bytes.empty()) {
    const ssize_t count = write(descriptor_, bytes.data(), bytes.size());
    if (count <= 0) std::abort();
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
}

FuzzFile::~FuzzFile() { close(descriptor_); }

std::string FuzzFile::path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

}  // namespace trainlab::test

// What libFuzzer and replay.cpp call.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    trainlab::test::fuzz({reinterpret_cast<const char*>(data), size});
  } catch (const trainlab::Error&) {  // that is how a parser refuses
  }
  return 0;
}

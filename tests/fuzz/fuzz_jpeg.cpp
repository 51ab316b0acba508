#include "fuzz.h"
#include "fuzz_image.h"

namespace trainlab::test {

void fuzz(std::string_view bytes) { fuzz_image(bytes, "fuzz.jpeg", decode_jpeg); }

}  // namespace trainlab::test

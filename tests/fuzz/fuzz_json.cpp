#include "core/value.h"
#include "fuzz.h"

namespace trainlab::test {

// What is read comes back from what is written.
void fuzz(std::string_view bytes) {
  const Value value = parse_json(bytes, "fuzz.json");
  if (!(parse_json(to_json(value), "written") == value)) __builtin_trap();
  fingerprint(value);
  value.brief();
}

}  // namespace trainlab::test

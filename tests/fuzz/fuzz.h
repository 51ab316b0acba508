// What fuzz targets share. A target is one file, fuzz_NAME.cpp, with one function: fuzz(bytes) gives them to a parser.
//
// Whatever the bytes are, the parser returns or raises an Error: anything else is a find. tools/fuzz runs the targets
// under libFuzzer; in ordinary builds replay.cpp runs each on its corpus, as a test.
#pragma once

#include <string>
#include <string_view>

namespace trainlab::test {

void fuzz(std::string_view bytes);

// A file with these bytes for parsers that want a path; gone with the object. Lives in memory.
class FuzzFile {
 public:
  explicit FuzzFile(std::string_view bytes);
  ~FuzzFile();
  FuzzFile(const FuzzFile&) = delete;
  std::string path() const;

 private:
  int descriptor_;
};

}  // namespace trainlab::test

// Tar archives for tests.
#pragma once

#include <cstdio>
#include <string>

namespace trainlab::test {

// A header with a right checksum. `size` as the header claims it.
inline std::string tar_header(const std::string& name, std::size_t size, char type = '0') {
  std::string header(512, '\0');
  header.replace(0, name.size(), name);
  char digits[32];
  std::snprintf(digits, sizeof digits, "%011zo", size);
  header.replace(124, 11, digits);
  header[156] = type;
  header.replace(257, 8, std::string("ustar\00000", 8));
  header.replace(148, 8, "        ");
  unsigned sum = 0;
  for (const char c : header) sum += static_cast<unsigned char>(c);
  std::snprintf(digits, sizeof digits, "%06o", sum);
  header.replace(148, 8, std::string(digits) + std::string("\0 ", 2));
  return header;
}

inline std::string tar_entry(const std::string& name, const std::string& bytes, char type = '0') {
  return tar_header(name, bytes.size(), type) + bytes + std::string((512 - bytes.size() % 512) % 512, '\0');
}

inline std::string tar_end() { return std::string(1024, '\0'); }

}  // namespace trainlab::test

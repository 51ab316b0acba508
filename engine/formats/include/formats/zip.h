// Zip archives in memory, as npz files are: stored or deflated members, zip64 sizes. Nothing in them is trusted.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"

namespace trainlab {

class ZipFile {
 public:
  struct Member {
    std::string name;
    std::uint32_t crc = 0;
    std::uint64_t size = 0;               // inflated
    std::uint64_t begin = 0, stored = 0;  // its bytes in the archive
    bool deflated = false;
  };

  // Reads the directory. `bytes` must outlive the object; `name` is for messages. Error{recipe} for what is no zip
  // archive or lies: cut short, members beyond the end, one over the other, with sizes that deflate cannot reach, two
  // of one name, encrypted, compressed by another method.
  ZipFile(std::string_view bytes, std::string name);

  const std::vector<Member>& members() const { return members_; }  // in the order of the directory
  // The bytes of a member, which is one of members(). Error{recipe} for damaged data, for a checksum or size other than
  // the directory's, and for more than `most` bytes.
  std::string read(const Member& member, std::uint64_t most) const;

 private:
  Error wrong(const std::string& what) const;
  std::uint64_t number(std::uint64_t at, int bytes) const;
  void find_directory(std::uint64_t& count, std::uint64_t& begin, std::uint64_t& end) const;
  Member read_entry(std::uint64_t& at, std::uint64_t end, std::vector<std::uint64_t>& headers) const;

  std::string_view bytes_;
  std::string name_;
  std::vector<Member> members_;
};

}  // namespace trainlab

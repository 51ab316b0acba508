// Zip archives, as npz files are: stored or deflated members, zip64 sizes. Nothing in them is trusted. Of an archive in
// a file only what is asked for is read.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/byte_source.h"
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

  // Reads the directory of an archive in a file or in memory. `bytes` must outlive the object; `name` is for messages.
  // Error{recipe} for what is no zip archive or lies: cut short, members beyond the end, one over the other, with sizes
  // that deflate cannot reach, two of one name, encrypted, compressed by another method.
  explicit ZipFile(const std::filesystem::path& path);
  ZipFile(std::string_view bytes, std::string name);

  const std::vector<Member>& members() const { return members_; }  // in the order of the directory
  std::uint64_t size() const { return size_; }                     // of the archive
  // The content of a member, which is one of members(), inflated while it is read; the archive must outlive the source.
  // Error{recipe} for more than `most` bytes; the source raises Error{recipe} for damaged data, and, when something
  // beyond the member's size is asked for, for a checksum or size other than the directory's.
  std::unique_ptr<ByteSource> open(const Member& member, std::uint64_t most) const;
  std::string read(const Member& member, std::uint64_t most) const;

 private:
  friend class ZipContent;
  using ReadAt = std::function<void(std::uint64_t at, std::span<char> out)>;

  void read_directory();
  Error wrong(const std::string& what) const;
  Error wrong(const Member& member, const std::string& what) const;
  std::string text(std::uint64_t at, std::uint64_t length) const;
  std::uint64_t number(std::uint64_t at, int bytes) const;
  void find_directory(std::uint64_t& count, std::uint64_t& begin, std::uint64_t& end) const;
  Member read_entry(std::uint64_t& at, std::uint64_t end, std::vector<std::uint64_t>& headers) const;

  std::string name_;
  std::uint64_t size_ = 0;
  ReadAt read_at_;
  std::vector<Member> members_;
};

}  // namespace trainlab

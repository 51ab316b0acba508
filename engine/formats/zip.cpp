// The format: PKWARE's .ZIP File Format Specification (APPNOTE), sections 4.3.7, 4.3.12, 4.3.14 to 4.3.16 and 4.5.3.
#include "formats/zip.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <set>

#include "core/input_trace.h"
#include "core/pickle.h"
#include "core/reader.h"
#include "core/value.h"
#include "deflate.h"

namespace trainlab {

namespace {

constexpr std::uint64_t local_signature = 0x04034b50, entry_signature = 0x02014b50, end_signature = 0x06054b50,
                        locator64_signature = 0x07064b50, end64_signature = 0x06064b50;
constexpr std::uint64_t local_bytes = 30, entry_bytes = 46, end_bytes = 22, locator64_bytes = 20, end64_bytes = 56;
constexpr std::uint64_t in_zip64 = 0xFFFFFFFF;

}  // namespace

Error ZipFile::wrong(const std::string& what) const {
  Error error = recipe_error(name_ + ": not a valid zip archive: " + what);
  if (is_pickle(text(0, std::min<std::uint64_t>(size_, 16))))
    error.hint("the file is a Python pickle: write the arrays with numpy.savez(FILE, x = …, y = …)");
  return error;
}

Error ZipFile::wrong(const Member& member, const std::string& what) const {
  return recipe_error(name_ + ": member \"" + valid_utf8(member.name) + "\" " + what);
}

std::string ZipFile::text(std::uint64_t at, std::uint64_t length) const {
  std::string bytes(length, '\0');
  read_at_(at, bytes);
  return bytes;
}

// Little-endian; the caller has seen that the bytes are there.
std::uint64_t ZipFile::number(std::uint64_t at, int bytes) const {
  std::array<char, 8> read{};
  read_at_(at, std::span(read).first(static_cast<std::size_t>(bytes)));
  std::uint64_t value = 0;
  for (auto i = static_cast<std::size_t>(bytes); i-- > 0;) value = value << 8 | static_cast<unsigned char>(read[i]);
  return value;
}

void ZipFile::find_directory(std::uint64_t& count, std::uint64_t& begin, std::uint64_t& end) const {
  const std::uint64_t size = size_;
  if (size < end_bytes) throw wrong("it has " + std::to_string(size) + " bytes only");
  // Behind the record there may be a comment of up to 65,535 bytes, which ends the file.
  std::uint64_t at = size - end_bytes;
  const std::uint64_t last = at > 0xFFFF ? at - 0xFFFF : 0;
  while (number(at, 4) != end_signature || number(at + 20, 2) != size - at - end_bytes) {
    if (at == last) {
      Error error = wrong("it has no directory at its end");
      if (error.hint().empty()) error.hint("the download may have been cut short: fetch the file again");
      throw error;
    }
    --at;
  }
  if (number(at + 4, 2) != 0 || number(at + 6, 2) != 0) throw wrong("it is one of several volumes");
  count = number(at + 10, 2);
  std::uint64_t length = number(at + 12, 4);
  begin = number(at + 16, 4);
  end = at;
  if (at >= locator64_bytes && number(at - locator64_bytes, 4) == locator64_signature) {
    const std::uint64_t record = number(at - locator64_bytes + 8, 8);
    if (record > size || size - record < end64_bytes || number(record, 4) != end64_signature)
      throw wrong("its zip64 record is not where it says");
    count = number(record + 32, 8);
    length = number(record + 40, 8);
    begin = number(record + 48, 8);
    end = record;
  }
  if (begin > end || end - begin != length)
    throw wrong("its directory of " + std::to_string(length) + " bytes does not lie where it says");
  if (count > length / entry_bytes) throw wrong("its directory is too short for " + std::to_string(count) + " members");
}

ZipFile::Member ZipFile::read_entry(std::uint64_t& at, std::uint64_t end, std::vector<std::uint64_t>& headers) const {
  if (end - at < entry_bytes || number(at, 4) != entry_signature) throw wrong("its directory is damaged");
  const std::uint64_t flags = number(at + 8, 2), method = number(at + 10, 2);
  const std::uint64_t name_length = number(at + 28, 2), extra_length = number(at + 30, 2),
                      comment_length = number(at + 32, 2);
  if (end - at - entry_bytes < name_length + extra_length + comment_length) throw wrong("its directory is damaged");
  Member member;
  member.name = text(at + entry_bytes, name_length);
  member.crc = static_cast<std::uint32_t>(number(at + 16, 4));
  member.stored = number(at + 20, 4);
  member.size = number(at + 24, 4);
  member.deflated = method == 8;
  std::uint64_t header = number(at + 42, 4);
  const auto bad = [&](const std::string& what) { return wrong("member \"" + valid_utf8(member.name) + "\" " + what); };
  if (flags & 1) throw bad("is encrypted");
  if (method != 0 && method != 8) throw bad("is compressed by method " + std::to_string(method) + ", not by deflate");

  // Sizes that 32 bits cannot hold follow in an extra field, in this order.
  const std::uint64_t extra_end = at + entry_bytes + name_length + extra_length;
  for (std::uint64_t extra = extra_end - extra_length; extra_end - extra >= 4;) {
    const std::uint64_t id = number(extra, 2), length = number(extra + 2, 2);
    extra += 4;
    if (extra_end - extra < length) throw bad("has a damaged extra field");
    std::uint64_t field = extra;
    for (std::uint64_t* value : {&member.size, &member.stored, &header}) {
      if (id != 1 || *value != in_zip64) continue;
      if (extra + length - field < 8) throw bad("has a zip64 field that is too short");
      *value = number(field, 8);
      field += 8;
    }
    extra += length;
  }
  at = extra_end + comment_length;

  // The local header repeats the directory's fields. Only its length is used; the directory counts.
  const std::uint64_t size = size_;
  if (header > size || size - header < local_bytes || number(header, 4) != local_signature)
    throw bad("does not begin where the directory says");
  member.begin = header + local_bytes + number(header + 26, 2) + number(header + 28, 2);
  if (member.begin > size || member.stored > size - member.begin)
    throw bad("of " + std::to_string(member.stored) + " bytes reaches beyond the end of the file");
  if (member.deflated ? member.size / deflate_max_ratio > member.stored : member.size != member.stored)
    throw bad("cannot hold " + std::to_string(member.size) + " bytes in " + std::to_string(member.stored));
  headers.push_back(header);
  return member;
}

ZipFile::ZipFile(std::string_view bytes, std::string name)
    : name_(std::move(name)), size_(bytes.size()), read_at_([bytes](std::uint64_t at, std::span<char> out) {
        std::copy_n(bytes.data() + at, out.size(), out.data());
      }) {
  read_directory();
}

ZipFile::ZipFile(const std::filesystem::path& path) : name_(path.string()) {
  const auto file = std::make_shared<const FileReader>(path);
  size_ = file->expected_size();
  read_at_ = [file](std::uint64_t at, std::span<char> out) {
    const InputSpan span(InputStage::read, 0);
    file->read_at(at, out);
  };
  read_directory();
}

void ZipFile::read_directory() {
  std::uint64_t count = 0, at = 0, end = 0;
  find_directory(count, at, end);
  const std::uint64_t directory = at;
  std::vector<std::uint64_t> headers;
  std::set<std::string_view> names;
  for (std::uint64_t i = 0; i < count; ++i) members_.push_back(read_entry(at, end, headers));
  if (at != end) throw wrong("its directory holds more than the " + std::to_string(count) + " members it counts");
  for (const Member& member : members_)
    if (!names.insert(member.name).second) throw wrong("two members are named \"" + valid_utf8(member.name) + "\"");

  // Members that share bytes are how a small file claims to be a huge one.
  std::vector<std::size_t> order(members_.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return headers[a] < headers[b]; });
  for (std::size_t i = 0; i < order.size(); ++i) {
    const Member& member = members_[order[i]];
    const std::uint64_t next = i + 1 < order.size() ? headers[order[i + 1]] : directory;
    if (member.begin + member.stored > next)
      throw wrong("member \"" + valid_utf8(member.name) + "\" overlaps what follows it");
  }
}

// A member's content.
class ZipContent final : public ByteSource {
 public:
  ZipContent(const ZipFile& zip, const ZipFile::Member& member) : zip_(zip), member_(member) {
    // A negative number of bits stands for deflated data without the header of zlib.
    if (member_.deflated && inflateInit2(&stream_, -MAX_WBITS) != Z_OK)
      throw run_error("zlib could not be started: out of memory");
  }
  ~ZipContent() override {
    if (member_.deflated) inflateEnd(&stream_);
  }
  ZipContent(const ZipContent&) = delete;

  std::int64_t at_most() const override { return static_cast<std::int64_t>(member_.size - given_); }

  std::size_t read(std::span<char> out) override {
    const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(out.size(), member_.size - given_));
    const std::span<char> wanted = out.first(count);
    if (member_.deflated) {
      inflate_to(wanted);
    } else {
      zip_.read_at_(member_.begin + given_, wanted);
    }
    given_ += count;
    if (count > 0) crc_ = crc32_z(crc_, reinterpret_cast<const Bytef*>(wanted.data()), count);
    if (count < out.size()) check_end();
    return count;
  }

 private:
  Error damaged() const {
    return zip_.wrong(member_,
                      "is damaged: it does not inflate to the " + std::to_string(member_.size) + " bytes that it says");
  }

  // Gives zlib more of the member when zlib has used what it had.
  int inflate_more() {
    if (stream_.avail_in == 0) {
      const std::uint64_t count = std::min<std::uint64_t>(buffer_.size(), member_.stored - taken_);
      zip_.read_at_(member_.begin + taken_, std::span(buffer_).first(count));
      taken_ += count;
      stream_.next_in = reinterpret_cast<Bytef*>(buffer_.data());
      stream_.avail_in = static_cast<uInt>(count);
    }
    const int code = inflate(&stream_, Z_NO_FLUSH);
    if (code != Z_OK && code != Z_STREAM_END) throw damaged();
    return code;
  }

  void inflate_to(std::span<char> out) {
    const InputSpan span(InputStage::decompress, 0);
    while (!out.empty()) {
      if (has_ended_) throw damaged();
      // In pieces: zlib counts in 32 bits.
      const auto room = static_cast<uInt>(std::min<std::uint64_t>(out.size(), std::numeric_limits<uInt>::max()));
      stream_.next_out = reinterpret_cast<Bytef*>(out.data());
      stream_.avail_out = room;
      has_ended_ = inflate_more() == Z_STREAM_END;
      out = out.subspan(room - stream_.avail_out);
    }
  }

  void check_end() {
    char beyond = 0;  // where a member that is longer than it says would go on
    while (member_.deflated && !has_ended_) {
      stream_.next_out = reinterpret_cast<Bytef*>(&beyond);
      stream_.avail_out = 1;
      has_ended_ = inflate_more() == Z_STREAM_END;
      if (stream_.avail_out == 0) throw damaged();
    }
    if (member_.deflated && (taken_ != member_.stored || stream_.avail_in > 0)) throw damaged();
    if (crc_ != member_.crc) throw zip_.wrong(member_, "is damaged: its checksum is another one");
  }

  const ZipFile& zip_;
  const ZipFile::Member& member_;
  z_stream stream_{};
  std::array<char, std::size_t{1} << 16> buffer_{};  // of deflated bytes
  std::uint64_t taken_ = 0, given_ = 0;              // bytes from the archive, bytes of the content
  uLong crc_ = crc32(0, nullptr, 0);
  bool has_ended_ = false;
};

std::unique_ptr<ByteSource> ZipFile::open(const Member& member, std::uint64_t most) const {
  if (member.size > most) {
    throw wrong(member, "has " + std::to_string(member.size) + " bytes, which is more than the " +
                            std::to_string(most) + " that are taken from a file of " + std::to_string(size_) +
                            " bytes");
  }
  return std::make_unique<ZipContent>(*this, member);
}

std::string ZipFile::read(const Member& member, std::uint64_t most) const {
  const std::unique_ptr<ByteSource> source = open(member, most);
  std::string content(member.size + 1, '\0');  // one more than there are: the end is checked
  content.resize(source->read(content));
  return content;
}

}  // namespace trainlab

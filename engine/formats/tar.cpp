#include "formats/tar.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <optional>
#include <set>
#include <string_view>
#include <system_error>

#include "core/error.h"
#include "core/files.h"
#include "formats/input_file.h"

namespace trainlab {

RandomFile::RandomFile(const std::filesystem::path& path) : name_(path.string()) {
  check_regular(path);
  fd_ = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd_ < 0 && errno == ENOENT) throw missing_file(path);
  struct stat status {};
  if (fd_ < 0 || fstat(fd_, &status) != 0) {
    throw recipe_error(name_ + " cannot be read: " + std::generic_category().message(errno));
  }
  if (!S_ISREG(status.st_mode)) {
    close(fd_);
    throw recipe_error("expected a file, found the folder " + name_);
  }
  size_ = status.st_size;
}

RandomFile::~RandomFile() { close(fd_); }

void RandomFile::read(std::int64_t offset, std::size_t count, char* out) const {
  while (count > 0) {
    const ssize_t got = pread(fd_, out, count, offset);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw run_error(name_ + " cannot be read: " + std::generic_category().message(errno));
    if (got == 0) throw recipe_error(name_ + ": the file ends too early").hint("it may have been cut short or changed");
    out += got;
    offset += got;
    count -= static_cast<std::size_t>(got);
  }
}

namespace {

constexpr std::int64_t block = 512;
constexpr std::int64_t longest_extension = 1 << 20;  // of a long name or a pax header

// Where the fields of a header lie.
struct Field {
  std::size_t at, size;
};
constexpr Field name_field{0, 100}, size_field{124, 12}, checksum_field{148, 8}, magic_field{257, 6},
    prefix_field{345, 155};
constexpr std::size_t type_at = 156;

using Header = std::array<char, block>;

std::string_view text_of(const Header& header, Field field) {
  const std::string_view text(header.data() + field.at, field.size);
  return text.substr(0, text.find('\0'));
}

// Octal digits between blanks, or after a first byte of 0x80 a big-endian binary number (GNU).
std::optional<std::int64_t> number_in(const Header& header, Field field) {
  const std::string_view raw(header.data() + field.at, field.size);
  if (raw[0] == '\x80') {
    std::uint64_t number = 0;
    for (std::size_t i = 1; i < raw.size(); ++i) {
      if (number >> 54) return {};
      number = number << 8 | static_cast<std::uint8_t>(raw[i]);
    }
    return static_cast<std::int64_t>(number);
  }
  const auto blank = [](char c) { return c == ' ' || c == '\0'; };
  std::int64_t number = 0;
  std::size_t i = 0, digits = 0;
  while (i < raw.size() && blank(raw[i])) ++i;
  for (; i < raw.size() && raw[i] >= '0' && raw[i] <= '7'; ++i, ++digits) number = number * 8 + (raw[i] - '0');
  while (i < raw.size() && blank(raw[i])) ++i;
  if (i < raw.size() || digits == 0) return {};
  return number;
}

// The sum of the header's bytes with blanks for the sum itself.
std::int64_t checksum(const Header& header) {
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < header.size(); ++i) {
    const bool in_field = i >= checksum_field.at && i < checksum_field.at + checksum_field.size;
    sum += in_field ? ' ' : static_cast<std::uint8_t>(header[i]);
  }
  return sum;
}

class Lister {
 public:
  explicit Lister(const RandomFile& file) : file_(file) {}

  std::vector<TarEntry> list() {
    std::vector<TarEntry> entries;
    std::set<std::string, std::less<>> names;
    std::string long_name;
    std::optional<std::int64_t> long_size;
    for (;;) {
      const Header header = next_header();
      if (std::all_of(header.begin(), header.end(), [](char c) { return c == '\0'; })) return entries;
      const std::int64_t size = size_of(header, long_size);
      const std::int64_t data = at_;
      const char type = header[type_at];
      if (size > file_.size() - data)
        throw wrong("an entry of " + std::to_string(size) + " bytes, of which " + std::to_string(file_.size() - data) +
                    " are there");
      at_ = data + (size + block - 1) / block * block;
      if (type == 'L' || type == 'x') {
        const std::string extension = extension_at(data, size);
        if (type == 'L') {
          long_name = extension.substr(0, extension.find('\0'));
        } else {
          read_pax(extension, long_name, long_size);
        }
        continue;
      }
      if (type == 'g') continue;  // defaults for all entries: nothing that is read here
      std::string name = long_name.empty() ? name_of(header) : long_name;
      long_name.clear();
      long_size.reset();
      if (type == '5') continue;
      name = checked(std::move(name), type);
      if (!names.insert(name).second) throw wrong("the file " + name + " is in it twice");
      entries.push_back({std::move(name), data, size});
    }
  }

 private:
  Error wrong(const std::string& text) const {
    return recipe_error(file_.name() + ": byte " + std::to_string(begin_) + ": " + text);
  }

  // Headers of small files lie close together: one read brings many.
  Header next_header() {
    begin_ = at_;
    if (file_.size() - at_ < block)
      throw wrong("the archive ends without its end mark").hint("the archive may have been cut short: fetch it again");
    if (at_ < window_begin_ || at_ + block > window_begin_ + static_cast<std::int64_t>(window_.size())) {
      window_begin_ = at_;
      window_.resize(static_cast<std::size_t>(std::min<std::int64_t>(file_.size() - at_, 64 << 10)));
      file_.read(at_, window_.size(), window_.data());
    }
    Header header;
    std::memcpy(header.data(), window_.data() + (at_ - window_begin_), header.size());
    at_ += block;
    return header;
  }

  std::int64_t size_of(const Header& header, const std::optional<std::int64_t>& long_size) const {
    if (number_in(header, checksum_field) != checksum(header)) {
      const std::string_view bytes(header.data(), 6);
      const bool packed = bytes.starts_with("\x1f\x8b") || bytes.starts_with("BZh") ||
                          bytes.starts_with(
                              "\xfd"
                              "7zXZ") ||
                          bytes.starts_with("\x28\xb5\x2f\xfd");
      if (begin_ == 0 && packed)
        throw recipe_error(file_.name() + ": a compressed archive; expected a plain tar file")
            .hint("images are compressed already: unpack it with gunzip, unxz or the like");
      throw wrong(begin_ == 0 ? "this is no tar archive" : "a damaged header");
    }
    const std::optional<std::int64_t> size = long_size ? long_size : number_in(header, size_field);
    if (!size || *size < 0) throw wrong("a size that is no number");
    return *size;
  }

  std::string extension_at(std::int64_t data, std::int64_t size) const {
    if (size > longest_extension) throw wrong("a name of " + std::to_string(size) + " bytes");
    std::string text(static_cast<std::size_t>(size), '\0');
    file_.read(data, text.size(), text.data());
    return text;
  }

  // Records "LENGTH KEY=VALUE\n", the length counting itself.
  void read_pax(std::string_view text, std::string& name, std::optional<std::int64_t>& size) const {
    while (!text.empty()) {
      std::size_t length = 0;
      const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), length);
      const auto digits = static_cast<std::size_t>(end - text.data());
      if (error != std::errc() || length > text.size() || length < digits + 2 || text[length - 1] != '\n')
        throw wrong("a damaged pax header");
      const std::string_view record = text.substr(digits + 1, length - digits - 2);
      text.remove_prefix(length);
      if (record.starts_with("path=")) name = record.substr(5);
      if (record.starts_with("size=")) {
        std::int64_t number = 0;
        const char* const last = record.data() + record.size();
        if (std::from_chars(record.data() + 5, last, number).ptr != last || record.size() == 5)
          throw wrong("a damaged pax header");
        size = number;
      }
    }
  }

  static std::string name_of(const Header& header) {
    const std::string_view name = text_of(header, name_field);
    const bool ustar =
        std::string_view(header.data() + magic_field.at, magic_field.size) == std::string_view("ustar\0", 6);
    const std::string_view prefix = ustar ? text_of(header, prefix_field) : std::string_view();
    return prefix.empty() ? std::string(name) : std::string(prefix) + "/" + std::string(name);
  }

  std::string checked(std::string name, char type) const {
    if (type == '1' || type == '2') throw wrong(name + " is a link; expected files and folders only");
    if (type != '0' && type != '\0')
      throw wrong(name + " is neither a file nor a folder (type " + std::string(1, type) + ")");
    if (name.starts_with('/')) throw wrong("the name " + name + " leads out of the archive");
    std::string clean;
    for (std::size_t from = 0; from <= name.size();) {
      const std::size_t end = std::min(name.find('/', from), name.size());
      const std::string piece = name.substr(from, end - from);
      from = end + 1;
      if (piece == "..") throw wrong("the name " + name + " leads out of the archive");
      if (piece.empty() || piece == ".") continue;
      clean += (clean.empty() ? "" : "/") + piece;
    }
    if (clean.empty()) throw wrong("a file without a name");
    return clean;
  }

  const RandomFile& file_;
  std::int64_t at_ = 0, begin_ = 0;  // the next header; the one that is looked at
  std::int64_t window_begin_ = 0;
  std::vector<char> window_;
};

}  // namespace

std::vector<TarEntry> list_tar(const RandomFile& file) { return Lister(file).list(); }

}  // namespace trainlab

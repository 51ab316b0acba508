#include "formats/input_file.h"

#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <system_error>
#include <vector>

#include "core/input_trace.h"
#include "core/reader.h"
#include "core/reading.h"
#include "core/registry.h"
#include "core/words.h"
#include "deflate.h"

namespace trainlab {

namespace fs = std::filesystem;

struct InputFile::Inflater {
  z_stream stream{};
  bool at_member_end = false;

  Inflater() {
    if (inflateInit2(&stream, 16 + MAX_WBITS) != Z_OK) throw run_error("zlib could not be started: out of memory");
  }
  ~Inflater() { inflateEnd(&stream); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;
};

namespace {

bool is_gzip(std::string_view bytes) { return bytes.size() >= 2 && bytes[0] == '\x1f' && bytes[1] == '\x8b'; }

// Names in a folder, sorted; an unreadable folder has none.
std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error))
    names.push_back(it->path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

std::unique_ptr<FileReader> reader_of(const fs::path& path) {
  check_reading(path);
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (!fs::exists(status)) throw missing_file(path);
  if (fs::is_directory(status)) {
    const std::vector<std::string> names = names_in(path);
    throw recipe_error("expected a file, found the folder " + path.string())
        .hint(names.empty() ? "the folder is empty" : "it holds " + joined_and_more(names, 8));
  }
  return std::make_unique<FileReader>(path);
}

constexpr std::size_t read_ahead = std::size_t{1} << 18;

}  // namespace

Error missing_file(const fs::path& path) {
  check_reading(path);  // the hint lists what is there
  Error missing = recipe_error("no such file or folder: " + path.string());
  std::error_code error;
  if (fs::is_symlink(fs::symlink_status(path, error)))
    return missing.hint("it is a link that leads nowhere: to " + fs::read_symlink(path, error).string());
  fs::path folder = path.parent_path();
  if (!fs::is_directory(folder, error)) {
    while (folder.has_relative_path() && !fs::exists(folder.parent_path(), error)) folder = folder.parent_path();
    return missing.hint("there is no folder " + folder.string());
  }
  const std::vector<std::string> names = names_in(folder);
  const std::string wanted = path.filename().string();
  std::string close = Registry::closest(wanted, names);
  for (const char* ending : {".gz", ".csv", ".csv.gz"})
    if (std::binary_search(names.begin(), names.end(), wanted + ending)) close = wanted + ending;
  if (!close.empty()) missing.hint("did you mean " + (folder / close).string() + "?");
  return missing;
}

InputFile::InputFile(const fs::path& path)
    : name_(path.string()), reader_(reader_of(path)), buffer_(std::make_unique_for_overwrite<char[]>(read_ahead)) {
  fill();
  if (is_gzip(rest_)) inflater_ = std::make_unique<Inflater>();
}

InputFile::InputFile(std::string_view bytes, std::string name) : name_(std::move(name)), rest_(bytes) {
  if (is_gzip(rest_)) inflater_ = std::make_unique<Inflater>();
}

InputFile::~InputFile() = default;
InputFile::InputFile(InputFile&&) noexcept = default;

Error InputFile::damaged(std::string_view what) const {
  return recipe_error(name_ + ": " + std::string(what))
      .hint("the download may have been cut short: fetch the file again");
}

void InputFile::fill() {
  if (!reader_) return;
  const InputSpan span(InputStage::read, 0);
  if (!rest_.empty()) std::memmove(buffer_.get(), rest_.data(), rest_.size());
  const std::span<char> room(buffer_.get() + rest_.size(), read_ahead - rest_.size());
  const std::size_t got = reader_->read(room);
  rest_ = {buffer_.get(), rest_.size() + got};
  if (got < room.size()) reader_.reset();
}

std::int64_t InputFile::left() const {
  return static_cast<std::int64_t>(rest_.size()) + (reader_ ? reader_->at_most() : 0);
}

std::int64_t InputFile::at_most() const {
  // zlib holds at most its window of bytes that it has read and not yet returned.
  return inflater_ ? left() * deflate_max_ratio + (std::int64_t{1} << 20) : left();
}

std::size_t InputFile::read(std::span<char> out) {
  if (!inflater_) {
    const std::size_t count = std::min(out.size(), rest_.size());
    std::copy_n(rest_.data(), count, out.data());
    rest_.remove_prefix(count);
    out = out.subspan(count);
    if (!reader_ || out.empty()) return count;
    const InputSpan span(InputStage::read, 0);
    const std::size_t more = reader_->read(out);
    if (more < out.size()) reader_.reset();
    return count + more;
  }
  const InputSpan span(InputStage::decompress, 0);
  z_stream& stream = inflater_->stream;
  constexpr std::size_t most = std::numeric_limits<uInt>::max();
  std::size_t done = 0;
  while (done < out.size()) {
    if (rest_.size() < 2) fill();
    if (inflater_->at_member_end) {
      if (rest_.empty()) break;
      if (!is_gzip(rest_))
        throw damaged(std::to_string(left()) + " bytes that are not gzip follow the end of the gzip data");
      if (inflateReset(&stream) != Z_OK) throw run_error("zlib could not be started anew");
      inflater_->at_member_end = false;
    }
    const std::size_t in = std::min(rest_.size(), most);
    const std::size_t room = std::min(out.size() - done, most);
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(rest_.data()));
    stream.avail_in = static_cast<uInt>(in);
    stream.next_out = reinterpret_cast<Bytef*>(out.data() + done);
    stream.avail_out = static_cast<uInt>(room);
    const int code = inflate(&stream, Z_NO_FLUSH);
    const std::size_t taken = in - stream.avail_in, given = room - stream.avail_out;
    rest_.remove_prefix(taken);
    done += given;
    if (code == Z_STREAM_END) {
      inflater_->at_member_end = true;
    } else if (code == Z_BUF_ERROR || (code == Z_OK && taken == 0 && given == 0)) {
      throw damaged("the gzip data ends too early");
    } else if (code == Z_MEM_ERROR) {
      throw run_error(name_ + ": out of memory while inflating");
    } else if (code != Z_OK) {
      throw damaged(std::string("damaged gzip data (") + (stream.msg ? stream.msg : "zlib gives no reason") + ")");
    }
  }
  return done;
}

void InputFile::read_all(std::string& bytes, std::int64_t limit, const BeforeTaking& before) {
  for (;;) {
    const std::size_t done = bytes.size();
    if (static_cast<std::int64_t>(done) > limit)
      throw recipe_error(name_ + ": more than " + std::to_string(limit) +
                         " bytes of content, which is too much for it");
    const std::int64_t could = std::min(at_most(), limit + 1 - static_cast<std::int64_t>(done));
    // Plain bytes are read in one piece, inflated bytes in pieces that grow with the bytes read so far.
    const std::int64_t piece =
        inflater_ ? std::min<std::int64_t>(could, std::max<std::int64_t>(1 << 20, static_cast<std::int64_t>(done)))
                  : could;
    if (piece <= 0) return;
    if (before) before(static_cast<std::int64_t>(done) + piece);
    bytes.resize(done + static_cast<std::size_t>(piece));
    const std::size_t count = read({bytes.data() + done, static_cast<std::size_t>(piece)});
    bytes.resize(done + count);
    if (count < static_cast<std::size_t>(piece)) return;
  }
}

std::string InputFile::read_all(std::int64_t limit) {
  std::string bytes;
  read_all(bytes, limit);
  return bytes;
}

// Text is seldom compressed to less than a hundredth: more than that is an attack.
void read_text(InputFile& file, std::string& text, const BeforeTaking& before) {
  constexpr std::int64_t always = 64 << 20;
  const auto done = static_cast<std::int64_t>(text.size());
  file.read_all(text, done + (file.compressed() ? std::max(always, file.at_most() / 4) : file.at_most()), before);
}

}  // namespace trainlab

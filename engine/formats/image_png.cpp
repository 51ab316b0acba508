#include <png.h>

#include <csetjmp>
#include <cstring>

#include "core/error.h"
#include "formats/image.h"

namespace trainlab {

namespace {

// libpng leaves its functions by longjmp when it finds damage. Frames that it may jump over hold nothing that has a
// destructor, and what happened is told through this.
struct Reading {
  const char* data;
  std::size_t left;
  char failure[128];
};

void fail(png_structp png, png_const_charp text) {
  auto* const reading = static_cast<Reading*>(png_get_error_ptr(png));
  std::strncpy(reading->failure, text, sizeof reading->failure - 1);
  png_longjmp(png, 1);
}

void ignore(png_structp, png_const_charp) {}

void take(png_structp png, png_bytep out, png_size_t count) {
  auto* const reading = static_cast<Reading*>(png_get_io_ptr(png));
  if (count > reading->left) png_error(png, "the data ends too early");
  std::memcpy(out, reading->data, count);
  reading->data += count;
  reading->left -= count;
}

struct PngHeader {
  png_uint_32 width, height;
  int passes, channels;
};

// False after damage.
bool read_header(png_structp png, png_infop info, PngHeader& header) {
  if (setjmp(png_jmpbuf(png)) != 0) return false;
  png_read_info(png, info);
  header.width = png_get_image_width(png, info);
  header.height = png_get_image_height(png, info);
  return true;
}

// Whatever the file holds becomes 8 bits of grey (1 channel) or RGB (3).
bool prepare(png_structp png, png_infop info, PngHeader& header, int channels) {
  if (setjmp(png_jmpbuf(png)) != 0) return false;
  png_set_expand(png);
  png_set_scale_16(png);
  png_set_strip_alpha(png);
  if (channels == 3) png_set_gray_to_rgb(png);
  header.passes = png_set_interlace_handling(png);
  png_read_update_info(png, info);
  header.channels = png_get_channels(png, info);
  return true;
}

bool read_rows(png_structp png, std::uint8_t* pixels, const PngHeader& header) {
  if (setjmp(png_jmpbuf(png)) != 0) return false;
  const std::size_t row_bytes = static_cast<std::size_t>(header.width) * static_cast<std::size_t>(header.channels);
  for (int pass = 0; pass < header.passes; ++pass)
    for (png_uint_32 row = 0; row < header.height; ++row) png_read_row(png, pixels + row * row_bytes, nullptr);
  png_read_end(png, nullptr);
  return true;
}

struct Reader {
  png_structp png = nullptr;
  png_infop info = nullptr;

  explicit Reader(Reading& reading) : png(png_create_read_struct(PNG_LIBPNG_VER_STRING, &reading, &fail, &ignore)) {
    if (png) info = png_create_info_struct(png);
    if (!info) {
      png_destroy_read_struct(&png, nullptr, nullptr);
      throw run_error("libpng could not be started: out of memory");
    }
    png_set_read_fn(png, &reading, &take);
    png_set_user_limits(png, 1'000'000, 1'000'000);
    png_set_chunk_malloc_max(png, 8'000'000);
  }
  ~Reader() { png_destroy_read_struct(&png, &info, nullptr); }
  Reader(const Reader&) = delete;
};

// RGB to grey by ITU-R 601 luma in 16-bit fixed point, in place.
void to_grey(Image& image) {
  const std::size_t pixels = image.pixels.size() / 3;
  for (std::size_t i = 0; i < pixels; ++i) {
    const std::uint8_t* rgb = image.pixels.data() + 3 * i;
    image.pixels[i] = static_cast<std::uint8_t>((rgb[0] * 19595 + rgb[1] * 38470 + rgb[2] * 7471 + 32768) >> 16);
  }
  image.reshape(image.height, image.width, 1);
}

}  // namespace

void decode_png(std::string_view bytes, int channels, const std::string& name, Image& image) {
  Reading reading{bytes.data(), bytes.size(), {}};
  const Reader reader(reading);
  PngHeader header{};
  const auto check = [&](bool read) {
    if (read) return;
    throw recipe_error(name + ": damaged PNG (" + reading.failure + ")")
        .hint("the file may have been cut short: fetch it again, or leave it out");
  };
  check(read_header(reader.png, reader.info, header));
  check_image_size(header.height, header.width, name);
  check(prepare(reader.png, reader.info, header, channels));
  image.reshape(static_cast<int>(header.height), static_cast<int>(header.width), header.channels);
  check(read_rows(reader.png, image.pixels.data(), header));
  if (channels == 1 && header.channels == 3) to_grey(image);
}

}  // namespace trainlab

// The JPEG decoder: libjpeg-turbo through libjpeg's interface, which tells of every warning. Its errors are jumps
// (setjmp), so what runs between a jump's start and its end has nothing to destroy.
#include <csetjmp>
#include <cstdio>  // jpeglib.h wants FILE

#include <jerror.h>
#include <jpeglib.h>

#include <array>
#include <string>

#include "core/error.h"
#include "formats/image.h"

namespace trainlab {

namespace {

constexpr int most_scans = 500;  // a progressive file may hold thousands that each touch every pixel

// A decoder costs more to make than a small image to decode: each thread keeps one.
class Decoder {
 public:
  Decoder() {
    info_.err = jpeg_std_error(&errors_);
    info_.client_data = this;
    errors_.error_exit = [](j_common_ptr info) {
      Decoder& self = of(info);
      self.explain(info);
      std::longjmp(self.start_, 1);
    };
    errors_.emit_message = [](j_common_ptr info, int level) {
      // Cameras leave stray bytes between segments, which hurt no pixel; every other warning means lost pixels.
      if (level < 0 && info->err->msg_code != JWRN_EXTRANEOUS_DATA) info->err->error_exit(info);
    };
    errors_.output_message = [](j_common_ptr) {};
    progress_.progress_monitor = [](j_common_ptr info) {
      if (info->is_decompressor == 0 || reinterpret_cast<j_decompress_ptr>(info)->input_scan_number <= most_scans)
        return;
      Decoder& self = of(info);
      std::snprintf(self.what_.data(), self.what_.size(), "more than %d scans", most_scans);
      std::longjmp(self.start_, 1);
    };
    if (setjmp(start_) != 0) throw run_error(std::string("libjpeg-turbo could not be started: ") + what());
    jpeg_create_decompress(&info_);
    info_.progress = &progress_;
  }
  ~Decoder() { jpeg_destroy_decompress(&info_); }
  Decoder(const Decoder&) = delete;

  // False when the file is damaged; what() says how.
  bool read_header(std::string_view bytes) {
    if (setjmp(start_) != 0) return false;
    jpeg_abort_decompress(&info_);  // what a file before this one has left
    jpeg_mem_src(&info_, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
    jpeg_read_header(&info_, TRUE);
    return true;
  }
  // All rows into `pixels`.
  bool read_pixels(J_COLOR_SPACE colours, std::uint8_t* pixels) {
    if (setjmp(start_) != 0) return false;
    info_.out_color_space = colours;
    jpeg_start_decompress(&info_);
    const std::size_t row_bytes = std::size_t{info_.output_width} * static_cast<std::size_t>(info_.output_components);
    while (info_.output_scanline < info_.output_height) {
      JSAMPROW row = pixels + info_.output_scanline * row_bytes;
      jpeg_read_scanlines(&info_, &row, 1);
    }
    jpeg_finish_decompress(&info_);
    return true;
  }

  int height() const { return static_cast<int>(info_.image_height); }
  int width() const { return static_cast<int>(info_.image_width); }
  bool for_print() const { return info_.jpeg_color_space == JCS_CMYK || info_.jpeg_color_space == JCS_YCCK; }
  const char* what() const { return what_.data(); }

 private:
  static Decoder& of(j_common_ptr info) { return *static_cast<Decoder*>(info->client_data); }
  void explain(j_common_ptr info) { info->err->format_message(info, what_.data()); }

  jpeg_decompress_struct info_{};
  jpeg_error_mgr errors_{};
  jpeg_progress_mgr progress_{};
  std::jmp_buf start_{};
  std::array<char, JMSG_LENGTH_MAX> what_{};
};

Error damaged(const std::string& what, const std::string& name) {
  return recipe_error(name + ": damaged JPEG (" + what + ")")
      .hint("the file may have been cut short: fetch it again, or leave it out");
}

}  // namespace

void decode_jpeg(std::string_view bytes, int channels, const std::string& name, Image& image) {
  thread_local Decoder decoder;
  if (!decoder.read_header(bytes)) throw damaged(decoder.what(), name);
  check_image_size(decoder.height(), decoder.width(), name);
  if (decoder.for_print())
    throw recipe_error(name + ": a JPEG for print, in CMYK; expected RGB or grey").hint("convert the file to RGB");
  image.reshape(decoder.height(), decoder.width(), channels);
  if (!decoder.read_pixels(channels == 1 ? JCS_GRAYSCALE : JCS_RGB, image.pixels.data()))
    throw damaged(decoder.what(), name);
}

}  // namespace trainlab

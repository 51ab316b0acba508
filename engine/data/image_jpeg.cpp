#include <turbojpeg.h>

#include <memory>

#include "core/error.h"
#include "image.h"

namespace trainlab {

namespace {

// A decoder costs more to make than a small image to decode: each thread keeps one.
void* decompressor() {
  struct Destroy {
    void operator()(void* handle) const { tjDestroy(handle); }
  };
  thread_local const std::unique_ptr<void, Destroy> handle(tjInitDecompress());
  if (!handle) throw run_error("libjpeg-turbo could not be started: out of memory");
  return handle.get();
}

Error damaged(const std::string& what, const std::string& name) {
  return recipe_error(name + ": damaged JPEG (" + what + ")")
      .hint("was the file cut short? Fetch it again, or leave it out");
}

// Cameras leave stray bytes between segments, which hurt no pixel; every other warning means lost pixels.
bool harmless(void* handle) {
  return tjGetErrorCode(handle) == TJERR_WARNING &&
         std::string_view(tjGetErrorStr2(handle)).find("extraneous bytes before marker") != std::string_view::npos;
}

}  // namespace

void decode_jpeg(std::string_view bytes, int channels, const std::string& name, Image& image) {
  void* const handle = decompressor();
  const auto* const data = reinterpret_cast<const unsigned char*>(bytes.data());
  int width = 0, height = 0, subsampling = 0, colours = 0;
  const int header = tjDecompressHeader3(handle, data, bytes.size(), &width, &height, &subsampling, &colours);
  if (header != 0 && !harmless(handle)) throw damaged(tjGetErrorStr2(handle), name);
  if (width == 0 && height == 0) throw damaged("there is no image in it", name);  // tables alone count as a header
  check_image_size(height, width, name);
  if (colours == TJCS_CMYK || colours == TJCS_YCCK)
    throw recipe_error(name + ": a JPEG for print, in CMYK; expected RGB or grey").hint("convert the file to RGB");
  image.reshape(height, width, channels);
  const int format = channels == 1 ? TJPF_GRAY : TJPF_RGB;
  // A progressive file may hold thousands of scans that each touch every pixel.
  const int done =
      tjDecompress2(handle, data, bytes.size(), image.pixels.data(), width, 0, height, format, TJFLAG_LIMITSCANS);
  if (done != 0 && !harmless(handle)) throw damaged(tjGetErrorStr2(handle), name);
}

}  // namespace trainlab

// Decoding, resizing and pixel arithmetic against Pillow and torchvision (tests/golden/image_golden.py).
#include <ATen/ops/empty.h>
#include <ATen/ops/equal.h>

#include <catch2/catch.hpp>
#include <cstring>

#include "formats/image.h"
#include "formats/pixels.h"
#include "support/data_support.h"
#include "tensor/safetensors.h"

namespace trainlab::images_test {

using namespace test;

namespace {

const at::Tensor& golden(const std::string& name) {
  static const NamedTensors all =
      load_safetensors(TRAINLAB_SOURCE_DIR "/tests/golden/image_golden.safetensors").tensors;
  return all.at(name);
}

std::string file(const std::string& name) {
  const at::Tensor& bytes = golden("file/" + name);
  return {static_cast<const char*>(bytes.const_data_ptr()), static_cast<std::size_t>(bytes.numel())};
}

at::Tensor planar(const Image& image) {
  at::Tensor result = at::empty({image.height, image.width, image.channels}, at::kByte);
  std::memcpy(result.mutable_data_ptr(), image.pixels.data(), image.pixels.size());
  return result.permute({2, 0, 1}).contiguous();
}

Image interleaved(const at::Tensor& planes) {
  const at::Tensor flat = planes.permute({1, 2, 0}).contiguous();
  Image image;
  image.reshape(static_cast<int>(planes.size(1)), static_cast<int>(planes.size(2)), static_cast<int>(planes.size(0)));
  std::memcpy(image.pixels.data(), flat.const_data_ptr(), image.pixels.size());
  return image;
}

at::Tensor decoded(const std::string& bytes, int channels) {
  Image image;
  decode_image(bytes, channels, "a file", image);
  return planar(image);
}

// `change` applied to a copy of the image.
template <class F>
at::Tensor after(const at::Tensor& image, F&& change) {
  at::Tensor copy = image.clone();
  std::vector<std::uint8_t> scratch;
  change(Planes{copy.mutable_data_ptr<std::uint8_t>(), static_cast<int>(copy.size(0)), static_cast<int>(copy.size(1)),
                static_cast<int>(copy.size(2)), 255, scratch});
  return copy;
}

std::int64_t largest_difference(const at::Tensor& a, const at::Tensor& b) {
  REQUIRE(a.sizes() == b.sizes());
  return a.to(at::kLong).sub(b.to(at::kLong)).abs().max().item<std::int64_t>();
}

}  // namespace

TEST_CASE("JPEG and PNG decode to Pillow's pixels") {
  for (const char* name : {"420.jpg", "444.jpg", "progressive.jpg", "grey.jpg", "rgb.png", "grey.png", "palette.png",
                           "bits.png", "alpha.png"}) {
    INFO(name);
    CHECK(at::equal(decoded(file(name), 3), golden(std::string("rgb/") + name)));
  }
  CHECK(at::equal(decoded(file("rgb.png"), 1), golden("grey/rgb.png")));
  CHECK(at::equal(decoded(file("grey.png"), 1), golden("rgb/grey.png").slice(0, 0, 1)));
  CHECK(at::equal(decoded(file("grey.jpg"), 1), golden("rgb/grey.jpg").slice(0, 0, 1)));
}

TEST_CASE("damaged images are told by name, and none is decoded beyond its bytes") {
  const auto refused = [](const std::string& bytes) { return error_of([&] { decoded(bytes, 3); }).message(); };
  for (const char* name : {"420.jpg", "progressive.jpg", "rgb.png", "palette.png"}) {
    const std::string whole = file(name);
    const bool png = contains(name, ".png");
    for (const std::size_t kept : {std::size_t{4}, std::size_t{30}, whole.size() / 2, whole.size() - 8}) {
      INFO(name << " cut to " << kept);
      const std::string message = refused(whole.substr(0, kept));
      CAPTURE(message);
      CHECK(contains(message, "a file: damaged " + std::string(png ? "PNG" : "JPEG")));
    }
  }
  CHECK(refused("") == "a file: neither a JPEG nor a PNG: the file is empty");
  CHECK(refused("GIF89a") == "a file: neither a JPEG nor a PNG");
  CHECK(contains(refused(file("cmyk.jpg")), "in CMYK; expected RGB or grey"));

  std::string flipped = file("rgb.png");
  flipped[60] ^= 1;
  CHECK(contains(refused(flipped), "damaged PNG"));

  // Headers that claim 60,000 x 60,000 and 0 x 27 pixels: the frame header follows the marker FF C0.
  std::string jpeg = file("444.jpg");
  const std::size_t frame = jpeg.find("\xff\xc0");
  REQUIRE(frame != std::string::npos);
  for (const std::size_t i : {5, 6, 7, 8}) jpeg[frame + i] = static_cast<char>(0xea);
  CHECK(contains(refused(jpeg), "a file: an image of 60138 x 60138 pixels; expected 1 to 100000000 pixels"));
  jpeg = file("444.jpg");
  jpeg[frame + 5] = jpeg[frame + 6] = 0;
  CHECK(contains(refused(jpeg), "a file: "));
}

TEST_CASE("stray bytes in a JPEG are passed over, and hide nothing that comes after them") {
  for (const char* name : {"420.jpg", "progressive.jpg"}) {
    CAPTURE(name);
    std::string stray = file(name);
    stray.insert(2, "stray");
    CHECK(at::equal(decoded(stray, 3), golden(std::string("rgb/") + name)));
    stray.insert(stray.size() - 2, "stray");  // before the marker of the end
    CHECK(at::equal(decoded(stray, 3), golden(std::string("rgb/") + name)));
    for (const std::size_t kept : {stray.size() / 2, stray.size() - 16}) {
      const std::string message = error_of([&] { decoded(stray.substr(0, kept), 3); }).message();
      CHECK(contains(message, "a file: damaged JPEG"));
    }
  }
}

TEST_CASE("resizing equals Pillow's to the bit") {
  const Image picture = interleaved(golden("picture"));
  const struct { int height, width; } sizes[] = {{20, 27}, {7, 9}, {41, 30}, {1, 1}, {20, 13}};
  for (const auto& size : sizes) {
    Image out;
    out.reshape(size.height, size.width, 3);
    resize(picture.pixels.data(), 20, 27, 3, {0, 0, 27, 20}, out.pixels.data(), size.height, size.width);
    INFO(size.height << " x " << size.width);
    CHECK(at::equal(planar(out), golden("resize/" + std::to_string(size.height) + "x" + std::to_string(size.width))));
  }
  Image out;
  out.reshape(15, 12, 3);
  resize(picture.pixels.data(), 20, 27, 3, {3, 2, 20, 18}, out.pixels.data(), 15, 12);
  CHECK(at::equal(planar(out), golden("resize/box")));

  Image covered = picture, scratch;
  cover(covered, 11, 11, scratch);
  CHECK(at::equal(planar(covered), golden("cover/11")));
}

TEST_CASE("geometry: closed forms, and torchvision's rotation and shear") {
  const at::Tensor image = golden("picture");
  CHECK(at::equal(after(image, flip_across), image.flip({2})));
  CHECK(at::equal(after(image, flip_down), image.flip({1})));
  CHECK(at::equal(after(after(image, flip_across), flip_across), image));

  const at::Tensor shifted = after(image, [](const Planes& p) { shift(p, 3, -2, false); });
  CHECK(at::equal(shifted.slice(1, 0, 17).slice(2, 2), image.slice(1, 3).slice(2, 0, 25)));
  CHECK(shifted.slice(1, 17).sum().item<std::int64_t>() == 0);
  CHECK(shifted.slice(2, 0, 2).sum().item<std::int64_t>() == 0);
  const at::Tensor mirrored = after(image, [](const Planes& p) { shift(p, 3, -2, true); });
  CHECK(at::equal(mirrored.slice(1, 0, 17).slice(2, 2), shifted.slice(1, 0, 17).slice(2, 2)));
  CHECK(
      at::equal(mirrored.select(1, 17).slice(1, 2), image.select(1, 18).slice(1, 0, 25)));  // row 20 mirrored at row 19
  CHECK(at::equal(mirrored.select(2, 0).slice(1, 0, 17), image.select(2, 2).slice(1, 3)));

  const at::Tensor square = image.slice(2, 0, 20).contiguous();
  const at::Tensor quarter = after(square, [](const Planes& p) { rotate(p, 90); });
  CHECK(at::equal(quarter, square.transpose(1, 2).flip({1})));
  CHECK(at::equal(quarter, golden("rotate/90")));
  CHECK(largest_difference(after(square, [](const Planes& p) { rotate(p, 30); }), golden("rotate/30")) <= 1);
  CHECK(largest_difference(after(square, [](const Planes& p) { rotate(p, -12.5); }), golden("rotate/-12.5")) <= 1);
  CHECK(largest_difference(after(image, [](const Planes& p) { shear_across(p, 0.2); }), golden("shear/across")) <= 1);
  CHECK(largest_difference(after(image, [](const Planes& p) { shear_down(p, 0.2); }), golden("shear/down")) <= 1);

  const at::Tensor holed = after(image, [](const Planes& p) { fill(p, -2, 24, 5, 10, 7); });
  CHECK(holed.slice(1, 0, 3).slice(2, 24).eq(7).all().item<bool>());
  CHECK(at::equal(holed.slice(1, 3), image.slice(1, 3)));
  CHECK(at::equal(holed.slice(2, 0, 24), image.slice(2, 0, 24)));
}

TEST_CASE("colours: torchvision's formulas") {
  const at::Tensor image = golden("picture");
  for (const char* factor : {"0.0", "0.4", "1.0", "1.7"}) {
    INFO(factor);
    const double f = std::stod(factor);
    const auto same = [&](const char* name, void (*change)(const Planes&, double)) {
      INFO(name);
      CHECK(largest_difference(after(image, [&](const Planes& p) { change(p, f); }),
                               golden(std::string(name) + "/" + factor)) <= 1);
    };
    same("brightness", brightness);
    same("contrast", contrast);
    same("saturation", saturation);
    same("sharpness", sharpness);
  }
  for (const char* turns : {"-0.5", "-0.1", "0.0", "0.25"}) {
    INFO(turns);
    CHECK(largest_difference(after(image, [&](const Planes& p) { hue(p, std::stod(turns)); }),
                             golden(std::string("hue/") + turns)) <= 1);
  }
  CHECK(at::equal(after(image, [](const Planes& p) { posterize(p, 3); }), golden("posterize/3")));
  CHECK(at::equal(after(image, [](const Planes& p) { solarize(p, 128); }), golden("solarize/128")));
  CHECK(largest_difference(after(image, stretch_contrast), golden("stretch")) <= 1);
  CHECK(at::equal(after(image, equalize), golden("equalize")));
}

}  // namespace trainlab::images_test

#include "journal/artifact.h"

#include <ATen/ops/full.h>
#include <png.h>

#include <cmath>

#include "core/error.h"
#include "core/files.h"
#include "tensor/npy.h"
#include "tensor/safetensors.h"
#include "tensor/types.h"

namespace trainlab {

namespace {

// Images side by side, about as many in a row as there are rows, a grey line between.
at::Tensor grid_of(const at::Tensor& images) {
  const std::int64_t count = images.size(0), height = images.size(2), width = images.size(3);
  const auto columns = static_cast<std::int64_t>(std::ceil(std::sqrt(static_cast<double>(count))));
  const std::int64_t rows = (count + columns - 1) / columns;
  at::Tensor grid = at::full({images.size(1), rows * (height + 1) - 1, columns * (width + 1) - 1}, 128, at::kByte);
  for (std::int64_t i = 0; i < count; ++i) {
    grid.narrow(1, i / columns * (height + 1), height).narrow(2, i % columns * (width + 1), width).copy_(images[i]);
  }
  return grid;
}

// [C, H, W], uint8.
at::Tensor pixels_of(const at::Tensor& tensor, const std::string& name) {
  at::Tensor image = tensor.detach().cpu();
  const std::int64_t channels = image.dim() < 3 ? 1 : image.size(image.dim() - 3);
  if (image.dim() < 2 || image.dim() > 4 || (channels != 1 && channels != 3) || image.numel() == 0) {
    throw recipe_error(name +
                       ": expected an image [H, W], [C, H, W] or several [N, C, H, W] with 1 or 3 channels, found " +
                       shape_text(tensor.sizes()));
  }
  if (at::isFloatingType(image.scalar_type())) {
    image = image.to(at::kFloat).nan_to_num(0).clamp(0, 1).mul(255).round();
  } else if (image.scalar_type() != at::kByte) {
    throw recipe_error(name + ": expected uint8 or numbers in 0…1 as pixels, found " + dtype_name(image.scalar_type()));
  }
  image = image.to(at::kByte);
  if (image.dim() == 4) return grid_of(image);
  return image.dim() == 2 ? image.unsqueeze(0) : image;
}

std::string png_bytes(const at::Tensor& pixels, const std::string& name) {
  const at::Tensor rows = pixels.permute({1, 2, 0}).contiguous();
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.width = static_cast<png_uint_32>(rows.size(1));
  image.height = static_cast<png_uint_32>(rows.size(0));
  image.format = rows.size(2) == 1 ? PNG_FORMAT_GRAY : PNG_FORMAT_RGB;
  std::string bytes;
  png_alloc_size_t size = 0;
  // Once for the size, once for the bytes.
  for (int pass = 0; pass < 2; ++pass) {
    bytes.resize(size);
    if (png_image_write_to_memory(&image, pass ? bytes.data() : nullptr, &size, 0, rows.const_data_ptr(), 0, nullptr) ==
        0) {
      throw recipe_error(name + ": " + image.message);
    }
  }
  bytes.resize(size);
  return bytes;
}

}  // namespace

std::string artifact_bytes(const at::Tensor& tensor, const std::string& name) {
  if (name.ends_with(".npy")) return npy_bytes(tensor.detach(), name);
  if (name.ends_with(".png")) return png_bytes(pixels_of(tensor, name), name);
  throw recipe_error(name + ": expected a name that ends in .npy or .png for a tensor")
      .hint("several tensors by name go into a .safetensors file; a text can have any name");
}

void check_file_name(std::string_view who, const std::string& name) {
  const bool plain = !name.empty() && name[0] != '.' && name.find('/') == std::string::npos;
  if (plain && !name.starts_with("last-") && !name.starts_with("best-") && !name.starts_with("loop-")) return;
  throw recipe_error(std::string(who) + ": expected a plain file name, found \"" + name + "\"");
}

void write_artifact(const std::filesystem::path& folder, const std::string& name, const Artifact& content) {
  const std::filesystem::path path = folder / "artifacts" / name;
  const auto* tensors = std::get_if<NamedTensors>(&content);
  if (tensors && !name.ends_with(".safetensors")) {
    throw recipe_error(name + ": expected a name that ends in .safetensors for a table of tensors");
  }
  if (tensors && tensors->contains("__metadata__")) {
    throw recipe_error(name + ": a tensor cannot be called __metadata__ in a .safetensors file");
  }
  make_directories(path.parent_path());
  if (tensors) {
    save_safetensors(path, *tensors);
  } else {
    write_atomic(path, std::get<std::string>(content));
  }
}

}  // namespace trainlab

// data.images: folders and tar archives of JPEG and PNG files, decoded when a batch is gathered.
#include <ATen/ops/empty.h>
#include <ATen/ops/scalar_tensor.h>

#include <algorithm>

#include "core/input_trace.h"
#include "core/long_reading.h"
#include "formats/image.h"
#include "formats/image_files.h"
#include "set/sources.h"

namespace trainlab {

namespace {

// The files of one part; a row is an image, uint8 [channels, height, width].
class ImageRows : public RowSource {
 public:
  // size [height, width], or empty: as the first image, and all are alike.
  ImageRows(const Options& spec, std::shared_ptr<const ImageFiles> files, const std::vector<ImageFile>& rows,
            int channels, std::vector<std::int64_t> size, Shape like)
      : spec_(spec), files_(std::move(files)), rows_(rows), shape_(std::move(like)), resizes_(!size.empty()) {
    if (resizes_) shape_ = {channels, size[0], size[1]};
    if (!shape_.empty()) return;
    Image image;
    decode(0, channels, image);
    shape_ = {channels, image.height, image.width};
  }

  at::ScalarType type() const override { return at::kByte; }
  Shape shape() const override { return shape_; }

  void make(std::int64_t row, std::byte* out) const override {
    placed_at(spec_, "path", [&] { write(row, out); });
  }

  FilePlace place(std::int64_t row) const override {
    const ImageFile& file = rows_[static_cast<std::size_t>(row)];
    const std::string name = files_->name_of(file);
    if (files_->archive) return {.path = files_->path, .name = name, .offset = file.offset, .size = file.size};
    return {.path = name, .name = name};
  }

 private:
  void write(std::int64_t row, std::byte* out) const {
    thread_local Image image, scratch;
    const auto channels = static_cast<int>(shape_[0]), height = static_cast<int>(shape_[1]),
               width = static_cast<int>(shape_[2]);
    decode(row, channels, image);
    const InputSpan span(InputStage::decode, 0);
    if (resizes_) cover(image, height, width, scratch);
    if (image.height != height || image.width != width) {
      throw recipe_error(files_->name_of(rows_[static_cast<std::size_t>(row)]) + ": " + std::to_string(image.width) +
                         " x " + std::to_string(image.height) + " pixels, the first image has " +
                         std::to_string(width) + " x " + std::to_string(height))
          .hint("data.images { …, size = " + std::to_string(height) + " } resizes and crops all images to one size");
    }
    put_planes(image, reinterpret_cast<std::uint8_t*>(out));
  }

  void decode(std::int64_t row, int channels, Image& image) const {
    thread_local std::string bytes;
    const ImageFile& file = rows_[static_cast<std::size_t>(row)];
    {
      const InputSpan span(InputStage::read, 1);
      files_->read(file, bytes);
    }
    const InputSpan span(InputStage::decode, 1);
    decode_image(bytes, channels, files_->name_of(file), image);
  }

  Options spec_;  // where errors are placed
  std::shared_ptr<const ImageFiles> files_;
  const std::vector<ImageFile>& rows_;  // of files_
  Shape shape_;
  bool resizes_;
};

DataParts make_images(const Options& spec, const DataContext&) {
  return placed_at(spec, "path", [&] {
    const LongReading reading(spec.string("path"));
    const auto files = std::make_shared<const ImageFiles>(find_images(spec.string("path")));
    const auto channels = static_cast<int>(spec.integer("channels"));
    if (channels == 2) throw spec.error("channels", "expected 1 or 3, found 2");
    const std::vector<std::int64_t> size = spec.has("size") ? spec.integers("size") : std::vector<std::int64_t>();
    Shape like;
    const auto part = [&](const std::vector<ImageFile>& rows) {
      Dataset dataset;
      dataset.size = static_cast<std::int64_t>(rows.size());
      dataset.classes = static_cast<std::int64_t>(files->classes.size());
      dataset.class_names = files->classes;
      const auto source = std::make_shared<const ImageRows>(spec, files, rows, channels, size, like);
      like = source->shape();
      Column x{"x", {}, at::scalar_tensor(1.0 / 255, at::kFloat), {}};
      x.source = source;
      const at::Tensor y = at::empty({dataset.size}, at::kLong);
      auto* label = y.mutable_data_ptr<std::int64_t>();
      for (const ImageFile& file : rows) *label++ = file.label;
      dataset.columns = {std::move(x), {"y", y, {}, {}}};
      return whole(std::move(dataset));
    };
    DataParts parts;
    parts.train = part(files->train);
    if (files->val) parts.val = part(*files->val);
    if (files->test) parts.test = part(*files->test);
    return parts;
  });
}

}  // namespace

void register_source_images(Registry& registry) {
  registry.add(
      Entry("data.images", "data", "Images in a folder or a tar archive, JPEG and PNG, one folder for each class.")
          .with(Option("path", "a folder or a plain .tar file").path().required().positional())
          .with(Option("size",
                       "height and width of a sample: each image is resized to cover this area and cropped around its "
                       "centre. Without this option all images must have the same size")
                    .integer()
                    .at_least(1)
                    .at_most(16384)
                    .in("pixels")
                    .many(2))
          .with(Option("channels", "3: RGB; 1: grey").integer().at_least(1).at_most(3).or_default(3))
          .returns("x float32 [channels, height, width] in 0…1 (bytes while they are kept), y int64, the position of "
                   "the class's folder in the order of names; a training part, and a validation and a test part if "
                   "their folders exist")
          .example("lab.data.images { path = \"flowers\", size = 64 }:split { val = 0.1 }:normalize()")
          .note("Images lie in CLASS/, or in train/CLASS/, val/CLASS/ and test/CLASS/. The loader's threads decode an "
                "image each time the image is used; data:pack keeps decoded images. Alpha channels are dropped."),
      DataFactory{make_images});
}

}  // namespace trainlab

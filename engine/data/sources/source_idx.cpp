// data.mnist and data.idx: images and labels from IDX files.
#include <ATen/ops/from_blob.h>
#include <ATen/ops/max.h>
#include <ATen/ops/min.h>
#include <ATen/ops/scalar_tensor.h>

#include <filesystem>

#include "core/long_reading.h"
#include "formats/idx.h"
#include "set/arrays.h"
#include "set/input_files.h"
#include "set/sources.h"

namespace trainlab {

namespace fs = std::filesystem;

namespace {

at::ScalarType scalar_type(IdxType type) {
  switch (type) {
    case IdxType::uint8: return at::kByte;
    case IdxType::int8: return at::kChar;
    case IdxType::int16: return at::kShort;
    case IdxType::int32: return at::kInt;
    case IdxType::float32: return at::kFloat;
    case IdxType::float64: return at::kDouble;
  }
  return at::kByte;
}

// Without a copy: the tensor owns the array's memory.
at::Tensor tensor_of(IdxArray array) {
  std::byte* const bytes = array.bytes.release();
  return at::from_blob(
      bytes, array.sizes, [](void* data) { delete[] static_cast<std::byte*>(data); },
      at::TensorOptions(scalar_type(array.type)));
}

struct IdxTensor {
  std::string file;
  at::Tensor values;
};

IdxTensor open_idx(const fs::path& path) {
  const LongReading reading(path);
  InputFile file = open_input(path);
  at::Tensor values = tensor_of(read_idx(file, room_for(file)));
  check_finite(values, file.name());
  return {file.name(), values};
}

// Images get a channel axis; bytes are given as 0…1.
Column input_column(const IdxTensor& images) {
  Column x{"x", images.values, {}, {}};
  if (x.values.dim() == 1 || x.values.dim() == 3) x.values = x.values.unsqueeze(1);
  if (x.values.scalar_type() == at::kByte) {
    x.scale = at::scalar_tensor(1.0 / 255, at::kFloat);
  } else if (x.values.is_floating_point()) {
    x.values = x.values.to(at::kFloat);
  } else {
    x.scale = at::scalar_tensor(1.0, at::kFloat);
  }
  return x;
}

// Whole numbers are classes; floats are targets of a regression. classes = 0: as many as the labels need.
void add_target(Dataset& dataset, const IdxTensor& labels, std::int64_t classes) {
  at::Tensor y = labels.values;
  if (y.is_floating_point() && classes == 0) {
    if (y.dim() > 2)
      throw recipe_error(labels.file + ": targets have one or two dimensions, found " + shape_text(y.sizes()));
    dataset.columns.push_back({"y", (y.dim() == 1 ? y.unsqueeze(1) : y).to(at::kFloat), {}, {}});
    return;
  }
  if (y.dim() != 1 || y.is_floating_point()) {
    throw recipe_error(labels.file + ": labels are whole numbers in one dimension, found " +
                       dtype_name(y.scalar_type()) + " " + shape_text(y.sizes()));
  }
  y = y.to(at::kLong);
  dataset.columns.push_back({"y", y, {}, {}});
  if (classes == 0) return count_classes(dataset, y, labels.file);
  const auto low = y.min().item<std::int64_t>(), high = y.max().item<std::int64_t>();
  if (low < 0 || high >= classes) {
    Error error = recipe_error(labels.file + ": labels from " + std::to_string(low) + " to " + std::to_string(high) +
                               ", expected 0 to " + std::to_string(classes - 1));
    if (low >= 0) error.hint("data.idx takes labels of any number of classes");
    throw error;
  }
  dataset.classes = classes;
}

Dataset join(const IdxTensor& images, const IdxTensor& labels, std::int64_t classes) {
  if (images.values.size(0) != labels.values.size(0)) {
    throw recipe_error(images.file + " holds " + std::to_string(images.values.size(0)) + " images, but " + labels.file +
                       " " + std::to_string(labels.values.size(0)) + " labels")
        .hint("the two files may not belong together");
  }
  Dataset dataset;
  dataset.size = images.values.size(0);
  dataset.columns.push_back(input_column(images));
  add_target(dataset, labels, classes);
  return dataset;
}

// MNIST's files have a dash before "idx", or the dot that some archives make of it.
fs::path mnist_file(const fs::path& folder, const std::string& stem, const std::string& idx) {
  for (const char* separator : {"-", "."}) {
    for (const char* ending : {"-ubyte", "-ubyte.gz"}) {
      const fs::path path = folder / (stem + separator + idx + ending);
      if (fs::exists(path)) return path;
    }
  }
  throw missing_file(folder / (stem + "-" + idx + "-ubyte.gz"));
}

Dataset open_mnist(const fs::path& folder, const std::string& part) {
  const IdxTensor images = open_idx(mnist_file(folder, part + "-images", "idx3"));
  const IdxTensor labels = open_idx(mnist_file(folder, part + "-labels", "idx1"));
  if (images.values.dim() != 3 || images.values.scalar_type() != at::kByte) {
    throw recipe_error(images.file + ": expected images of uint8 [N, height, width], found " +
                       dtype_name(images.values.scalar_type()) + " " + shape_text(images.values.sizes()));
  }
  return join(images, labels, 10);
}

DataParts make_mnist(const Options& spec, const DataContext&) {
  return placed_at(spec, "path", [&] {
    const fs::path folder = spec.string("path");
    if (!fs::exists(folder)) throw missing_file(folder);
    if (!fs::is_directory(folder))
      throw recipe_error("expected a folder with the four IDX files of MNIST, found the file " + folder.string());
    DataParts parts;
    parts.train = whole(open_mnist(folder, "train"));
    parts.test = whole(open_mnist(folder, "t10k"));
    const Shape train = parts.train.data->find("x")->sample_shape(), test = parts.test->data->find("x")->sample_shape();
    if (train != test) {
      throw recipe_error(folder.string() + ": training images are " + shape_text(train) + ", test images " +
                         shape_text(test));
    }
    return parts;
  });
}

DataParts make_idx(const Options& spec, const DataContext&) {
  const IdxTensor images = placed_at(spec, "images", [&] { return open_idx(spec.string("images")); });
  const IdxTensor labels = placed_at(spec, "labels", [&] { return open_idx(spec.string("labels")); });
  DataParts parts;
  parts.train = placed_at(spec, "labels", [&] { return whole(join(images, labels, 0)); });
  return parts;
}

}  // namespace

void register_source_idx(Registry& registry) {
  registry.add(
      Entry("data.mnist", "data", "MNIST or a set of the same form (Fashion-MNIST, KMNIST) from its four IDX files.")
          .with(Option("path", "folder with {train,t10k}-{images-idx3,labels-idx1}-ubyte, plain or .gz")
                    .path()
                    .required()
                    .positional())
          .returns("x float32 [1, 28, 28] in 0…1 (kept as bytes), y int64 in 0…9; a training and a test part")
          .example("lab.data.mnist(\"mnist\"):split { val = 0.1 }:normalize()"),
      DataFactory{make_mnist});
  registry.add(
      Entry("data.idx", "data", "Any pair of IDX files, plain or gzip.")
          .with(Option("images", "IDX file of the inputs; the size of its first dimension is the number of samples")
                    .path()
                    .required())
          .with(Option("labels", "IDX file with a label (a whole number from 0) or a target (a float) for each sample")
                    .path()
                    .required())
          .returns("x float32 (bytes as 0…1; [N, H, W] is given a channel axis), y int64, or float32 for targets; one "
                   "training part")
          .example("lab.data.idx { images = \"letters-images.gz\", labels = \"letters-labels.gz\" }")
          .note("The number of classes is the largest label + 1; labels below 0 and from 1,000,000 on mark what does "
                "not count (ignore_index)."),
      DataFactory{make_idx});
}

}  // namespace trainlab

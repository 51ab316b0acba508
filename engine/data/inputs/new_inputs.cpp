#include "data/new_inputs.h"

#include <ATen/ops/scalar_tensor.h>

#include <algorithm>
#include <cctype>

#include "core/files.h"
#include "core/long_reading.h"
#include "core/words.h"
#include "formats/image.h"
#include "formats/input_file.h"
#include "methods/normalize.h"
#include "set/arrays.h"
#include "set/input_files.h"
#include "set/sources.h"
#include "sources/npz.h"
#include "sources/table.h"
#include "tensor/npy.h"

namespace trainlab {

namespace fs = std::filesystem;

namespace {

std::string batch_text(const InputColumn& column) {
  std::string text = "[N";
  for (const std::int64_t n : column.shape) text += ", " + std::to_string(n);
  return (column.integers ? "whole numbers " : "numbers ") + text + "]";
}

std::string batch_text(const Column& column) {
  InputColumn found{.name = column.name, .shape = column.sample_shape()};
  found.integers = at::isIntegralType(column.batch_type(), /*includeBool=*/true);
  return batch_text(found);
}

// Whether a sample of this shape can be normalised by the mean, of as many axes.
bool has_mean_for(const at::Tensor& mean, const Shape& sample) {
  for (std::size_t i = 0; i < sample.size(); ++i) {
    const std::int64_t size = mean.size(static_cast<std::int64_t>(i));
    if (size != 1 && size != sample[i]) return false;
  }
  return true;
}

// The columns that the model reads, in its order, with as many axes as in training; their sizes may differ, where the
// layers of the model take other sizes. x is normalised as in training.
Part as_trained(const Dataset& found, const std::string& from, std::span<const InputColumn> columns,
                const NamedTensors& state) {
  Dataset dataset;
  dataset.size = found.size;
  for (const InputColumn& wanted : columns) {
    const Column* column = found.find(wanted.name);
    if (!column) throw recipe_error(from + ": there is no \"" + wanted.name + "\", which the model reads");
    const bool integers = at::isIntegralType(column->batch_type(), /*includeBool=*/true);
    const Shape shape = column->sample_shape();
    const bool is_normal = wanted.name == "x" && state.contains("x.mean");
    if (shape.size() != wanted.shape.size() || integers != wanted.integers ||
        (is_normal && !has_mean_for(state.at("x.mean"), shape))) {
      throw other_column(from, wanted, *column)
          .hint(integers && !wanted.integers
                    ? "whole numbers are token ids or counts: save them as float32, or bytes as uint8"
                    : "the first axis counts the samples");
    }
    dataset.columns.push_back(*column);
  }
  if (state.contains("x.mean")) normalize_x(dataset, state.at("x.mean"), state.at("x.std"));
  return whole(std::move(dataset));
}

std::string list(const std::vector<std::string>& names) { return joined_start(names, 20, valid_utf8); }

// Arrays of a file by the names of the columns.
template <class Load>
NamedTensors take(const std::string& from, std::span<const InputColumn> columns, const std::vector<std::string>& names,
                  Load&& load) {
  NamedTensors tensors;
  for (const InputColumn& column : columns) {
    if (std::find(names.begin(), names.end(), column.name) == names.end()) {
      throw recipe_error(from + ": there is no array \"" + column.name + "\" in it, which the model reads")
          .hint("the arrays are " + list(names));
    }
    tensors.emplace(column.name, load(column.name));
  }
  return tensors;
}

NewInputs read_table_rows(const fs::path& path, std::span<const InputColumn> columns, const NamedTensors& state) {
  if (!state.contains("table")) {
    throw recipe_error(path.string() + ": a table, but the model was trained on arrays of " +
                       batch_text(columns.front()))
        .hint("give them as .npy");
  }
  const std::string text = csv_text_of(path);
  const CsvText csv = read_csv(text, stored_table(state)["delimiter"].string()[0], path.string());
  NewInputs inputs{.from = path.string()};
  const Dataset rows = encode_new(csv, path.string(), state, inputs.warnings);
  inputs.part = as_trained(rows, path.string(), columns, state);
  return inputs;
}

// Images of any size, a file each, decoded to the shape of the model's input [channels, height, width].
class ImageInputs final : public RowSource {
 public:
  ImageInputs(std::vector<fs::path> files, Shape shape) : files_(std::move(files)), shape_(std::move(shape)) {}

  at::ScalarType type() const override { return at::kByte; }
  Shape shape() const override { return shape_; }
  void make(std::int64_t row, std::byte* out) const override {
    constexpr std::int64_t largest_file = std::int64_t{1} << 30;
    thread_local Image image, scratch;
    const fs::path& file = files_[static_cast<std::size_t>(row)];
    decode_image(read_file(file, largest_file), static_cast<int>(shape_[0]), file.string(), image);
    cover(image, static_cast<int>(shape_[1]), static_cast<int>(shape_[2]), scratch);
    put_planes(image, reinterpret_cast<std::uint8_t*>(out));
  }

 private:
  std::vector<fs::path> files_;
  Shape shape_;
};

bool is_image(const std::string& kind) { return kind == ".jpg" || kind == ".jpeg" || kind == ".png"; }

NewInputs read_images(const fs::path& from, std::vector<fs::path> files, std::span<const InputColumn> columns,
                      const NamedTensors& state) {
  const InputColumn& input = columns.front();
  const Shape& shape = input.shape;
  if (columns.size() > 1 || input.integers || shape.size() != 3 || (shape[0] != 1 && shape[0] != 3)) {
    throw recipe_error(from.string() + ": an image, but the model reads " + input.name + " of " + batch_text(input))
        .hint("a model of images reads [channels, height, width], 1 or 3 channels");
  }
  NewInputs inputs{.from = from.string()};
  for (const fs::path& file : files) inputs.names.push_back(file.filename().string());
  Dataset dataset;
  dataset.size = static_cast<std::int64_t>(files.size());
  Column column{input.name, {}, at::scalar_tensor(1.0 / 255, at::kFloat), {}};
  column.source = std::make_shared<const ImageInputs>(std::move(files), shape);
  dataset.columns.push_back(std::move(column));
  inputs.part = as_trained(dataset, from.string(), columns, state);
  return inputs;
}

// ".csv" of "A.CSV" and "a.csv.gz".
std::string ending(const fs::path& path) {
  fs::path name = path.filename();
  if (name.extension() == ".gz") name = name.stem();
  std::string text = name.extension().string();
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

// The images of a folder, in order of name.
std::vector<fs::path> images_in(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    if (entry.path().filename().string().starts_with('.')) continue;
    if (!entry.is_regular_file() || !is_image(ending(entry.path()))) {
      throw recipe_error(folder.string() + ": expected JPEG and PNG files only, found " +
                         entry.path().filename().string());
    }
    files.push_back(entry.path());
  }
  if (files.empty()) throw recipe_error(folder.string() + ": there are no images in it");
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

Error other_column(const std::string& from, const InputColumn& expected, const Column& found) {
  return recipe_error(from + ": expected " + expected.name + " of " + batch_text(expected) +
                      ", as the model was trained on, found " + batch_text(found));
}

NewInputs inputs_of(const NamedTensors& tensors, const std::string& from, std::span<const InputColumn> columns,
                    const NamedTensors& state) {
  std::vector<NamedArray> arrays;
  for (const InputColumn& column : columns) {
    const auto found = tensors.find(column.name);
    if (found == tensors.end())
      throw recipe_error(from + ": there is no \"" + column.name + "\", which the model reads");
    arrays.push_back({column.name, found->second, columns.size() > 1 ? from + ": " + column.name : from});
  }
  return {.from = from, .part = as_trained(dataset_of(arrays), from, columns, state)};
}

NewInputs read_inputs(const fs::path& path, std::span<const InputColumn> columns, const NamedTensors& state) {
  const std::string from = path.string(), kind = ending(path);
  std::error_code ignored;
  if (!fs::exists(path, ignored)) throw missing_file(path);
  const LongReading reading(path);
  const bool is_folder = fs::is_directory(path, ignored);
  if (state.contains("table") && (is_folder || is_image(kind))) {
    throw recipe_error(from + ": expected a table, as the model was trained on, found " +
                       (is_folder ? "a folder" : "an image"))
        .hint("give a .csv file with the columns of the training; the target is not needed");
  }
  if (is_folder) return read_images(path, images_in(path), columns, state);
  if (is_image(kind)) return read_images(path, {path}, columns, state);
  if (kind == ".csv" || kind == ".tsv") return read_table_rows(path, columns, state);
  if (kind == ".npy") {
    if (columns.size() > 1) {
      throw recipe_error(from + ": one array, but the model reads " + std::to_string(columns.size()))
          .hint("an .npz or .safetensors file holds several, by name");
    }
    InputFile file = open_input(path);
    const at::Tensor x = load_npy(file, from);
    return inputs_of({{columns.front().name, x}}, from, columns, state);
  }
  if (kind == ".npz") {
    const NpzFile file(from);
    const auto load = [&](const std::string& name) { return file.load(name); };
    return inputs_of(take(from, columns, file.names(), load), from, columns, state);
  }
  if (kind == ".safetensors") {
    const LoadedTensors loaded = tensors_of(path);
    std::vector<std::string> names;
    for (const auto& [name, tensor] : loaded.tensors) names.push_back(name);
    const auto load = [&](const std::string& name) { return loaded.tensors.at(name); };
    return inputs_of(take(from, columns, names, load), from, columns, state);
  }
  throw recipe_error(from + ": expected a folder of images, or a file .csv, .npy, .npz, .safetensors, .jpg or .png");
}

std::vector<std::string> target_names(const NamedTensors& state) {
  return state.contains("table") ? stored_targets(stored_table(state)) : std::vector<std::string>{};
}

}  // namespace trainlab

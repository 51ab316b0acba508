// Datasets in memory and the parts that a recipe's data spec gives: training, validation, test.
//
// A source is a lazy spec; opening it reads the files once. Columns keep their stored dtype (MNIST stays uint8, a
// quarter of the memory traffic) and are converted while a batch is gathered. Immutable after opening, so
// thread-safe to read.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/random/key.h"
#include "core/registry.h"
#include "tensor/named_tensors.h"
#include "tensor/types.h"

namespace trainlab {

// Bytes of a file.
struct FilePlace {
  std::string path = {};  // to be opened
  std::string name = {};  // for people: an archive's with the entry inside
  std::int64_t offset = 0;
  std::int64_t size = -1;  // -1: to the end of the file
};

// Rows that are made when a batch is gathered instead of being kept: decoded images. Immutable.
class RowSource {
 public:
  virtual ~RowSource() = default;
  virtual at::ScalarType type() const = 0;
  virtual Shape shape() const = 0;  // shape of one row
  // Writes row `row` to `out`, in the size that type() and shape() give. The bytes depend on `row` only. Called by
  // several threads at once. Error{recipe} names the file that cannot be read.
  virtual void make(std::int64_t row, std::byte* out) const = 0;
  // The bytes that row `row` is made from; an empty path where they lie in no file.
  virtual FilePlace place(std::int64_t row) const {
    (void)row;
    return {};
  }
};

// `values`: [N, sample…], on the CPU; each sample is contiguous, but samples may lie anywhere and may overlap: windows
// of a text are a strided view. With a source of rows `values` is undefined. A numeric column is float32 after its
// conversion for a batch: out = values * scale + shift, with scale and shift broadcast over one sample (empty tensors:
// no conversion, the batch has the stored dtype).
struct Column {
  std::string name;  // "x", "y", or any other
  at::Tensor values;
  // float32, or float64 where the stored values are; broadcastable to one sample, or undefined.
  at::Tensor scale, shift;
  bool as_int64 = false;  // whole numbers stored in fewer bytes, given as int64; without scale and shift
  std::shared_ptr<const RowSource> source = nullptr;

  Shape sample_shape() const;
  at::ScalarType stored_type() const;
  // Float32, which stands for the batch's type of floats, when scaled or stored as floats; int64 when asked for; else
  // the stored type.
  at::ScalarType batch_type() const;
};

struct Dataset {
  std::vector<Column> columns;
  std::int64_t size = 0;
  std::int64_t classes = 0;                // of y, 0 for regression
  std::int64_t lowest_label = 0;           // of y, where it has classes: below 0 for marks of what does not count
  std::int64_t highest_mark = 0;           // of y: the highest label, where it is too high for a class; 0: none is
  std::vector<std::string> class_names;    // empty, or `classes` names
  std::vector<std::string> feature_names;  // of a table's x

  const Column* find(std::string_view column) const;
  // Bytes of the columns; memory that several columns share counts once.
  std::int64_t bytes() const;
};

// An epoch made of samples drawn with replacement, instead of each sample once.
struct Draws {
  std::int64_t count = 0;          // samples of an epoch
  std::vector<double> cumulative;  // for each sample the sum of its weight and all weights before; empty: equal weights

  // Places in a part of `size` samples; a function of the key.
  std::vector<std::int64_t> draw(Key key, std::int64_t size) const;
};

class Augmentation;

// Rows of a dataset. `rows` in the order of the part; nullptr: all rows.
struct Part {
  std::shared_ptr<const Dataset> data;
  std::shared_ptr<const std::vector<std::int64_t>> rows;
  std::shared_ptr<const Draws> draws = {};                 // of training parts; nullptr: an epoch is each sample once
  std::shared_ptr<const Augmentation> augmentation = {};   // of training parts, or none
  std::vector<std::shared_ptr<Callable>> transforms = {};  // of the recipe, over each batch, in this order

  // Samples of an epoch in training.
  std::int64_t epoch_size() const { return draws ? draws->count : size(); }
  // Number of samples in the part.
  std::int64_t size() const { return rows ? static_cast<std::int64_t>(rows->size()) : data->size; }
  std::int64_t row(std::int64_t i) const { return rows ? (*rows)[static_cast<std::size_t>(i)] : i; }
};

struct DataParts {
  Part train;
  std::optional<Part> val, test;
  // Values that are needed to prepare new data for the trained model; checkpoints store them as data.….
  //   x.mean, x.std   float64, broadcastable to a sample, after the source's own scale: of normalize()
  //   table           uint8, JSON text: the columns of a table, their fill values and categories, and the classes
  //   tokenizer       uint8, JSON text: what text is cut into (data/tokenizer.h)
  NamedTensors state;
  std::vector<std::string> warnings = {};  // "FILE:LINE: path: text", of what may not be meant
  // Completes a source when it is known which rows train (a table's fill values and categories). Methods that look at
  // columns call this function first; it is empty in the result of open_data().
  std::function<void(DataParts&)> settle;
  // The next three functions are for methods, and empty in the result of open_data(). The first cuts sources whose
  // samples follow each other (texts): split() calls it, instead of drawing samples, with the ends of the training
  // part, of the validation part and of all used samples, as fractions.
  std::function<void(DataParts&, double train, double val, double end)> cut;
  // The rows of a table, encoded with the fill values, categories and classes that this state of another table holds.
  // Adds a sentence for each column with categories that the other table lacks to `warnings`. Error{recipe} if columns,
  // targets or classes are others. Empty where a method has changed the columns.
  std::function<Dataset(const NamedTensors& state, std::vector<std::string>& warnings)> encode_as;
  // Gives a column of the source that is in no batch, as float64 [N]: numbers, or codes of other values; NaN where
  // missing. Undefined if there is no such column.
  std::function<at::Tensor(const std::string& column)> lookup;
};

struct DataContext {
  std::int64_t seed = 1;     // default of every `seed` option
  bool is_appended = false;  // the data are appended to others, which decide what the columns of a table are used for
};

// Opens a data entry. Error{recipe} names the file and what is wrong (missing, truncated, lying header, labels out of
// range, NaN target, empty).
DataParts open_data(const Options& spec, const DataContext& context);

using DataFactory = std::function<DataParts(const Options&, const DataContext&)>;

void register_data(Registry& registry);

}  // namespace trainlab

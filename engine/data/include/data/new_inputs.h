// New inputs for a trained model: from files or tensors, brought into the form in which training had its own.
//
// Inputs have the form of the data source, before normalize(): bytes are read as 0…1, and a table's columns are encoded
// with the fill values and categories of its training part. Thread-safe.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "data/dataset.h"

namespace trainlab {

// A column of the batch that a model reads.
struct InputColumn {
  std::string name;       // "x", or the name of an nn.Input
  Shape shape = {};       // of one sample
  bool integers = false;  // whole numbers (token ids), not numbers of the model's type
};

struct NewInputs {
  std::string from;                     // for messages
  Part part = {};                       // the columns in the order that was asked for
  std::vector<std::string> names = {};  // a name for each sample of images; else empty
  // Warnings about inputs that are read in another way than they look: categories of a table that did not
  // train.
  std::vector<std::string> warnings = {};
};

// `state`: DataParts::state, as the checkpoint has it. The name of a file tells its format: .csv and .tsv (plain or
// gzip; the training data were a table), .npy (one column), .npz and .safetensors (an array for each column, by name),
// .jpg, .jpeg and .png, or a folder of them (resized and cropped to the model's input; decoded when batches are made).
// Error{recipe} naming the file and what is wrong: missing, malformed, another shape or dtype, NaN or infinity.
NewInputs read_inputs(const std::filesystem::path& path, std::span<const InputColumn> columns,
                      const NamedTensors& state);

// The error for a column whose samples have another shape or dtype than the model takes.
Error other_column(const std::string& from, const InputColumn& expected, const Column& found);

// Takes inputs from tensors [N, sample…] by column; other tensors are ignored. `from` is for messages. Error{recipe} as
// above.
NewInputs inputs_of(const NamedTensors& tensors, const std::string& from, std::span<const InputColumn> columns,
                    const NamedTensors& state);

// The names of the columns that a model of a table predicts; empty if the training data was not a table.
std::vector<std::string> target_names(const NamedTensors& state);

}  // namespace trainlab

// Tensors of the CPU that lie in a file (core/scratch_file.h) in place of memory: for state that a step needs once and
// that does not fit into memory.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>

#include "core/scratch_file.h"

namespace trainlab {

// While this guard exists, tensors that its thread makes on the CPU lie in the file, if they have at least
// `smallest_in_file` bytes. They keep the file alive, and any thread may free them. The bytes are no part of
// tensor_memory(), no limit holds for them, and no listener hears of them, in a dry run neither. Error{run} for a
// tensor for which the disk has no space.
class TensorsInFile {
 public:
  explicit TensorsInFile(std::shared_ptr<ScratchFile> file);
  ~TensorsInFile();
  TensorsInFile(const TensorsInFile&) = delete;

 private:
  const std::shared_ptr<ScratchFile> file_;
  const std::shared_ptr<ScratchFile>* const outer_;
};

constexpr std::int64_t smallest_in_file = std::int64_t{64} << 10;

// Bytes of this process's tensors that lie in files, and the most at a time since the start or
// reset_peak_in_files(). Thread-safe.
std::int64_t tensor_bytes_in_files();
std::int64_t peak_in_files();
void reset_peak_in_files();

// ScratchFile::read_ahead() and write_behind() for the block of a tensor; nothing for a tensor that lies in memory.
void read_ahead(const at::Tensor& tensor);
void write_behind(const at::Tensor& tensor);

}  // namespace trainlab

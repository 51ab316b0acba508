// Activations in a file: what autograd keeps for the backward pass is copied into a file in place of memory, and read
// again when the backward pass comes to it (memory.offload = "activations").
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <span>

#include "core/scratch_file.h"

namespace trainlab {

// The file, which serves one pass after the other. Not thread-safe. Tensors that are still kept keep the file alive.
class ActivationFile {
 public:
  explicit ActivationFile(std::shared_ptr<ScratchFile> file);
  ~ActivationFile();
  // Error{run} where the disk has failed to write what was kept.
  void check() const;
  struct Impl;

 private:
  friend class OffloadActivations;
  std::shared_ptr<Impl> impl_;
};

// While this guard exists, what autograd keeps on this thread lies in the file: tensors of at least `smallest_in_file`
// bytes (tensor/file_memory.h), each once however many operators keep it, with the values that it has when it is kept.
// Gradients have the same bits as without the guard. The tensors `stay` (weights, batches), which somebody else holds
// anyway, are kept as they are.
class OffloadActivations {
 public:
  OffloadActivations(ActivationFile& file, std::span<const std::span<const at::Tensor>> stay);
  ~OffloadActivations();
  OffloadActivations(const OffloadActivations&) = delete;

 private:
  ActivationFile::Impl* const outer_;
};

}  // namespace trainlab

#include "tensor/file_memory.h"

#include <utility>

#include "file_blocks.h"
#include "tensor/memory.h"

namespace trainlab {

namespace {

thread_local constinit const std::shared_ptr<ScratchFile>* current = nullptr;
MemoryCount in_files;

struct Owner {
  std::shared_ptr<ScratchFile> file;
  ScratchFile::Block block;
};

void free_in_file(void* context) {
  const std::unique_ptr<const Owner> owner(static_cast<const Owner*>(context));
  in_files.remove(MemoryUse::other, owner->block.bytes);
  owner->file->give_back(owner->block);
}

// The place of a tensor's memory in a file; null where it lies in memory.
const Owner* owner_of(const at::Tensor& tensor) {
  const c10::DataPtr& data = tensor.storage().data_ptr();
  return data.get_deleter() == free_in_file ? static_cast<const Owner*>(data.get_context()) : nullptr;
}

}  // namespace

TensorsInFile::TensorsInFile(std::shared_ptr<ScratchFile> file) : file_(std::move(file)), outer_(current) {
  current = &file_;
}

TensorsInFile::~TensorsInFile() { current = outer_; }

std::int64_t tensor_bytes_in_files() { return in_files.live(); }
std::int64_t peak_in_files() { return in_files.now().peak; }
void reset_peak_in_files() { in_files.reset_peak(); }

bool lies_in_file(std::size_t bytes) { return bytes >= static_cast<std::size_t>(smallest_in_file) && current; }

c10::DataPtr allocate_in_file(std::size_t bytes) {
  auto owner = std::make_unique<Owner>(Owner{.file = *current, .block = {}});
  owner->block = owner->file->take(static_cast<std::int64_t>(bytes));
  in_files.add(MemoryUse::other, owner->block.bytes);
  void* const address = owner->block.address;
  return {address, owner.release(), free_in_file, c10::Device(c10::kCPU)};
}

void read_ahead(const at::Tensor& tensor) {
  if (const Owner* const owner = owner_of(tensor)) ScratchFile::read_ahead(owner->block);
}

void write_behind(const at::Tensor& tensor) {
  if (const Owner* const owner = owner_of(tensor)) owner->file->write_behind(owner->block);
}

}  // namespace trainlab

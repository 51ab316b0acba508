#include "meta_device.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/ops/empty.h>
#include <c10/core/Allocator.h>

#include <mutex>
#include <stdexcept>
#include <unordered_map>

#include "file_blocks.h"
#include "tensor/dry_run.h"
#include "tensor/generator.h"

namespace trainlab {
namespace {

// The device of dry runs. It draws nothing, because its tensors have no values.
class Meta final : public Device {
 public:
  Meta() : Device(at::kMeta) {}

  TensorMemory memory() const override { return {}; }
  std::int64_t live_bytes() const override { return 0; }
  void take(std::vector<at::Tensor>&) const override {}
  void fill_uniform(const at::Tensor&, Key, double, double) const override {}
  void fill_normal(const at::Tensor&, Key, double, double) const override {}
  at::Tensor dropout_multipliers(at::IntArrayRef shape, at::ScalarType type, std::span<const double>,
                                 std::span<const Key>) const override {
    return at::empty(shape, at::device(at::kMeta).dtype(type));
  }
  at::Tensor bernoulli(at::IntArrayRef shape, at::ScalarType type, double, Key) const override {
    return at::empty(shape, at::device(at::kMeta).dtype(type));
  }
  void draw(const c10::OperatorHandle& op, torch::jit::Stack& stack, std::size_t generator, Key key) const override {
    stack[generator] = keyed_generator(key);
    op.callBoxed(stack);
  }
};

thread_local MemoryListener* dry_listener = nullptr;

struct Block {
  std::int64_t bytes;
  MemoryUse use;
  MemoryListener* listener;  // the listener that has heard of the block
};

void free_block_of_meta(void* context) {
  const auto* const block = static_cast<Block*>(context);
  if (block->listener == dry_listener) dry_listener->freed(block, block->bytes, block->use);
  delete block;
}

// Allocates nothing, and tells the listener how much memory the CPU's allocator would take.
class MetaAllocator final : public c10::Allocator {
 public:
  c10::DataPtr allocate(std::size_t bytes) override {
    if (bytes == 0 || !dry_listener || lies_in_file(bytes)) return {nullptr, at::kMeta};
    auto* const block = new Block{block_bytes(static_cast<std::int64_t>(bytes)), current_memory_use(), dry_listener};
    dry_listener->allocated(block, block->bytes, block->use);
    return {nullptr, block, free_block_of_meta, at::kMeta};
  }
  c10::DeleterFnPtr raw_deleter() const override { return nullptr; }
  void copy_data(void*, const void*, std::size_t) const override {}
};

}  // namespace

const Device& meta_device() {
  static const Meta meta;
  return meta;
}

MetaBlock::MetaBlock(std::int64_t bytes)
    : bytes_(bytes), use_(current_memory_use()), listener_(bytes > 0 ? dry_listener : nullptr) {
  if (listener_) listener_->allocated(this, bytes_, use_);
}

MetaBlock::~MetaBlock() {
  if (listener_) listener_->freed(this, bytes_, use_);
}

DryRun::DryRun(MemoryListener& listener) {
  static MetaAllocator allocator;
  static std::once_flag once;
  std::call_once(once, [] { c10::SetAllocator(at::kMeta, &allocator, /*priority=*/1); });
  register_meta_operators();
  if (dry_listener) throw std::logic_error("DryRun: this thread makes a dry run already");
  dry_listener = &listener;
}

DryRun::~DryRun() { dry_listener = nullptr; }

}  // namespace trainlab

#include "model/offload.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <c10/util/intrusive_ptr.h>

#include <cstring>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "offload_hooks.h"
#include "saved_version.h"
#include "tensor/file_memory.h"

namespace trainlab {

namespace {

thread_local constinit ActivationFile::Impl* current = nullptr;

// The backward pass reads this many bytes ahead of what it needs.
constexpr std::int64_t read_ahead_bytes = std::int64_t{16} << 20;

}  // namespace

struct ActivationFile::Impl : std::enable_shared_from_this<ActivationFile::Impl> {
  // The content of a storage, in the file.
  struct Kept {
    at::Tensor content;
    std::size_t number;  // among those of its pass
  };

  explicit Impl(std::shared_ptr<ScratchFile> with) : file(std::move(with)) {}

  std::shared_ptr<ScratchFile> file;
  std::unordered_set<const c10::StorageImpl*> stays;

  // The storages of the pass that are in the file. The weak reference keeps the address from being another storage's.
  struct Known {
    c10::weak_intrusive_ptr<c10::StorageImpl> storage;
    std::uint32_t version;
    std::weak_ptr<Kept> kept;
  };
  std::unordered_map<const c10::StorageImpl*, Known> known;
  std::vector<std::weak_ptr<Kept>> pass;  // in the order in which the forward pass has kept them
  std::size_t ahead = 0;                  // what comes after has been read already

  std::shared_ptr<Kept> keep(const at::Tensor& tensor) {
    if (!(tensor.is_cpu() || tensor.is_meta()) || tensor.layout() != at::kStrided || !tensor.has_storage()) return {};
    const c10::Storage& storage = tensor.storage();
    const auto bytes = static_cast<std::int64_t>(storage.nbytes());
    const c10::StorageImpl* const address = storage.unsafeGetStorageImpl();
    if (bytes < smallest_in_file || stays.contains(address)) return {};
    const std::uint32_t version = tensor.unsafeGetTensorImpl()->version_counter().current_version();
    if (const auto found = known.find(address); found != known.end() && found->second.version == version) {
      if (std::shared_ptr<Kept> kept = found->second.kept.lock()) return kept;
    }
    auto kept = std::make_shared<Kept>(Kept{.content = copied(storage, tensor.device()), .number = pass.size()});
    pass.push_back(kept);
    ahead = pass.size();
    known.insert_or_assign(address,
                           Known{.storage = c10::weak_intrusive_ptr<c10::StorageImpl>(storage.getWeakStorageImpl()),
                                 .version = version,
                                 .kept = kept});
    return kept;
  }

  at::Tensor copied(const c10::Storage& storage, at::Device device) const {
    const auto bytes = static_cast<std::int64_t>(storage.nbytes());
    const TensorsInFile guard(file);
    at::Tensor content = at::empty({bytes}, at::device(device).dtype(at::kByte));
    if (content.is_meta()) return content;
    std::memcpy(content.mutable_data_ptr(), storage.data(), static_cast<std::size_t>(bytes));
    write_behind(content);
    return content;
  }

  // The backward pass goes through the pass from its end.
  void read_before(std::size_t number) {
    std::int64_t bytes = 0;
    for (std::size_t i = number; i > 0 && bytes < read_ahead_bytes; --i) {
      const std::shared_ptr<Kept> kept = pass.size() >= i ? pass[i - 1].lock() : nullptr;
      if (!kept) continue;
      bytes += static_cast<std::int64_t>(kept->content.nbytes());
      if (i > ahead) continue;
      read_ahead(kept->content);
      ahead = i - 1;
    }
  }
};

namespace {

class ToFile final : public torch::autograd::SavedVariableHooks {
 public:
  explicit ToFile(ActivationFile::Impl* file) : file_(file->shared_from_this()) {}

  void call_pack_hook(const at::Tensor& tensor) override {
    version_ = SavedVersion(tensor);
    sizes_ = tensor.sizes().vec();
    type_ = tensor.scalar_type();
    kept_ = file_->keep(tensor);
    if (!kept_) {
      tensor_ = tensor.detach();
      return;
    }
    strides_ = tensor.strides().vec();
    offset_ = tensor.storage_offset();
  }

  // The file has the values of before a change in place. Such a change is refused all the same: what trains must not
  // depend on which tensors are large enough for the file.
  at::Tensor call_unpack_hook() override {
    TORCH_CHECK(version_.is_current(), version_.complaint(type_, sizes_));
    if (!kept_) return tensor_;
    file_->read_before(kept_->number);
    const at::NoGradGuard no_gradients;
    const at::Tensor& content = kept_->content;
    at::Tensor view = at::empty({0}, at::device(content.device()).dtype(type_));
    return view.set_(content.storage(), offset_, sizes_, strides_);
  }

 private:
  std::shared_ptr<ActivationFile::Impl> file_;
  std::shared_ptr<ActivationFile::Impl::Kept> kept_;
  SavedVersion version_ = SavedVersion(at::Tensor());
  at::Tensor tensor_;
  std::vector<std::int64_t> sizes_, strides_;
  std::int64_t offset_ = 0;
  at::ScalarType type_ = at::kFloat;
};

}  // namespace

ActivationFile::ActivationFile(std::shared_ptr<ScratchFile> file) : impl_(std::make_shared<Impl>(std::move(file))) {}
ActivationFile::~ActivationFile() = default;

void ActivationFile::check() const { impl_->file->check(); }

OffloadActivations::OffloadActivations(ActivationFile& file, std::span<const std::span<const at::Tensor>> stay)
    : outer_(std::exchange(current, file.impl_.get())) {
  current->stays.clear();
  current->known.clear();
  current->pass.clear();
  for (const std::span<const at::Tensor> tensors : stay) {
    for (const at::Tensor& one : tensors)
      if (one.defined() && one.has_storage()) current->stays.insert(one.storage().unsafeGetStorageImpl());
  }
}

OffloadActivations::~OffloadActivations() {
  current->stays.clear();
  current->known.clear();
  current = outer_;
}

std::unique_ptr<torch::autograd::SavedVariableHooks> offload_hooks() {
  return current ? std::make_unique<ToFile>(current) : nullptr;
}

}  // namespace trainlab

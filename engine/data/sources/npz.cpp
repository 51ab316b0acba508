#include "npz.h"

#include <algorithm>

#include "formats/input_file.h"
#include "tensor/npy.h"

namespace trainlab {

namespace {

std::string bytes_of(const std::string& path) {
  InputFile file(path);
  return file.read_all(file.at_most());
}

}  // namespace

NpzFile::NpzFile(const std::string& path) : path_(path), bytes_(bytes_of(path)), zip_(bytes_, path) {
  for (const ZipFile::Member& member : zip_.members()) {
    const std::string_view name = member.name;
    if (name.ends_with(".pkl")) {
      throw recipe_error(path_ +
                         ": a file of PyTorch: it holds a Python pickle, which can run any code and is never executed")
          .hint("save the tensors as safetensors, or with numpy.savez");
    }
    if (!name.ends_with(".npy")) continue;
    names_.emplace_back(name.substr(0, name.size() - 4));
    members_[names_.back()] = &member;
  }
}

at::Tensor NpzFile::load(const std::string& name) const {
  // An array that inflates to more than this was made to fill the memory.
  const std::uint64_t most = std::max<std::uint64_t>(std::uint64_t{1} << 30, std::uint64_t{100} * bytes_.size());
  return load_npy(zip_.read(*members_.at(name), most), path_ + ": " + name);
}

}  // namespace trainlab

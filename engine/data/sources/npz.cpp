#include "npz.h"

#include <algorithm>

#include "formats/input_file.h"
#include "set/input_files.h"
#include "tensor/npy.h"

namespace trainlab {

namespace {

// An obstacle to reading a file is told as for every file of data.
const std::string& checked(const std::string& path) {
  InputFile file(path);
  return path;
}

}  // namespace

NpzFile::NpzFile(const std::string& path) : path_(path), zip_(std::filesystem::path(checked(path))) {
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
  const ZipFile::Member& member = *members_.at(name);
  // An array that inflates to more than this was made to fill the memory.
  const std::unique_ptr<ByteSource> bytes =
      zip_.open(member, std::max<std::uint64_t>(std::uint64_t{1} << 30, std::uint64_t{100} * zip_.size()));
  const std::string full_name = path_ + ": " + name;
  check_room_for(static_cast<std::int64_t>(member.size), full_name);
  return load_npy(*bytes, full_name);
}

}  // namespace trainlab

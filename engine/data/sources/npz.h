// NumPy's .npz files: arrays by name in a zip archive.
#pragma once

#include <ATen/core/Tensor.h>

#include <map>
#include <string>
#include <vector>

#include "formats/zip.h"

namespace trainlab {

class NpzFile {
 public:
  // Error{recipe} if the file is not an npz file, for instance a file of PyTorch: pickles are never executed.
  explicit NpzFile(const std::string& path);
  NpzFile(const NpzFile&) = delete;

  const std::vector<std::string>& names() const { return names_; }
  // The array of one of names(). Error{recipe} as in load_npy and ZipFile::read.
  at::Tensor load(const std::string& name) const;

 private:
  std::string path_;
  ZipFile zip_;
  std::vector<std::string> names_;
  std::map<std::string, const ZipFile::Member*> members_;
};

}  // namespace trainlab

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "core/value.h"
#include "fuzz.h"
#include "journal/checkpoint.h"

namespace trainlab::test {

// The commit of a checkpoint, with the hash that belongs to it: what a wrong hash protects from is looked at too.
void fuzz(std::string_view bytes) {
  static const std::filesystem::path folder = [] {
    std::string name = (std::filesystem::temp_directory_path() / "fuzz-XXXXXX").string();
    if (!mkdtemp(name.data())) std::abort();
    save_safetensors(std::filesystem::path(name) / "a.safetensors", {});
    return name;
  }();
  Value info = parse_json(bytes, "fuzz.json");
  if (!info.is_map()) return;
  info.set("commit_hash", Value());
  info.set("commit_hash", fingerprint(info));
  std::ofstream(folder / "last-000000001.json", std::ios::binary) << to_json(info);
  CheckpointFolder(folder, [](const std::string&) {}).newest();
}

}  // namespace trainlab::test

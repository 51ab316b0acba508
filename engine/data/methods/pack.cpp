// data:pack.
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "core/files.h"
#include "core/reading.h"
#include "packed_file.h"
#include "set/sources.h"

namespace trainlab {

namespace fs = std::filesystem;

namespace {

constexpr int format = 1;

// Name, size and time of change of a file, or of all files in a folder, in order of name.
void describe_files(const fs::path& path, std::string& described) {
  std::vector<fs::path> files{path};
  std::error_code error;
  if (fs::is_directory(path, error)) {
    files.clear();
    const auto options = fs::directory_options::follow_directory_symlink;
    for (fs::recursive_directory_iterator it(path, options, error), end; !error && it != end; it.increment(error))
      if (it->is_regular_file(error)) files.push_back(it->path());
    std::sort(files.begin(), files.end());
  }
  for (const fs::path& file : files) {
    const std::uintmax_t size = fs::file_size(file, error);
    const auto time = error ? 0 : fs::last_write_time(file, error).time_since_epoch().count();
    described += file.string() + '\0' + (error ? "none" : std::to_string(size)) + ' ' + std::to_string(time) + '\n';
  }
}

// The inputs of the chain of entries: the files that its options name, and whether it draws from the fit's seed.
struct Sources {
  std::string files;
  bool takes_seed = false;
};

void look_through(const Options& spec, Sources& sources) {
  for (const Option& option : spec.entry().options) {
    for (const Form& form : option.forms) {
      if (form.type == Form::Type::function && spec.given(option.name))
        throw spec.error(option.name, "what a function made cannot be packed: a change of it could not be seen")
            .hint("write :pack before it");
      if (form.type == Form::Type::path && spec.given(option.name)) {
        const Value& value = spec.get(option.name);
        if (value.is_string()) describe_files(value.string(), sources.files);
        if (value.is_list())
          for (const Value& path : value.list()) describe_files(path.string(), sources.files);
      }
    }
    if (option.name == "seed" && !spec.given("seed")) sources.takes_seed = true;
    if (spec.given(option.name) && spec.is_entry(option.name)) look_through(spec.child(option.name), sources);
  }
}

std::string key_of(const Options& spec, const DataContext& context) {
  Sources sources;
  const Options source = spec.child("source");
  look_through(source, sources);
  Value key;
  key.set("format", format);
  key.set("spec", fingerprint(source.value()));
  key.set("files", hash_bytes(sources.files));
  if (sources.takes_seed) key.set("seed", context.seed);
  return hash_bytes(to_json(key));
}

// Held while the file is looked for and made, so that of several processes one packs and the others wait for it. On the
// folder: nothing is left behind.
class FolderLock {
 public:
  explicit FolderLock(const fs::path& folder) : fd_(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
    if (fd_ < 0 || flock(fd_, LOCK_EX) != 0)
      throw recipe_error(folder.string() + ": " + std::generic_category().message(errno))
          .hint("data:pack writes into a folder that is there");
  }
  ~FolderLock() { close(fd_); }
  FolderLock(const FolderLock&) = delete;

 private:
  int fd_;
};

DataParts pack(const Options& spec, const DataContext& context) {
  const std::string key = key_of(spec, context);
  return placed_at(spec, "path", [&] {
    const fs::path path = spec.string("path");
    check_reading(path);
    const FolderLock lock(path.parent_path());
    if (std::optional<DataParts> packed = open_packed(path, key)) return std::move(*packed);
    DataParts parts = open_source(spec.child("source"), context);
    if (parts.train.augmentation)
      throw spec.error("source", "augmented data is not packed: it is new in each epoch")
          .hint("write :pack before :augment");
    if (parts.train.draws || parts.cut)
      throw spec.error("source", "expected a set of samples, found windows of a text or weighted draws")
          .hint("a text needs no packing; write :pack before :weighted and before a share of :append");
    settle(parts);
    write_packed(path, key, parts);
    std::optional<DataParts> packed = open_packed(path, key);
    if (!packed) throw run_error(path.string() + " was changed by another program while it was packed");
    return std::move(*packed);
  });
}

}  // namespace

void register_pack(Registry& registry) {
  registry.add(
      Entry("data:pack", "data", "Keeps the data decoded in a file, which later epochs and runs map into memory.")
          .with(Option("path", "the file; made when the file does not exist or no longer fits the data")
                    .path()
                    .required()
                    .positional())
          .returns("data")
          .example(
              "lab.data.images(\"photos\"):pack(\"photos.pack\"):split { val = 0.1 }:augment { lab.augment.flip() }")
          .note("The file is made once, by all cores, in one step: an interrupted program leaves the old file or none. "
                "The file is used as long as the part of the recipe before :pack and the source files (their names, "
                "sizes and times of change) stay the same; otherwise the file is made anew. A file that does not hold "
                "packed data is not overwritten. The hash of the file is checked when it is opened, once in each "
                "process. "
                "Bytes stay bytes: 50,000 images of 3 × 32 × 32 take 154 MB."),
      DataFactory{pack});
}

}  // namespace trainlab

#include "formats/image_files.h"

#include <algorithm>
#include <map>
#include <set>
#include <system_error>

#include "core/error.h"
#include "core/reading.h"
#include "core/words.h"
#include "formats/input_file.h"

namespace trainlab {

namespace fs = std::filesystem;

namespace {

constexpr std::int64_t most_bytes = std::int64_t{1} << 30;  // of an image file
constexpr std::size_t listed = 5;                           // names in a message

std::vector<std::string> pieces_of(const std::string& name) {
  std::vector<std::string> pieces;
  for (std::size_t from = 0; from <= name.size();) {
    const std::size_t end = std::min(name.find('/', from), name.size());
    pieces.push_back(name.substr(from, end - from));
    from = end + 1;
  }
  return pieces;
}

bool named_as_image(const std::string& name) {
  const std::size_t dot = name.rfind('.');
  if (dot == std::string::npos) return false;
  std::string ending = name.substr(dot + 1);
  for (char& c : ending) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return ending == "jpg" || ending == "jpeg" || ending == "png";
}

// Two levels of a folder, or three with parts; links are followed, so that a data set can be a selection of another.
void list_folder(const fs::path& folder, const std::string& prefix, int depth, std::vector<ImageFile>& files) {
  check_reading(folder);
  std::vector<fs::directory_entry> entries;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) entries.push_back(*it);
  if (error) throw recipe_error(folder.string() + " cannot be read: " + error.message());
  bool empty = true;
  for (const fs::directory_entry& entry : entries) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with('.')) continue;
    empty = false;
    if (!entry.is_directory(error)) {
      files.push_back({prefix + name});
    } else if (depth == 3) {
      throw recipe_error(entry.path().string() + ": a folder where image files are expected")
          .hint("images lie in CLASS/, or in train/CLASS/, val/CLASS/ and test/CLASS/");
    } else {
      list_folder(entry.path(), prefix + name + "/", depth + 1, files);
    }
  }
  if (empty && depth > 1) throw recipe_error(folder.string() + ": the folder is empty");
}

void check_size(const ImageFiles& images, const ImageFile& file, std::int64_t size) {
  if (size <= most_bytes) return;
  throw recipe_error(images.name_of(file) + ": expected an image of at most " + std::to_string(most_bytes) +
                     " bytes, found " + std::to_string(size) + " bytes");
}

class Arrange {
 public:
  Arrange(ImageFiles& images, std::vector<ImageFile> files) : images_(images), files_(std::move(files)) {}

  void run() {
    if (files_.empty()) throw recipe_error(images_.path + ": there are no files in it");
    std::sort(files_.begin(), files_.end(), [](const ImageFile& a, const ImageFile& b) { return a.name < b.name; });
    if (images_.archive) skip_outer_folder();
    const bool has_parts = std::any_of(files_.begin(), files_.end(),
                                       [&](const ImageFile& file) { return within(file).starts_with("train/"); });
    for (ImageFile& file : files_) place(std::move(file), has_parts);
    if (images_.train.empty()) throw recipe_error(images_.path + ": there are no images to train on");
    compare("val", images_.val);
    compare("test", images_.test);
    const std::set<std::string>& classes = seen_["train"];
    images_.classes.assign(classes.begin(), classes.end());
    label("train", images_.train);
    if (images_.val) label("val", *images_.val);
    if (images_.test) label("test", *images_.test);
  }

 private:
  std::string within(const ImageFile& file) const { return file.name.substr(outer_); }

  // Archives are often made of one folder that holds everything. "train" alone is no such folder.
  void skip_outer_folder() {
    const std::string& first = files_.front().name;
    const std::size_t end = first.find('/');
    if (end == std::string::npos || first.starts_with("train/")) return;
    const std::string folder = first.substr(0, end + 1);
    const bool all = std::all_of(files_.begin(), files_.end(), [&](const ImageFile& file) {
      return file.name.starts_with(folder) && file.name.find('/', end + 1) != std::string::npos;
    });
    if (all) outer_ = folder.size();
  }

  void place(ImageFile file, bool has_parts) {
    std::vector<std::string> pieces = pieces_of(within(file));
    if (pieces.back().starts_with('.')) return;
    std::string part = "train";
    if (has_parts) {
      part = pieces.front();
      pieces.erase(pieces.begin());
      if (part != "train" && part != "val" && part != "test")
        throw wrong(file, "beside train/ there may be val/ and test/, not " + part);
    }
    if (pieces.size() != 2) {
      throw wrong(file, pieces.size() < 2 ? "it lies in no class's folder" : "it lies in a folder of a class's folder")
          .hint("images lie in CLASS/, or in train/CLASS/, val/CLASS/ and test/CLASS/");
    }
    if (!named_as_image(pieces[1])) throw wrong(file, "expected images, .jpg, .jpeg or .png");
    if (images_.archive) check_size(images_, file, file.size);
    seen_[part].insert(pieces[0]);
    std::vector<ImageFile>& files = part == "train" ? images_.train
                                    : part == "val" ? (images_.val ? *images_.val : images_.val.emplace())
                                                    : (images_.test ? *images_.test : images_.test.emplace());
    class_of_[part].push_back(pieces[0]);
    files.push_back(std::move(file));
  }

  Error wrong(const ImageFile& file, const std::string& text) const {
    return recipe_error(images_.name_of(file) + ": " + text);
  }

  void compare(const std::string& part, const std::optional<std::vector<ImageFile>>& files) const {
    if (!files) return;
    const std::set<std::string>&train = seen_.at("train"), &other = seen_.at(part);
    std::set<std::string> missing, extra;
    std::set_difference(train.begin(), train.end(), other.begin(), other.end(), std::inserter(missing, missing.end()));
    std::set_difference(other.begin(), other.end(), train.begin(), train.end(), std::inserter(extra, extra.end()));
    if (missing.empty() && extra.empty()) return;
    std::string text = images_.path + ": the classes of " + part + "/ are not those of train/";
    if (!missing.empty()) text += "; missing in " + part + "/: " + joined_and_more(missing, listed);
    if (!extra.empty()) text += "; only in " + part + "/: " + joined_and_more(extra, listed);
    throw recipe_error(text);
  }

  void label(const std::string& part, std::vector<ImageFile>& files) {
    const std::vector<std::string>& classes = class_of_[part];
    for (std::size_t i = 0; i < files.size(); ++i) {
      files[i].label =
          std::lower_bound(images_.classes.begin(), images_.classes.end(), classes[i]) - images_.classes.begin();
    }
  }

  ImageFiles& images_;
  std::vector<ImageFile> files_;
  std::size_t outer_ = 0;  // bytes of the outer folder's name
  std::map<std::string, std::set<std::string>> seen_;
  std::map<std::string, std::vector<std::string>> class_of_;  // of each file of a part
};

}  // namespace

std::string ImageFiles::name_of(const ImageFile& file) const {
  return archive ? path + ": " + file.name : path + "/" + file.name;
}

void ImageFiles::read(const ImageFile& file, std::string& bytes) const {
  const auto fill = [&](const RandomFile& from, std::int64_t offset, std::int64_t size) {
    check_size(*this, file, size);
    bytes.resize(static_cast<std::size_t>(size));
    from.read(offset, bytes.size(), bytes.data());
  };
  if (archive) return fill(*archive, file.offset, file.size);
  const RandomFile alone(fs::path(path) / file.name);
  fill(alone, 0, alone.size());
}

ImageFiles find_images(const fs::path& path) {
  ImageFiles images;
  images.path = path.string();
  std::vector<ImageFile> files;
  if (fs::is_directory(path)) {
    list_folder(path, "", 1, files);
  } else {
    images.archive = std::make_unique<RandomFile>(path);
    for (TarEntry& entry : list_tar(*images.archive))
      files.push_back({std::move(entry.name), entry.offset, entry.size});
  }
  Arrange(images, std::move(files)).run();
  return images;
}

}  // namespace trainlab

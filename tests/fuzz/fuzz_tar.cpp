#include "formats/image_files.h"
#include "fuzz.h"

namespace trainlab::test {

// The archive as a set of images; each file that is listed is there.
void fuzz(std::string_view bytes) {
  const FuzzFile file(bytes);
  for (const TarEntry& entry : list_tar(RandomFile(file.path())))
    if (entry.name.empty() || entry.offset < 0 || entry.size < 0 ||
        entry.offset + entry.size > static_cast<std::int64_t>(bytes.size()))
      __builtin_trap();
  const ImageFiles images = find_images(file.path());
  std::string content;
  for (const ImageFile& image : images.train) images.read(image, content);
}

}  // namespace trainlab::test

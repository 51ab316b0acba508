#include "formats/tar.h"

#include <catch2/catch.hpp>

#include "formats/image_files.h"
#include "support/data_support.h"
#include "support/tar_support.h"

namespace trainlab::tar_test {

using namespace test;

namespace fs = std::filesystem;

namespace {

std::vector<TarEntry> listed(const std::string& bytes) { return list_tar(RandomFile(write_file("a.tar", bytes))); }

std::string refused(const std::string& bytes) {
  return error_of([&] { listed(bytes); }).message();
}

std::string refused_images(const std::string& path) {
  return error_of([&] { find_images(path); }).message();
}

void touch(const std::string& path) {
  fs::create_directories(fs::path(path).parent_path());
  write_file(path, "x");
}

}  // namespace

TEST_CASE("tar: files with their places, long names of both kinds") {
  const std::string long_name = "train/" + std::string(150, 'n') + "/1.png";
  const std::string record = " path=" + long_name + "\n";
  const std::string pax = std::to_string(record.size() + 3) + record;
  const std::vector<TarEntry> entries =
      listed(tar_entry("./train/", "", '5') + tar_entry("./train/cat/1.jpg", "miau") +
             tar_entry("././@LongLink", long_name + '\0', 'L') + tar_entry("cut", std::string(600, 'z')) + tar_end());
  REQUIRE(entries.size() == 2);
  CHECK(entries[0].name == "train/cat/1.jpg");
  CHECK(entries[0].offset == 1024);
  CHECK(entries[0].size == 4);
  CHECK(entries[1].name == long_name);
  CHECK(entries[1].size == 600);
  CHECK(listed(tar_entry("pax", pax, 'x') + tar_entry("cut", "wau") + tar_end())[0].name == long_name);
}

TEST_CASE("tar: what is damaged, cut short or leads elsewhere") {
  const std::string good = tar_entry("a/1.png", "x");
  CHECK(contains(refused(""), "ends without its end mark"));
  CHECK(contains(refused(good), "byte 1024: the archive ends without its end mark"));
  CHECK(contains(refused(std::string(1024, 'x')), "this is no tar archive"));
  CHECK(contains(refused(gzipped(good + tar_end()) + std::string(600, 'x')), "a compressed archive"));
  std::string damaged = good + good + tar_end();
  damaged[1024 + 3] ^= 1;
  CHECK(contains(refused(damaged), "byte 1024: a damaged header"));
  CHECK(contains(refused(tar_header("a/1.png", 1 << 20) + tar_end()),
                 "an entry of 1048576 bytes, of which 1024 are there"));
  CHECK(contains(refused(tar_entry("a/1.png", "", '2') + tar_end()), "a/1.png is a link"));
  CHECK(contains(refused(tar_entry("a/1.png", "", '1') + tar_end()), "a/1.png is a link"));
  CHECK(contains(refused(tar_entry("a/1.png", "", '3') + tar_end()), "neither a file nor a folder"));
  CHECK(contains(refused(tar_entry("/etc/1.png", "x") + tar_end()), "leads out of the archive"));
  CHECK(contains(refused(tar_entry("a/../../1.png", "x") + tar_end()), "leads out of the archive"));
  CHECK(contains(refused(good + good + tar_end()), "the file a/1.png is in it twice"));
  CHECK(contains(refused(tar_entry("pax", "99 path=a\n", 'x') + tar_end()), "a damaged pax header"));
}

TEST_CASE("images: folders of classes, with and without parts") {
  for (const char* name : {"one/b/1.png", "one/a/2.JPG", "one/a/1.jpeg", "one/.hidden"}) touch(name);
  const ImageFiles one = find_images("one");
  CHECK(one.classes == std::vector<std::string>{"a", "b"});
  REQUIRE(one.train.size() == 3);
  CHECK(one.train[0].name == "a/1.jpeg");
  CHECK(one.train[2].label == 1);
  CHECK(!one.val);

  for (const char* name : {"two/train/b/1.png", "two/train/a/2.png", "two/test/a/1.png", "two/test/b/1.png"})
    touch(name);
  const ImageFiles two = find_images("two");
  CHECK(two.train.size() == 2);
  REQUIRE(two.test);
  CHECK((*two.test)[1].label == 1);
  touch("two/test/c/1.png");
  CHECK(contains(refused_images("two"), "the classes of test/ are not those of train/; only in test/: c"));
  fs::remove_all("two/test/c");
  fs::remove_all("two/test/b");
  CHECK(contains(refused_images("two"), "missing in test/: b"));
  touch("two/other/a/1.png");
  CHECK(contains(refused_images("two"), "beside train/ there may be val/ and test/, not other"));

  touch("one/a/notes.txt");
  CHECK(contains(refused_images("one"), "one/a/notes.txt: expected images, .jpg, .jpeg or .png"));
  fs::remove("one/a/notes.txt");
  touch("one/3.png");
  CHECK(contains(refused_images("one"), "one/3.png: it lies in no class's folder"));
  fs::remove("one/3.png");
  fs::create_directories("one/c");
  CHECK(contains(refused_images("one"), "one/c: the folder is empty"));
  touch("one/c/d/1.png");
  CHECK(contains(refused_images("one"), "it lies in a folder of a class's folder"));
  CHECK(contains(refused_images("missing"), "no such file or folder"));
}

TEST_CASE("images: an archive with an outer folder") {
  const std::string path =
      write_file("set.tar", tar_entry("set/train/a/1.png", "AB") + tar_entry("set/test/a/1.png", "C") + tar_end());
  const ImageFiles set = find_images(path);
  CHECK(set.classes == std::vector<std::string>{"a"});
  REQUIRE(set.train.size() == 1);
  std::string bytes;
  set.read(set.train[0], bytes);
  CHECK(bytes == "AB");
  CHECK(set.name_of(set.train[0]) == path + ": set/train/a/1.png");
  REQUIRE(set.test);
}

TEST_CASE("images: an entry or a file that is too large for an image") {
  constexpr std::uintmax_t size = (std::uintmax_t{1} << 30) + 512;
  const std::string path = write_file("giant.tar", tar_header("set/a/1.png", size));
  fs::resize_file(path, 512 + size + 1024);  // takes no room on the disk
  const std::string message = "1.png: expected an image of at most 1073741824 bytes, found 1073742336 bytes";
  CHECK(contains(refused_images(path), path + ": set/a/" + message));
  touch("giant/a/1.png");
  fs::resize_file("giant/a/1.png", size);
  const ImageFiles folder = find_images("giant");
  std::string bytes;
  CHECK(contains(error_of([&] { folder.read(folder.train[0], bytes); }).message(), "giant/a/" + message));
}

}  // namespace trainlab::tar_test

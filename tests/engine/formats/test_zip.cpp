#include "formats/zip.h"

#include <fstream>
#include <iterator>

#include "support/data_support.h"

namespace trainlab::zip_test {

using namespace test;

namespace {

// As NumPy's savez and Python's zipfile wrote them (tests/fuzz/corpus.py).
std::string corpus(const std::string& name) {
  std::ifstream file(TRAINLAB_SOURCE_DIR "/tests/fuzz/corpus/npz/" + name, std::ios::binary);
  REQUIRE(file);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<std::string> names_in(const ZipFile& zip) {
  std::vector<std::string> names;
  for (const ZipFile::Member& member : zip.members()) names.push_back(member.name);
  return names;
}

// Reads all of it.
std::string refused(const std::string& bytes, std::uint64_t most = 1 << 20) {
  return error_of([&] {
           const ZipFile zip(bytes, "a.npz");
           for (const ZipFile::Member& member : zip.members()) zip.read(member, most);
         })
      .message();
}

std::string changed(std::string bytes, std::size_t at, char to) {
  bytes[at] = to;
  return bytes;
}

constexpr char entry_mark[] = "PK\1\2", end_mark[] = "PK\5\6";

}  // namespace

TEST_CASE("zip: stored, deflated, with a comment, with zip64 sizes") {
  const std::string stored = corpus("stored"), deflated = corpus("deflated"), comment = corpus("comment"),
                    wide = corpus("zip64");
  CHECK(names_in(ZipFile(stored, "a")) == std::vector<std::string>{"x.npy", "y.npy"});
  const ZipFile zip(deflated, "a");
  CHECK(names_in(zip) == std::vector<std::string>{"x.npy", "mask.npy"});
  CHECK(zip.members()[0].deflated);
  const std::string x = zip.read(zip.members()[0], 1 << 20);
  CHECK(x.size() == 128 + 32);
  CHECK(x.substr(128) == std::string(32, '\0'));
  CHECK(names_in(ZipFile(comment, "a")) == std::vector<std::string>{"a/data.pkl"});
  const ZipFile zip64(wide, "a");
  CHECK(zip64.members()[0].size == 130);
  CHECK(zip64.read(zip64.members()[0], 130).substr(128) == std::string("\0\1", 2));
}

TEST_CASE("zip: every cut and every changed byte is refused or changes nothing") {
  for (const char* name : {"stored", "deflated", "comment", "zip64"}) {
    const std::string whole = corpus(name);
    for (std::size_t length = 0; length < whole.size(); ++length)
      REQUIRE_FALSE(refused(whole.substr(0, length)).empty());
    // The checksum covers the content, and no byte of the directory makes the reader leave the file (seen by asan).
    const ZipFile zip(whole, "a");
    const std::string content = zip.read(zip.members()[0], 1 << 20);
    const std::size_t begin = zip.members()[0].begin;
    for (std::size_t i = 0; i < zip.members()[0].stored; ++i)
      REQUIRE(contains(refused(changed(whole, begin + i, static_cast<char>(whole[begin + i] ^ 1))), "is damaged"));
  }
}

TEST_CASE("zip: what lies") {
  const std::string whole = corpus("deflated");
  const std::size_t entry = whole.find(entry_mark), end = whole.find(end_mark);
  CHECK(contains(refused(""), "a.npz: not a valid zip archive: it has 0 bytes only"));
  CHECK(contains(refused(std::string(100, 'x')), "no directory at its end"));
  CHECK(contains(refused(changed(whole, entry + 8, 1)), "\"x.npy\" is encrypted"));
  CHECK(contains(refused(changed(whole, entry + 10, 12)), "compressed by method 12"));
  CHECK(contains(refused(changed(whole, entry + 27, 0x70)), "cannot hold"));  // 1.8 GB in a few bytes
  CHECK(contains(refused(changed(whole, entry + 23, 0x70)), "reaches beyond the end"));
  CHECK(contains(refused(changed(whole, entry + 42, 1)), "does not begin where the directory says"));
  CHECK(contains(refused(changed(whole, end + 10, 9)), "too short for 9 members"));
  CHECK(contains(refused(changed(whole, end + 10, 1)), "more than the 1 members"));
  CHECK(contains(refused(changed(whole, end + 16, 1)), "does not lie where it says"));
  CHECK(contains(refused(changed(whole, end + 4, 1)), "several volumes"));
  CHECK(contains(refused(whole, 100), "\"x.npy\" has 160 bytes, which is more than the 100"));

  // A directory whose two entries name the same bytes.
  const std::size_t second = whole.find(entry_mark, entry + 4);
  std::string twice = whole;
  twice.replace(second + 42, 4, whole.substr(entry + 42, 4));
  CHECK(contains(refused(twice), "overlaps what follows it"));
  const std::string stored = corpus("stored");
  const std::size_t y = stored.rfind("y.npy");
  CHECK(contains(refused(changed(stored, y, 'x')), "two members are named \"x.npy\""));
}

TEST_CASE("zip: a pickle under the name of an archive keeps its hint") {
  const std::string pickle = "\x80\x04\x95" + std::string(100, 'x');
  CHECK(error_of([&] { const ZipFile zip(pickle, "a.npz"); }).hint().starts_with("the file is a Python pickle"));
  const std::string other(100, 'x');
  CHECK(
      error_of([&] { const ZipFile zip(other, "a.npz"); }).hint().starts_with("the download may have been cut short"));
}

}  // namespace trainlab::zip_test

#include <ATen/ops/equal.h>
#include <ATen/ops/tensor.h>

#include <catch2/catch.hpp>

#include <filesystem>

#include "core/error.h"
#include "core/files.h"
#include "journal/artifact.h"
#include "tensor/safetensors.h"

namespace trainlab::artifact_test {

TEST_CASE("a recipe names its files plainly, and not as checkpoints are named") {
  for (const char* name : {"weights", "best", "a.txt", "last.b"}) CHECK_NOTHROW(check_file_name("run:save", name));
  for (const std::string name :
       {"", ".", "..", ".hidden", "a/b", "/a", "../a", "last-1", "best-000000001", "loop-000001"}) {
    CAPTURE(name);
    try {
      check_file_name("run:save", name);
      FAIL("it was accepted");
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::recipe);
      CHECK(error.message() == "run:save: expected a plain file name, found \"" + name + "\"");
    }
  }
}

TEST_CASE("an artifact is written below the stage's folder, over the one before") {
  write_artifact("stage", "note.txt", "one");
  write_artifact("stage", "note.txt", "two");
  CHECK(read_file("stage/artifacts/note.txt") == "two");
  CHECK(std::distance(std::filesystem::directory_iterator("stage/artifacts"), {}) == 1);
}

TEST_CASE("tensors by name are written as a safetensors file") {
  const NamedTensors tensors{{"a", at::tensor({1.5, -2.0})}, {"n.ids", at::tensor({3, 4}, at::kLong).view({2, 1})}};
  write_artifact("tensors", "w.safetensors", tensors);
  const NamedTensors back = load_safetensors("tensors/artifacts/w.safetensors").tensors;
  REQUIRE(back.size() == 2);
  for (const auto& [name, tensor] : tensors) {
    CHECK(back.at(name).scalar_type() == tensor.scalar_type());
    CHECK(at::equal(back.at(name), tensor));
  }
  CHECK_THROWS_WITH(write_artifact("tensors", "w.npy", tensors),
                    Catch::Contains("w.npy: expected a name that ends in .safetensors"));
  CHECK_THROWS_WITH(write_artifact("tensors", "m.safetensors", NamedTensors{{"__metadata__", at::tensor({1})}}),
                    Catch::Contains("cannot be called __metadata__"));
}

}  // namespace trainlab::artifact_test

// Tensors whose memory lies in a file.
#include "tensor/file_memory.h"

#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <thread>

#include "support/error_of.h"
#include "support/temporary_folder.h"
#include "tensor/memory.h"

namespace trainlab::file_memory_test {

namespace fs = std::filesystem;

namespace {

constexpr std::int64_t mega = std::int64_t{1} << 20;

std::shared_ptr<ScratchFile> file_in(const fs::path& folder) { return std::make_shared<ScratchFile>(folder); }

}  // namespace

TEST_CASE("large tensors lie in a file, and are not counted as memory of tensors") {
  count_tensor_memory();
  const test::TemporaryFolder folder;
  const std::int64_t before = live_tensor_bytes();
  {
    at::Tensor in_file, small;
    {
      const TensorsInFile guard(file_in(folder.path()));
      in_file = at::zeros({mega}, at::kFloat);
      small = at::zeros({16}, at::kFloat);
      std::thread([] {
        const at::Tensor of_other_thread = at::zeros({mega}, at::kFloat);
        CHECK(live_tensor_bytes() >= 4 * mega);
      }).join();
    }
    CHECK(tensor_bytes_in_files() == 4 * mega);
    CHECK(live_tensor_bytes() - before < mega);
    CHECK(live_tensor_bytes() > before);  // the small one
    CHECK(fs::is_empty(folder.path()));
    in_file.add_(at::ones({mega}, at::kFloat));
    write_behind(in_file);
    read_ahead(in_file.view({1024, 1024}));
    write_behind(small);
    CHECK(in_file.sum().item<double>() == static_cast<double>(mega));
    const at::Tensor later = at::zeros({mega}, at::kFloat);  // the guard has ended
    CHECK(tensor_bytes_in_files() == 4 * mega);
    std::thread([moved = std::move(in_file)]() mutable { moved.reset(); }).join();
    CHECK(tensor_bytes_in_files() == 0);
  }
  CHECK(live_tensor_bytes() == before);
}

TEST_CASE("guards of several files lie within each other") {
  count_tensor_memory();
  const test::TemporaryFolder folder;
  const TensorsInFile outer(file_in(folder.path()));
  { const TensorsInFile inner(file_in(folder.path())); }
  const at::Tensor tensor = at::zeros({mega}, at::kFloat);
  CHECK(tensor_bytes_in_files() == 4 * mega);
}

TEST_CASE("a limit of memory does not hold for tensors in a file") {
  count_tensor_memory();
  const test::TemporaryFolder folder;
  const MemoryBudget limit(live_tensor_bytes() + mega);
  CHECK_THROWS_AS(at::zeros({mega}, at::kFloat), TensorMemoryLimit);
  const TensorsInFile guard(file_in(folder.path()));
  CHECK(at::zeros({mega}, at::kFloat).sum().item<double>() == 0);
}

}  // namespace trainlab::file_memory_test

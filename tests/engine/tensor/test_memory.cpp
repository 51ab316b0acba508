// Counted memory of tensors, and the limit for scripts.
#include "tensor/free_memory.h"
#include "tensor/memory.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include <dlfcn.h>
#include <malloc.h>
#include <sys/resource.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "core/host.h"
#include "device/kept_pages.h"
#include "tensor/dry_run.h"

namespace trainlab::memory_test {

namespace {
constexpr std::int64_t mega = std::int64_t{1} << 20;
}

TEST_CASE("bytes_text has the unit in which a number is from 1 to 1024") {
  CHECK(bytes_text(0) == "0 B");
  CHECK(bytes_text(1023.0 * 1024) == "1023 KiB");
  CHECK(bytes_text(4.53 * 0x1p20) == "4.53 MiB");
  CHECK(bytes_text(3000 * 0x1p40) == "3000 TiB");
}

#ifndef __SANITIZE_ADDRESS__  // its operator new ends the program instead
TEST_CASE("new raises where there is no memory") {
  count_tensor_memory();
  const volatile std::size_t size = std::size_t{1} << 60;
  CHECK_THROWS_AS(std::vector<char>(size), std::bad_alloc);
}
#endif

TEST_CASE("live and peak follow storages, whichever thread frees them") {
  count_tensor_memory();
  const std::int64_t before = tensor_memory().live;
  reset_tensor_peak();
  {
    at::Tensor a = at::empty({mega}, at::kFloat);
    CHECK(tensor_memory().live - before >= 4 * mega);
    CHECK(tensor_memory().live - before < 5 * mega);  // blocks come in steps of an eighth
    const at::Tensor view = a.view({1024, 1024});
    CHECK(tensor_memory().live - before < 5 * mega);
    a.reset();
    at::Tensor kept = view;
    std::thread([moved = std::move(kept)]() mutable { moved.reset(); }).join();
  }
  CHECK(tensor_memory().live == before);
  CHECK(tensor_memory().peak - before >= 4 * mega);
}

TEST_CASE("a large block counts what the allocator gives for its bytes, and nothing for its use") {
  count_tensor_memory();
  for (const std::int64_t kibi : {64, 128, 256, 512, 513, 1024, 3072, 4096}) {
    INFO(kibi);
    const std::int64_t bytes = kibi << 10;
    void* const plain = std::malloc(static_cast<std::size_t>(bytes));
    const auto given = static_cast<std::int64_t>(malloc_usable_size(plain));
    std::free(plain);
    const std::int64_t before = tensor_memory().live;
    const at::Tensor tensor = at::empty({bytes}, at::kByte);
    const std::int64_t counted = tensor_memory().live - before;
    CHECK(counted >= bytes);
    CHECK(counted <= given + 128);  // other allocators than mimalloc take some bytes for the alignment
    CHECK(block_bytes(bytes) == counted);
    CHECK(reinterpret_cast<std::uintptr_t>(tensor.data_ptr()) % 64 == 0);
  }
}

TEST_CASE("blocks of all sizes keep their use until they are freed, and no longer") {
  count_tensor_memory();
  const TensorMemory before = tensor_memory();
  const auto weights = [&] { return tensor_memory().of(MemoryUse::weights) - before.of(MemoryUse::weights); };
  for (int round = 0; round < 2; ++round) {
    std::vector<at::Tensor> kept;
    std::int64_t sum = 0;
    for (std::int64_t bytes = 1; bytes < 4 * mega; bytes = 3 * bytes / 2 + 1) {
      for (const std::int64_t one : {bytes, (std::int64_t{64} << 10) - bytes % 16}) {
        const MemoryCharge charge(MemoryUse::weights);
        kept.push_back(at::empty({one}, at::kByte));
        sum += block_bytes(one);
      }
    }
    CHECK(static_cast<double>(weights()) == Approx(static_cast<double>(sum)).epsilon(0.001));
    kept.clear();
    CHECK(weights() == 0);
    const at::Tensor other = at::empty({mega}, at::kByte);
    CHECK(weights() == 0);
  }
}

TEST_CASE("a script's tensors have a limit, the engine's do not") {
  count_tensor_memory();
  const std::int64_t before = tensor_memory().of(MemoryUse::script);
  set_script_memory_limit(before + 10 * mega);
  {
    const at::Tensor engine = at::empty({20 * mega}, at::kByte);
    CHECK(tensor_memory().of(MemoryUse::script) == before);
    const MemoryCharge mine(MemoryUse::script);
    at::Tensor a = at::empty({8 * mega}, at::kByte);
    CHECK(tensor_memory().of(MemoryUse::script) - before >= 8 * mega);
    CHECK_THROWS_AS(at::empty({4 * mega}, at::kByte), ScriptMemoryLimit);
    CHECK_THROWS_WITH(at::empty({4 * mega}, at::kByte), Catch::Contains("4.0 MiB more would pass the limit of"));
    a.reset();
    CHECK_NOTHROW(at::empty({4 * mega}, at::kByte));
  }
  CHECK(tensor_memory().of(MemoryUse::script) == before);
  set_script_memory_limit(0);
}

TEST_CASE("tensors have a limit in the process, and within a budget on one thread") {
  count_tensor_memory();
  const std::int64_t before = tensor_memory().live;
  set_tensor_memory_limit(before + 10 * mega);
  {
    CHECK(free_tensor_memory() <= 10 * mega);
    at::Tensor a = at::empty({8 * mega}, at::kByte);
    const std::int64_t live = tensor_memory().live;
    CHECK_THROWS_AS(at::empty({4 * mega}, at::kByte), TensorMemoryLimit);
    CHECK_THROWS_WITH(at::empty({4 * mega}, at::kByte),
                      Catch::Contains("out of memory: 4.0 MiB more would pass the limit of ") &&
                          Catch::Contains(" (--memory), of which tensors hold "));
    try {
      at::empty({4 * mega}, at::kByte);
    } catch (const Error& error) {
      CHECK(Error(error).lacks_memory());  // a copy, which is a TensorMemoryLimit no more, says so too
    }
    CHECK(tensor_memory().live == live);
    {
      const MemoryCharge mine(MemoryUse::script);
      CHECK_THROWS_AS(at::empty({4 * mega}, at::kByte), TensorMemoryLimit);
    }
    {
      // Batches are counted, and never refused.
      const MemoryCharge batches(MemoryUse::batches);
      CHECK_NOTHROW(at::empty({4 * mega}, at::kByte));
    }
    a.reset();
    CHECK_NOTHROW(at::empty({4 * mega}, at::kByte));
    // Blocks are larger than what is asked for, and count in full.
    set_tensor_memory_limit(tensor_memory().live + block_bytes(3 * mega + 100) - 1);
    reset_tensor_peak();
    CHECK_THROWS_AS(at::empty({3 * mega + 100}, at::kByte), TensorMemoryLimit);
    CHECK(tensor_memory().peak <= tensor_memory_limit());
  }
  {
    set_tensor_memory_limit(before + 10 * mega);
    const MemoryBudget outer(before + 4 * mega);
    CHECK_THROWS_WITH(at::empty({5 * mega}, at::kByte), Catch::Contains("(memory.budget)"));
    {
      const MemoryBudget inner(before + 6 * mega), none(0);
      CHECK(tensor_memory_limit() == before + 4 * mega);
    }
    std::thread([] { CHECK_NOTHROW(at::empty({5 * mega}, at::kByte)); }).join();
  }
  CHECK(tensor_memory_limit() == before + 10 * mega);
  set_tensor_memory_limit(0);
  CHECK_NOTHROW(at::empty({20 * mega}, at::kByte));
  CHECK(tensor_memory().live == before);
}

TEST_CASE("memory is charged to a use until it is freed, and a script's stays a script's") {
  count_tensor_memory();
  const TensorMemory before = tensor_memory();
  const auto more = [&](MemoryUse use) { return tensor_memory().of(use) - before.of(use); };
  at::Tensor weights, state, mine, freed;
  {
    const MemoryCharge outer(MemoryUse::weights);
    weights = at::empty({mega}, at::kByte);
    freed = at::empty({mega}, at::kByte);
    {
      const MemoryCharge inner(MemoryUse::optimizer);
      state = at::empty({2 * mega}, at::kByte);
    }
    const MemoryCharge script(MemoryUse::script);
    const MemoryCharge within(MemoryUse::batches);
    mine = at::empty({3 * mega}, at::kByte);
  }
  const at::Tensor other = at::empty({mega}, at::kByte);
  freed.reset();
  CHECK(more(MemoryUse::weights) / mega == 1);
  CHECK(more(MemoryUse::optimizer) / mega == 2);
  CHECK(more(MemoryUse::script) / mega == 3);
  CHECK(more(MemoryUse::batches) == 0);
  CHECK(more(MemoryUse::other) / mega == 1);
}

TEST_CASE("usable memory is more than this test needs and no more than there is") {
  CHECK(usable_memory() > 64 * mega);
  CHECK(script_memory_limit() == usable_memory() / 2);
}

TEST_CASE("memory that is not free is refused before it is allocated") {
  count_tensor_memory();
  CHECK(free_memory() > 64 * mega);
  CHECK(free_memory() < std::int64_t{1} << 50);
  CHECK(held_memory() > mega);
  CHECK(free_tensor_memory() > 64 * mega);
  CHECK(free_tensor_memory() <= usable_memory());
  CHECK_NOTHROW(check_free_memory(2 * large_memory, "512 MiB for a test"));
  const std::int64_t live = tensor_memory().live;
  const auto is_plain = [](const Error& error) { return error.kind() == ErrorKind::run && error.lacks_memory(); };
  const auto too_much = std::int64_t{1} << 45;
  CHECK_THROWS_MATCHES(at::empty({too_much}, at::kByte), Error, Catch::Predicate<Error>(is_plain));
  CHECK_THROWS_WITH(at::empty({too_much}, at::kByte),
                    Catch::StartsWith("out of memory: expected at most the ") &&
                        Catch::Contains("that are free, found 32.0 TiB for one tensor"));
  {
    set_script_memory_limit(too_much * 2);
    const MemoryCharge mine(MemoryUse::script);
    const auto tells_taken = [](const Error& error) {
      return error.hint().find(" of it are taken") != std::string::npos;
    };
    CHECK_THROWS_MATCHES(at::empty({too_much}, at::kByte), ScriptMemoryLimit, Catch::Predicate<Error>(tells_taken));
    set_script_memory_limit(0);
  }
  CHECK(tensor_memory().live == live);
  CHECK(memory_text(std::int64_t{3} << 19) == "1.5 MiB");
  CHECK(memory_text(0x1p42) == "4.0 TiB");
  CHECK(memory_text_up(3 << 19) == "1.5 MiB");
  CHECK(memory_text_up((3 << 19) + 1) == "1.6 MiB");
  CHECK(memory_text_up(0x1p30 + 1) == "1.1 GiB");
}

#if !defined(__SANITIZE_ADDRESS__)
TEST_CASE("a tensor takes the pages of one that was freed, whatever its size") {
  if (!may_reserve_addresses()) {
    WARN("skipped: the process may not reserve addresses");
    return;
  }
  REQUIRE(keep_freed_pages());
  const auto faults = [] {
    rusage used{};
    ::getrusage(RUSAGE_SELF, &used);
    return used.ru_minflt;
  };
  for (const std::int64_t mebi : {25, 76}) {
    INFO(mebi);
    at::zeros({mebi << 20}, at::kByte);
    const auto before = faults();
    for (int i = 0; i < 20; ++i) at::zeros({mebi << 20}, at::kByte);
    CHECK(faults() - before < 20);  // new pages are at least mebi / 2 for each tensor
  }
}

TEST_CASE("programs with LibTorch allocate with mimalloc") {
  // As LibTorch finds it, which is what counts: through the dynamic linker.
  const void* allocate = ::dlsym(RTLD_DEFAULT, "malloc");
  Dl_info found{};
  REQUIRE(::dladdr(allocate, &found) != 0);
  CHECK_THAT(std::string(found.dli_fname), Catch::Contains("mimalloc"));
}
#endif

}  // namespace trainlab::memory_test

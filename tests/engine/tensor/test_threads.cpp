#include <ATen/Parallel.h>
#include <ATen/TensorIterator.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/zeros.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <cstdint>
#include <thread>
#include <vector>

namespace trainlab::threads_test {

extern "C" {
int omp_in_parallel();
int omp_get_num_threads();
}

TEST_CASE("LibTorch's operators run on the teams of engine/openmp") {
  at::set_num_threads(3);
  const at::Tensor in = at::rand({3000});
  at::Tensor out = at::zeros({3000});
  std::atomic<std::int64_t> elements{0}, on_teams{0};
  const auto count = [&](char**, const std::int64_t*, std::int64_t size) {
    elements += size;
    if (omp_in_parallel() != 0 && omp_get_num_threads() == 3) on_teams += size;
  };
  at::TensorIterator::unary_op(out, in).for_each(count, /*grain_size=*/1000);
  at::set_num_threads(1);
  CHECK(elements == 3000);
  CHECK(on_teams == 3000);
}

TEST_CASE("operators on several threads give the same bytes beside busy threads") {
  at::set_num_threads(3);
  const at::Tensor a = at::rand({300, 200}), b = at::rand({200, 250});
  const at::Tensor expected = a.matmul(b), sums = a.exp().sum(1);
  std::atomic<bool> ends{false};
  std::vector<std::thread> busy;
  for (int i = 0; i < 6; ++i) {
    busy.emplace_back([&] {
      while (!ends) {
      }
    });
  }
  bool same = true;
  for (int i = 0; i < 30; ++i) same = same && at::equal(a.matmul(b), expected) && at::equal(a.exp().sum(1), sums);
  ends = true;
  for (std::thread& thread : busy) thread.join();
  at::set_num_threads(1);
  CHECK(same);
}

}  // namespace trainlab::threads_test

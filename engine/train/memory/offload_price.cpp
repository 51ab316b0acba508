#include "offload_price.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "auto_recompute.h"
#include "core/clock.h"
#include "core/scratch_file.h"

namespace trainlab {
namespace {

constexpr std::int64_t most_moved = std::int64_t{16} << 20;

// Seconds to write and read a byte of a file in the folder.
double seconds_of_byte(const std::filesystem::path& folder, std::int64_t bytes) {
  ScratchFile file(folder);
  const ScratchFile::Block block = file.take(bytes);
  auto* const content = static_cast<unsigned char*>(block.address);
  const auto write = [&](int value) {
    std::memset(content, value, static_cast<std::size_t>(block.bytes));
    file.write_behind(block);
    file.check();
  };
  write(1);  // the first time, the disk's space is made ready
  const double before = steady_seconds();
  write(2);
  file.forget(block);
  ScratchFile::read_ahead(block);
  const volatile std::int64_t sum = std::accumulate(content, content + block.bytes, std::int64_t{0});
  static_cast<void>(sum);
  const double seconds = steady_seconds() - before;
  file.give_back(block);
  return seconds / static_cast<double>(block.bytes);
}

}  // namespace

double offload_price(const FitPlan& plan, std::int64_t bytes) {
  // A backward pass takes the time of two forward passes.
  return seconds_of_byte(plan.folder, std::min(bytes, most_moved)) / (3 * forward_seconds(plan));
}

}  // namespace trainlab

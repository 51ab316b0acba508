#include "offload_price.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <vector>

#include "auto_recompute.h"
#include "core/clock.h"
#include "core/scratch_file.h"

namespace trainlab {
namespace {

// As many bytes as a step may move, because a disk takes the first of them sooner than those that follow.
constexpr std::int64_t most_moved = std::int64_t{128} << 20, in_a_block = std::int64_t{1} << 20;

// Seconds to write and read a byte of a file in the folder.
double seconds_of_byte(const std::filesystem::path& folder, std::int64_t bytes) {
  ScratchFile file(folder);
  std::vector<ScratchFile::Block> blocks;
  for (std::int64_t taken = 0; taken < bytes; taken += in_a_block) blocks.push_back(file.take(in_a_block));
  const auto write = [&](int value) {
    for (const ScratchFile::Block& block : blocks) {
      std::memset(block.address, value, static_cast<std::size_t>(block.bytes));
      file.write_behind(block);
    }
    file.check();
  };
  write(1);  // the first time, the disk's space is made ready
  const double before = steady_seconds();
  write(2);
  for (const ScratchFile::Block& block : blocks) file.forget(block);
  for (const ScratchFile::Block& block : blocks) ScratchFile::read_ahead(block);
  for (const ScratchFile::Block& block : blocks) {
    const auto* const content = static_cast<const unsigned char*>(block.address);
    const volatile std::int64_t sum = std::accumulate(content, content + block.bytes, std::int64_t{0});
    static_cast<void>(sum);
  }
  const double seconds = steady_seconds() - before;
  for (const ScratchFile::Block& block : blocks) file.give_back(block);
  return seconds / static_cast<double>(std::ssize(blocks) * in_a_block);
}

}  // namespace

double offload_price(const FitPlan& plan, std::int64_t bytes) {
  // A backward pass takes the time of two forward passes.
  return seconds_of_byte(plan.folder, std::min(bytes, most_moved)) / (3 * forward_seconds(plan));
}

}  // namespace trainlab

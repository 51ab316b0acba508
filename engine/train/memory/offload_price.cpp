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

// A disk takes the first bytes sooner than those that follow, so that many have to be moved.
constexpr std::int64_t most_moved = std::int64_t{128} << 20, in_a_block = std::int64_t{1} << 20;

// Blocks of a file, which are given back in any case.
class Blocks {
 public:
  explicit Blocks(ScratchFile& file) : file_(file) {}
  ~Blocks() {
    for (const ScratchFile::Block& block : all_) file_.give_back(block);
  }
  Blocks(const Blocks&) = delete;

  void take(std::int64_t bytes) {
    for (std::int64_t taken = 0; taken < bytes; taken += in_a_block) all_.push_back(file_.take(in_a_block));
  }
  auto begin() const { return all_.begin(); }
  auto end() const { return all_.end(); }
  double bytes() const { return static_cast<double>(std::ssize(all_) * in_a_block); }

 private:
  ScratchFile& file_;
  std::vector<ScratchFile::Block> all_;
};

// Seconds to write and read a byte of a file in the folder.
double seconds_of_byte(const std::filesystem::path& folder, std::int64_t bytes) {
  ScratchFile file(folder);
  Blocks blocks(file);
  blocks.take(bytes);
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
  return (steady_seconds() - before) / blocks.bytes();
}

}  // namespace

double offload_price(const FitPlan& plan, std::int64_t bytes) {
  // A backward pass takes the time of two forward passes.
  const double step_seconds = 3 * forward_seconds(plan) * static_cast<double>(plan.accumulate);
  return seconds_of_byte(plan.folder, std::min(bytes, most_moved)) / step_seconds;
}

}  // namespace trainlab

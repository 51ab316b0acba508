// ScratchFile: memory that lies in a file, for what a process needs now and then and what does not fit into its memory.
//
// The file is mapped into memory, and has no name: its space on the disk is free again when the process ends, in
// whatever way. The system keeps pages of the file in memory as far as there is room for them, writes them to the disk
// where memory is needed, and reads them when they are used again.
#pragma once

#include <cstdint>
#include <filesystem>
#include <mutex>
#include <unordered_map>
#include <vector>

namespace trainlab {

class ScratchFile {
 public:
  // A part of the file that is mapped into memory.
  struct Block {
    void* address = nullptr;
    std::int64_t offset = 0, bytes = 0;
  };

  // `folder`: where the file lies; the nearest folder above where `folder` does not exist yet, and that of temporary
  // files where it is empty. The file is made with its first block.
  explicit ScratchFile(const std::filesystem::path& folder);
  ~ScratchFile();  // after all blocks are given back
  ScratchFile(const ScratchFile&) = delete;

  // A block of at least `bytes` > 0, which begins at a page, with any content. The disk has the space from then on,
  // because a page that finds no space later would end the process. Error{run} where the disk is full. Thread-safe.
  Block take(std::int64_t bytes);
  // Keeps the block for the next take() of as many bytes. Thread-safe.
  void give_back(const Block& block) noexcept;

  // Begins to read what of the block is not in memory, without waiting for it.
  static void read_ahead(const Block& block) noexcept;
  // Begins to write what has changed in the block, and leaves its pages to the system, which may use their memory for
  // something else once they are written. The content stays as it is.
  void write_behind(const Block& block) const noexcept;

  // Gives back the memory of the pages that are written, so that the next use reads the disk.
  void forget(const Block& block) const noexcept;

  // Error{run} where the disk has failed to take what was written since the call before. Waits for what is being
  // written.
  void check() const;

 private:
  void open();

  const std::filesystem::path folder_;
  std::mutex mutex_;
  int fd_ = -1;
  std::int64_t end_ = 0;
  std::unordered_map<std::int64_t, std::vector<Block>> free_;  // by bytes
};

}  // namespace trainlab

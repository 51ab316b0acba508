// Team: threads that execute parallel regions together.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "awaited_number.h"
#include "loop_share.h"

namespace trainlab {

// The team of one thread, its master. A region with fewer members than the team has threads leaves the others asleep.
class Team {
 public:
  Team() = default;
  // Ends the other threads. Called by the master outside of run().
  ~Team();
  Team(const Team&) = delete;

  // Called by the master, which is member 0: executes work(data) once for each of `size` members, on the threads of the
  // team, and returns when all members have ended. When member 0 has ended and another member has not begun, because
  // other programs hold the cores, the master executes this member too: a member computes the same on every thread.
  // Regions whose members wait for each other are safe, because member 0 ends only after all others have begun there.
  // Ends the process when the system has no thread to give, because with fewer members results would have other bytes.
  void run(void (*work)(void*), void* data, int size);

  // The members of a region call the functions below.

  int size() const { return size_; }
  // Returns when all of them have called this.
  void barrier();
  // The threads come to the same constructs in the same order: `construct` counts those of the region from 1. Whether
  // the caller is the first at this one.
  bool is_first_at(std::uint32_t construct);
  // The loop of this construct, made by the first thread that comes to it.
  LoopShare& loop(std::uint32_t construct, long begin, long end, long step, long chunk);
  // The caller has ended its part of the loop.
  void leave_loop(std::uint32_t construct);

 private:
  enum Offer : std::uint32_t { nothing, part_of_region, farewell };
  struct Worker {
    AwaitedNumber offer{nothing};
    std::thread thread;
  };
  struct SharedLoop {
    std::unique_ptr<LoopShare> share;
    int left = 0;  // threads that have ended their part
  };

  void add_worker();
  void take_parts(Worker& worker, int number);
  void act_as(int number);

  void (*work_)(void*) = nullptr;
  void* data_ = nullptr;
  int size_ = 1;
  std::vector<std::unique_ptr<Worker>> workers_;
  AwaitedNumber running_;  // members, without the master, that have not ended the region

  std::atomic<int> arrived_{0};
  AwaitedNumber barriers_;  // passed so far
  std::atomic<std::uint32_t> singles_{0};
  std::mutex mutex_;
  std::map<std::uint32_t, SharedLoop> loops_;  // by construct
};

// The part of a thread in the region that the thread executes.
struct TeamMember {
  Team* team = nullptr;  // none: outside of all regions
  int number = 0;        // in the team; the master is 0
  bool in_parallel = false;
  std::uint32_t singles = 0, loops = 0;  // constructs of either kind to which the thread has come
  LoopShare* loop = nullptr;
  std::optional<Chunk> chunk = {};  // of `loop`
};

TeamMember& this_member();

}  // namespace trainlab

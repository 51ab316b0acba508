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

// The team that one thread, the master, uses for its regions. In a region with fewer members than threads, the other
// threads sleep.
class Team {
 public:
  Team() = default;
  // Ends the other threads. Called by the master outside of run().
  ~Team();
  Team(const Team&) = delete;

  // Called by the master, which is member 0: executes work(data) once for each of `size` members, on the threads of the
  // team, and returns when all members have ended. When member 0 has ended and another member has not begun, because
  // other programs hold the cores, the master executes this member too: a member computes the same on every thread.
  // This is safe where members wait for each other, because member 0 then ends only after all others have begun. Ends
  // the process when the system refuses a thread, because with fewer members results would have other bytes.
  void run(void (*work)(void*), void* data, int size);

  // The members of a region call the functions below.

  int size() const { return size_; }
  // Returns when all members have called this function.
  void barrier();
  // Whether the caller is the first thread at this `single` construct. `construct` is the construct's number in the
  // region, from 1; all threads come to the same constructs in the same order.
  bool is_first_at(std::uint32_t construct);
  // The loop with this number in the region. The first thread that comes to the loop makes it.
  LoopShare& loop(std::uint32_t construct, long begin, long end, long step, long chunk);
  // To be called by each thread that has ended its part of the loop.
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
  AwaitedNumber barriers_;  // number of barriers that were passed so far
  std::atomic<std::uint32_t> singles_{0};
  std::mutex mutex_;
  std::map<std::uint32_t, SharedLoop> loops_;  // by the number of the construct
};

// The state of a thread as a member of the region that the thread executes.
struct TeamMember {
  Team* team = nullptr;  // null outside of all regions
  int number = 0;        // number in the team; the master is 0
  bool in_parallel = false;
  std::uint32_t singles = 0, loops = 0;  // numbers of constructs that the thread has reached
  LoopShare* loop = nullptr;
  std::optional<Chunk> chunk = {};  // the thread's chunk of `loop`
};

TeamMember& this_member();

}  // namespace trainlab

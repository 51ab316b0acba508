// The functions of GNU's OpenMP runtime that LibTorch calls (GCC manual, "The libgomp ABI"), over teams whose threads
// do not wait for a thread that has no core (team.h). The threads of GNU's own runtime wait for such a thread, and spin
// for 10 ms and more before they sleep, which makes training ten times slower or worse beside other programs that
// compute. Both runtimes give each member of a region the same work, which depends on the number of members alone.
//
// A region inside of a region is executed by one thread, as GNU's runtime does unless a program asks for more.
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>

#include "team.h"

namespace trainlab {

namespace {

using Work = void(void*);

int usable_processors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  return ::sched_getaffinity(0, sizeof set, &set) == 0 ? std::max(CPU_COUNT(&set), 1) : 1;
}

// The threads of a region that this thread begins. Without a set number, a thread executes its regions alone.
thread_local int threads_of_regions = 1;

void execute(Work* work, void* data, int threads) {
  if (threads <= 1 || this_member().in_parallel) {
    Team alone;
    return alone.run(work, data, 1);
  }
  thread_local std::unique_ptr<Team> team;
  if (!team) team = std::make_unique<Team>();
  team->run(work, data, threads);
}

// The team of the current region. Outside of all regions the team has one member, the calling thread, which executes
// loops and sections alone.
Team& this_team() {
  thread_local Team alone;
  Team* const team = this_member().team;
  return team ? *team : alone;
}

// Gives the calling thread the next iterations of its loop; false when none are left.
bool take_chunk(long* begin, long* end) {
  TeamMember& member = this_member();
  member.chunk = member.loop->next();
  if (!member.chunk) return false;
  *begin = member.chunk->begin;
  *end = member.chunk->end;
  return true;
}

void enter_loop(long begin, long end, long step, long chunk) {
  TeamMember& member = this_member();
  member.loop = &this_team().loop(++member.loops, begin, end, step, chunk);
}

void leave_loop() {
  TeamMember& member = this_member();
  this_team().leave_loop(member.loops);
  member.loop = nullptr;
}

void pass_chunk() {
  const TeamMember& member = this_member();
  if (member.chunk) member.loop->pass(*member.chunk);
}

unsigned next_section() {
  long begin = 0, end = 0;
  return take_chunk(&begin, &end) ? static_cast<unsigned>(begin) : 0;
}

std::mutex unnamed_section, atomic_section;

// The states of the lock of a named critical section. The compiler gives each name a pointer that is null at first; its
// first bytes are the lock.
enum : std::uint32_t { is_free, is_held, is_wanted };

std::atomic_ref<std::uint32_t> lock_in(void** place) {
  return std::atomic_ref<std::uint32_t>(*reinterpret_cast<std::uint32_t*>(place));
}

void lock(std::atomic_ref<std::uint32_t> word) {
  std::uint32_t found = is_free;
  if (word.compare_exchange_strong(found, is_held)) return;
  while (word.exchange(is_wanted) != is_free) word.wait(is_wanted);
}

void unlock(std::atomic_ref<std::uint32_t> word) {
  if (word.exchange(is_free) == is_wanted) word.notify_one();
}

}  // namespace

}  // namespace trainlab

extern "C" {

void GOMP_parallel(void (*work)(void*), void* data, unsigned threads, unsigned /*flags*/) {
  trainlab::execute(work, data, threads > 0 ? static_cast<int>(threads) : trainlab::threads_of_regions);
}

void GOMP_barrier() { trainlab::this_team().barrier(); }

bool GOMP_single_start() { return trainlab::this_team().is_first_at(++trainlab::this_member().singles); }

void GOMP_critical_start() { trainlab::unnamed_section.lock(); }
void GOMP_critical_end() { trainlab::unnamed_section.unlock(); }
void GOMP_critical_name_start(void** place) { trainlab::lock(trainlab::lock_in(place)); }
void GOMP_critical_name_end(void** place) { trainlab::unlock(trainlab::lock_in(place)); }
void GOMP_atomic_start() { trainlab::atomic_section.lock(); }
void GOMP_atomic_end() { trainlab::atomic_section.unlock(); }

bool GOMP_loop_dynamic_start(long begin, long end, long step, long chunk, long* first, long* last) {
  trainlab::enter_loop(begin, end, step, chunk);
  return trainlab::take_chunk(first, last);
}
bool GOMP_loop_dynamic_next(long* first, long* last) { return trainlab::take_chunk(first, last); }

bool GOMP_loop_ordered_dynamic_start(long begin, long end, long step, long chunk, long* first, long* last) {
  return GOMP_loop_dynamic_start(begin, end, step, chunk, first, last);
}
bool GOMP_loop_ordered_dynamic_next(long* first, long* last) {
  trainlab::pass_chunk();
  return trainlab::take_chunk(first, last);
}
void GOMP_ordered_start() {
  const trainlab::TeamMember& member = trainlab::this_member();
  member.loop->wait_for_turn(*member.chunk);
}
void GOMP_ordered_end() {}

void GOMP_loop_end_nowait() { trainlab::leave_loop(); }
void GOMP_loop_end() {
  trainlab::leave_loop();
  GOMP_barrier();
}

unsigned GOMP_sections_start(unsigned count) {
  trainlab::enter_loop(1, static_cast<long>(count) + 1, 1, 1);
  return trainlab::next_section();
}
unsigned GOMP_sections_next() { return trainlab::next_section(); }
void GOMP_sections_end_nowait() { trainlab::leave_loop(); }

int omp_get_max_threads() { return trainlab::threads_of_regions; }
void omp_set_num_threads(int threads) { trainlab::threads_of_regions = std::max(threads, 1); }
int omp_get_num_procs() { return trainlab::usable_processors(); }
int omp_in_parallel() { return trainlab::this_member().in_parallel ? 1 : 0; }
int omp_get_thread_num() { return trainlab::this_member().number; }
int omp_get_num_threads() { return trainlab::this_team().size(); }

}  // extern "C"

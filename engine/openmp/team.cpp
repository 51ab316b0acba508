#include "team.h"

#include <pthread.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <system_error>
#include <utility>

namespace trainlab {

namespace {

thread_local TeamMember current_member;

}  // namespace

TeamMember& this_member() { return current_member; }

Team::~Team() {
  for (const auto& worker : workers_) {
    worker->offer.set(farewell);
    worker->thread.join();
  }
}

// Workers block signals from outside, which are for the threads that wait for them. Signals of faults are not blocked,
// because a fault in a region is handled on the thread where it occurs. A new thread inherits the mask of signals, and
// how arithmetic treats denormal numbers.
void Team::add_worker() {
  sigset_t from_outside, before;
  sigfillset(&from_outside);
  for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP}) sigdelset(&from_outside, fault);
  ::pthread_sigmask(SIG_BLOCK, &from_outside, &before);
  try {
    auto worker = std::make_unique<Worker>();
    const int number = static_cast<int>(workers_.size()) + 1;
    worker->thread = std::thread([this, &worker = *worker, number] { take_parts(worker, number); });
    workers_.push_back(std::move(worker));
  } catch (const std::system_error&) {
    std::fputs("trainlab: the system refuses another thread: fewer are needed, --threads N\n", stderr);
    std::abort();
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

// Each offered part is taken once, by its worker or by the master. The fields that describe the region stay valid until
// all of its parts have ended.
void Team::take_parts(Worker& worker, int number) {
  while (true) {
    worker.offer.wait_while(nothing);
    if (worker.offer.value() == farewell) return;
    if (!worker.offer.replace(part_of_region, nothing)) continue;
    act_as(number);
    running_.count_down();
  }
}

void Team::act_as(int number) {
  const bool in_parallel = size_ > 1 || current_member.in_parallel;
  const TeamMember outer = std::exchange(current_member, {.team = this, .number = number, .in_parallel = in_parallel});
  work_(data_);
  current_member = outer;
}

void Team::run(void (*work)(void*), void* data, int size) {
  while (static_cast<int>(workers_.size()) + 1 < size) add_worker();
  work_ = work;
  data_ = data;
  size_ = size;
  singles_ = 0;
  loops_.clear();
  running_.set(static_cast<std::uint32_t>(size - 1));
  const std::span others = std::span(workers_).first(static_cast<std::size_t>(size - 1));
  for (const auto& worker : others) worker->offer.set(part_of_region);
  act_as(0);
  for (std::size_t i = 0; i < others.size(); ++i) {
    if (!others[i]->offer.replace(part_of_region, nothing)) continue;
    act_as(static_cast<int>(i) + 1);
    running_.count_down();
  }
  while (const std::uint32_t running = running_.value()) running_.wait_while(running);
}

void Team::barrier() {
  if (size_ == 1) return;
  const std::uint32_t passed = barriers_.value();
  if (arrived_.fetch_add(1) + 1 < size_) return barriers_.wait_while(passed);
  arrived_ = 0;
  barriers_.set(passed + 1);
}

bool Team::is_first_at(std::uint32_t construct) {
  std::uint32_t before = construct - 1;
  return singles_.compare_exchange_strong(before, construct);
}

LoopShare& Team::loop(std::uint32_t construct, long begin, long end, long step, long chunk) {
  const std::lock_guard lock(mutex_);
  SharedLoop& loop = loops_[construct];
  if (!loop.share) loop.share = std::make_unique<LoopShare>(begin, end, step, chunk);
  return *loop.share;
}

void Team::leave_loop(std::uint32_t construct) {
  const std::lock_guard lock(mutex_);
  const auto found = loops_.find(construct);
  if (++found->second.left == size_) loops_.erase(found);
}

}  // namespace trainlab

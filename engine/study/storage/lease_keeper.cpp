#include "study/lease_keeper.h"

#include <chrono>
#include <vector>

#include "core/clock.h"

namespace trainlab {

LeaseKeeper::LeaseKeeper(Storage& storage) : thread_([this, &storage] { run(storage); }) {}

LeaseKeeper::~LeaseKeeper() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void LeaseKeeper::add(const Lease& lease) {
  const std::lock_guard lock(mutex_);
  leases_.insert_or_assign(lease.trial, lease);
}

void LeaseKeeper::remove(const Lease& lease) {
  const std::lock_guard lock(mutex_);
  leases_.erase(lease.trial);
}

void LeaseKeeper::run(Storage& storage) {
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, std::chrono::duration<double>(renewal_seconds), [this] { return ends_; })) {
    const auto held = leases_;
    lock.unlock();
    for (const auto& [trial, lease] : held) {
      try {
        storage.renew(lease, wall_seconds() + lease_seconds);
      } catch (const std::exception&) {
        // The lease is lost, or the disk is full. The thread that trains gets this error when it reports.
      }
    }
    lock.lock();
  }
}

}  // namespace trainlab

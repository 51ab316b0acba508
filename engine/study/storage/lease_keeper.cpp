#include "study/lease_keeper.h"

#include <exception>

#include "core/clock.h"

namespace trainlab {

LeaseKeeper::LeaseKeeper(Storage& storage) : renewals_(renewal_seconds, [this, &storage] { renew_all(storage); }) {}

void LeaseKeeper::add(const Lease& lease) {
  const std::lock_guard lock(mutex_);
  leases_.insert_or_assign(lease.trial, lease);
}

void LeaseKeeper::remove(const Lease& lease) {
  const std::lock_guard lock(mutex_);
  leases_.erase(lease.trial);
}

void LeaseKeeper::renew_all(Storage& storage) {
  std::unique_lock lock(mutex_);
  const auto held = leases_;
  lock.unlock();
  for (const auto& [trial, lease] : held) {
    try {
      storage.renew(lease, wall_seconds() + lease_seconds);
    } catch (const std::exception&) {
      // The lease is lost, or the disk is full. The thread that trains gets this error when it reports.
    }
  }
}

}  // namespace trainlab

// LeaseKeeper: renews the leases of this process from a thread of its own, so that a trial whose steps take long stays
// this process's for as long as the process lives.
#pragma once

#include <map>
#include <mutex>

#include "core/threads/regularly.h"
#include "study/storage.h"

namespace trainlab {

class LeaseKeeper {
 public:
  // Seconds that a lease holds without being renewed: longer than a process is stopped for by anything but a person.
  static constexpr double lease_seconds = 60;
  static constexpr double renewal_seconds = lease_seconds / 6;

  // The storage outlives the keeper.
  explicit LeaseKeeper(Storage& storage);
  LeaseKeeper(const LeaseKeeper&) = delete;

  void add(const Lease& lease);
  void remove(const Lease& lease);

 private:
  void renew_all(Storage& storage);

  std::mutex mutex_;
  std::map<std::int64_t, Lease> leases_;  // by trial
  Regularly renewals_;                    // the last member, because its thread uses the others
};

}  // namespace trainlab

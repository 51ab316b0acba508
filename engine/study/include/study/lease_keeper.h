// LeaseKeeper: renews the leases of this process from a thread of its own, so that a trial whose steps take long stays
// this process's for as long as the process lives.
#pragma once

#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>

#include "study/storage.h"

namespace trainlab {

class LeaseKeeper {
 public:
  // Seconds that a lease holds without being renewed: longer than a process is stopped for by anything but a person.
  static constexpr double lease_seconds = 60;
  static constexpr double renewal_seconds = lease_seconds / 6;

  // The storage outlives the keeper.
  explicit LeaseKeeper(Storage& storage);
  ~LeaseKeeper();
  LeaseKeeper(const LeaseKeeper&) = delete;

  void add(const Lease& lease);
  void remove(const Lease& lease);

 private:
  void run(Storage& storage);

  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::int64_t, Lease> leases_;  // by trial
  bool ends_ = false;
  std::thread thread_;
};

}  // namespace trainlab

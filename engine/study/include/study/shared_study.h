// A study that several processes work on: the storage holds it, each process has a copy that follows.
//
// All processes see changes in the same order, so that their samplers know the same.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>

#include "study/storage.h"
#include "study/study.h"

namespace trainlab {

class SharedStudy {
 public:
  // `study` is empty, and is what the storage's description says. It belongs to one thread. `copy`: gets all that this
  // process learns of the study; null: nothing is copied.
  SharedStudy(std::unique_ptr<Storage> storage, Study study, Storage::Owner owner,
              std::unique_ptr<Storage> copy = nullptr);

  const Study& study() const { return study_; }
  Storage& storage() { return *storage_; }

  struct Asked {
    std::optional<Lease> lease;  // a trial that runs now, of this process until `expires`
    bool wait = false;           // ask again when something has changed; without both: there is nothing left to do
    bool is_over = false;        // the study's deadline has passed
  };
  // `most`: trials of the study altogether; those that wait are begun whatever it is. Trials of processes of this host
  // that have died are given to the next who asks. `may_begin`: whether this process takes the trial that comes next,
  // with this segment; it may be asked more than once. Another process, or a later call, may take a trial that it does
  // not take.
  using MayBegin = std::function<bool(std::int64_t trial, const Segment& segment)>;
  Asked ask(double now, double expires, std::int64_t most, const MayBegin& may_begin = {});

  void report(const Lease& lease, std::span<const TrialReport> reports) { storage_->report(lease, reports); }
  // For a trial of this process: a repeat continues from this resource, and its pruner must not see later reports.
  void forget(const Lease& lease, std::int64_t repeat, std::int64_t resource) {
    study_.forget(lease.trial, repeat, resource);
  }
  // A value that is NaN makes a complete trial a failed one. See Storage::end.
  void end(std::vector<EndedTrial> trials);

  // Takes in what others have done; whether there was anything.
  bool follow();

  // A trial as it is stored: its owner, how often it was lost.
  std::span<const StoredTrial> stored() const { return stored_; }
  const StoredTrial& stored(std::int64_t trial) const { return stored_.at(static_cast<std::size_t>(trial)); }

 private:
  void check(const StoredTrial& trial) const;
  void apply(const StudyChanges& changes);
  void lose_trials_of_the_dead();

  std::unique_ptr<Storage> storage_, copy_;
  Study study_;
  Storage::Owner owner_;
  std::vector<StoredTrial> stored_;  // by number
};

}  // namespace trainlab

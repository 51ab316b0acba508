// A study that several processes work on: the storage holds it, each process has a copy that follows.
//
// All processes see changes in the same order, so that their samplers know the same.
#pragma once

#include <memory>
#include <optional>
#include <span>

#include "study/storage.h"
#include "study/study.h"

namespace trainlab {

class SharedStudy {
 public:
  // `study` is empty, and is what the storage's description says. Both belong to one thread.
  SharedStudy(std::unique_ptr<Storage> storage, Study study, Storage::Owner owner);

  const Study& study() const { return study_; }
  Storage& storage() { return *storage_; }

  struct Asked {
    std::optional<Lease> lease;  // a trial that runs now, of this process until `expires`
    bool wait = false;           // ask again later; without both: the space is used up
  };
  // `most`: trials of the study altogether; those that wait are begun whatever it is.
  Asked ask(double now, double expires, std::int64_t most);

  void report(const Lease& lease, std::span<const TrialReport> reports) { storage_->report(lease, reports); }
  // A value that is NaN makes a complete trial a failed one.
  void end(const Lease& lease, TrialState state, std::span<const double> values, const Value& info);

  // Takes in what others have done.
  void follow() { apply(storage_->changes()); }

 private:
  void apply(const StudyChanges& changes);

  std::unique_ptr<Storage> storage_;
  Study study_;
  Storage::Owner owner_;
};

}  // namespace trainlab
